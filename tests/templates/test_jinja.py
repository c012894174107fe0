"""Jinja templates: strict, sandboxed, and never read as JSON."""

import base64
from pathlib import Path

import jinja2
import pytest

import assay
from assay.core import (
    Audio,
    DataError,
    Image,
    Message,
    Sample,
    TemplateError,
    Text,
    UsageError,
)
from assay.datasets.reach import Reach
from assay.datasets.row_media import holder
from assay.templates import build_template
from assay.templates.jinja import JinjaText

ROW = {"question": "Which?", "year": "1949", "data": '{"a": 1}', "options": ["x", "y"]}
SAMPLE = Sample(id="s1", input="Which?", target="B", choices=("x", "y"), fields=ROW)
PNG = b"\x89PNG\r\n\x1a\n"


def render(text: str, sample: Sample = SAMPLE) -> str:
    return build_template(text)(sample).messages[0].text


def test_columns_and_the_samples_own_parts_can_be_named():
    loop = "{% for l in letters %}{{ l }}={{ choices[loop.index0] }} {% endfor %}"

    assert (
        render("{{ question }} " + loop + "{{ target }} {{ sample.id }}")
        == "Which? A=x B=y B s1"
    )


def test_a_column_takes_precedence_over_an_assay_name():
    sample = Sample(id="a", target="mapped", fields={"target": "raw"})

    assert render("{{ target }} {{ sample.target }}", sample) == "raw mapped"


@pytest.mark.parametrize("column", ["year", "data"])
def test_what_looks_like_json_stays_text(column):
    prompt = build_template([{"role": "user", "content": "{{ " + column + " }}"}])(
        SAMPLE
    )

    assert prompt.messages[0].parts == (Text(ROW[column]),)


def test_nothing_is_escaped_and_the_last_line_break_is_dropped():
    assert render("<b>{{ question }}</b> & co\n") == "<b>Which?</b> & co"


LISTING = "Options:\n  {% for o in options %}\n- {{ o }}\n  {% endfor %}\nEnd"


def test_white_space_around_block_tags_is_kept_as_jinja_does_by_default():
    expected = jinja2.Environment().from_string(LISTING).render(options=["x", "y"])

    assert render(LISTING) == expected
    assert (
        render("{% if question %}Hint: H{% endif %}\nQuestion: Q?")
        == "Hint: H\nQuestion: Q?"
    )


@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("lstrip", [True, False])
@pytest.mark.parametrize("key", ["prompt", "messages"])
def test_a_template_may_set_jinjas_options_for_block_tags(key, trim, lstrip):
    blocks = {"trim_blocks": trim, "lstrip_blocks": lstrip}
    body = LISTING if key == "prompt" else [{"role": "user", "content": LISTING}]
    expected = jinja2.Environment(**blocks).from_string(LISTING)

    prompt = build_template({key: body, **blocks})(SAMPLE)

    assert prompt.messages[-1].text == expected.render(options=["x", "y"])


@pytest.mark.parametrize(
    "text",
    [
        "Be brief.\r\nAnswer in words.\n",
        "{{ question }}",
        "\n{{question}}\n\n",
        "Q: {{- question -}}  {{ id }}\r\nA: {# no answer yet #}\n",
        "{{ question }}{{ question }} {{ '{{' }}",
        "{{ number }} of {{ none }}",
        "{{ question | upper }}",
        "",
    ],
)
@pytest.mark.parametrize("trim", [False, True])
def test_texts_that_only_insert_variables_read_as_in_jinja(text, trim):
    values = {"question": "<2 & 2>\r\n{{ x }}", "id": "a", "number": 7}
    sample = Sample(id="a", target="4", fields=values)

    rendered = JinjaText(text, blocks={"trim_blocks": trim})(sample)

    assert rendered == jinja2.Template(text, trim_blocks=trim).render(values)


def test_a_column_that_is_missing_is_named_in_a_text_that_only_inserts_variables():
    with pytest.raises(TemplateError, match=r"'questoin' is undefined.*'question'"):
        JinjaText("Q: {{ questoin }}")(SAMPLE)


def test_a_block_option_that_is_not_a_truth_value_is_refused():
    with pytest.raises(UsageError, match="trim_blocks must be true or false, got 'no'"):
        build_template({"prompt": "{{ question }}", "trim_blocks": "no"})


def test_an_unknown_variable_is_an_error_that_names_the_columns():
    with pytest.raises(TemplateError) as caught:
        build_template("{{ quesion }}", where="quiz.yaml, key `template`")(SAMPLE)

    assert str(caught.value) == (
        "quiz.yaml, key `template`, sample 's1': 'quesion' is undefined; "
        "fix: did you mean 'question'? the row has the columns: data, options, question, year"
    )


def test_an_unknown_attribute_is_an_error_too():
    with pytest.raises(TemplateError, match="has no attribute 'nope'"):
        render("{{ sample.nope }}")


def test_a_syntax_error_names_the_line_before_the_run():
    with pytest.raises(
        UsageError,
        match=r"quiz.yaml, line 2: not valid Jinja: .*; fix: write literal braces",
    ):
        build_template("fine\n{% if %}", where="quiz.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ sample.__class__.__mro__ }}",
        "{{ options.append('z') }}",
        "{{ question.__init__ }}",
    ],
)
def test_what_a_template_may_not_touch_is_refused(text):
    with pytest.raises(
        TemplateError,
        match="sample 's1': the template uses something that no template may use",
    ):
        render(text)


def test_another_fault_names_the_sample():
    with pytest.raises(TemplateError, match="template, sample 's1': ZeroDivisionError"):
        render("{{ 1 // 0 }}")


def test_the_variables_of_a_text_are_known_before_the_run():
    assert JinjaText(
        "{{ question }}{% for o in options %}{{ o }}{% endfor %}"
    ).variables == {"question", "options"}


def test_messages_render_in_order_and_end_where_the_model_writes():
    turns = [
        {"role": "system", "content": "Year {{ year }}"},
        {"role": "{{ 'user' }}", "content": "{{ question }}"},
        {"role": "assistant"},
    ]

    prompt = build_template(turns)(SAMPLE)

    assert prompt.messages == (
        Message.of("system", "Year 1949"),
        Message.of("user", "Which?"),
        Message("assistant", None),
    )


def test_media_no_part_mentions_come_before_the_first_text_said():
    picture = Image(PNG)
    sample = Sample(id="a", fields=ROW, media=(picture,))

    turns = [
        {"role": "system", "content": "be"},
        {"role": "user", "content": "{{ question }}"},
    ]

    prompt = build_template(turns)(sample)

    assert prompt.messages[0].parts == (Text("be"),)
    assert prompt.messages[1].parts == (picture, Text("Which?"))


def test_parts_place_media_where_they_are_mentioned():
    first, second, sound = Image(PNG + b"1"), Image(PNG + b"2"), Audio(b"RIFF")
    sample = Sample(id="a", fields=ROW, media=(first, second, sound))
    content = [
        "Compare",
        {"type": "image"},
        {"type": "text", "text": "with {{ year }}"},
        {"type": "media"},
    ]

    prompt = build_template([{"role": "user", "content": content}])(sample)

    assert prompt.messages[0].parts == (
        Text("Compare"),
        first,
        Text("with 1949"),
        second,
        sound,
    )


def test_a_list_of_parts_is_one_user_turn():
    picture = Image(PNG)

    prompt = build_template([{"type": "image"}, "{{ question }}"])(
        Sample(id="a", fields=ROW, media=(picture,))
    )

    assert prompt.messages == (Message("user", (picture, Text("Which?"))),)


def test_a_column_of_bytes_is_passed_on_unchanged():
    sample = Sample(id="a", fields={"shot": PNG})

    by_column = build_template([{"type": "image", "column": "shot"}])(sample)
    by_variable = build_template([{"type": "image", "image": "{{ shot }}"}])(sample)

    assert by_column.messages[0].media[0].data() == PNG
    assert by_variable == by_column


def test_a_path_in_a_column_is_the_medium_the_dataset_found(tmp_path):
    file = tmp_path / "pic.png"
    file.write_bytes(PNG)
    sample = Sample(id="a", fields={"file": "pic.png"}, media=(Image(file),))

    prompt = build_template([{"type": "image", "column": "file"}])(sample)

    assert prompt.messages[0].media[0] is sample.media[0]


@pytest.mark.parametrize(
    "cell",
    ["secret.png", Path("secret.png"), {"path": "secret.png"}, "http://host/a.png"],
)
def test_a_file_a_row_names_is_not_opened_unless_the_dataset_found_it(
    cell, tmp_path, monkeypatch
):
    (tmp_path / "secret.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TemplateError, match="none of the sample's media") as error:
        build_template([{"type": "image", "column": "file"}])(
            Sample(id="a", fields={"file": cell})
        )

    assert "columns: {image: file}" in str(error.value)
    assert "sample 'a'" in str(error.value)


def test_a_file_name_built_from_a_row_is_not_opened_either(tmp_path, monkeypatch):
    (tmp_path / "secret.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TemplateError, match="none of the sample's media"):
        build_template([{"type": "image", "image": "{{ stem }}.png"}])(
            Sample(id="a", fields={"stem": "secret"})
        )


def test_a_file_the_task_itself_names_is_opened_where_a_folder_holds_it(tmp_path):
    (tmp_path / "logo.png").write_bytes(PNG)
    template = [{"type": "image", "image": "logo.png"}]

    held = build_template(template, hold=holder(Reach(tmp_path), "here"))(
        Sample(id="a")
    )
    bare = build_template(template)(Sample(id="a"))

    assert held.messages[0].media[0].data() == PNG
    with pytest.raises(DataError, match="is named by data, and no folder holds it"):
        bare.messages[0].media[0].data()


@pytest.mark.parametrize("name", ["../logo.png", "/etc/hostname", "link.png"])
def test_a_file_outside_the_folder_is_refused(name, tmp_path):
    (tmp_path / "logo.png").write_bytes(PNG)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/link.png").symlink_to(tmp_path / "logo.png")
    built = build_template(
        [{"type": "image", "image": name}],
        hold=holder(Reach(tmp_path / "data"), "here"),
    )

    with pytest.raises(
        TemplateError, match="here: the image file is outside the data folder"
    ):
        built(Sample(id="a"))


def test_bytes_in_a_struct_and_a_data_url_in_a_cell_need_no_file():
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()

    for cell in (url, {"bytes": PNG, "path": "x.png"}):
        prompt = build_template([{"type": "image", "column": "shot"}])(
            Sample(id="a", fields={"shot": cell})
        )
        assert prompt.messages[0].media[0].data() == PNG


def test_a_media_column_that_is_missing_is_an_error():
    with pytest.raises(
        TemplateError, match="'shot' is undefined; fix: the row has the columns: data"
    ):
        build_template([{"type": "image", "column": "shot"}])(SAMPLE)


def test_one_image_too_many_is_an_error():
    with pytest.raises(
        TemplateError,
        match=r"shows one more image than the sample has; fix: use \{type: media\}",
    ):
        build_template([{"type": "image"}, "x"])(SAMPLE)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        (
            [{"role": "user", "content": "x"}, {"content": "y"}],
            "message 2: a message needs a role, got",
        ),
        (
            [{"role": "user", "content": "x", "name": "bob"}],
            "message 1: a message has no 'name'; fix: its keys",
        ),
        (
            [{"role": "user", "content": [{"type": "smell"}]}],
            "unknown part type 'smell'; fix: known types: text",
        ),
        ([{"role": "user", "content": [None]}], "content is text or parts, got None"),
        ([{"role": "user", "content": "{{"}], "message 1, line 1: not valid Jinja"),
    ],
)
def test_messages_that_cannot_be_used_are_refused_before_the_run(messages, fault):
    with pytest.raises(UsageError, match=fault):
        build_template(messages)


def test_a_prompt_with_an_answer_is_a_template_that_knows_its_solution():
    template = build_template(
        {"prompt": "Q: {{ question }}", "answer": "In {{ year }}"}
    )

    assert template(SAMPLE).messages[0].text == "Q: Which?"
    assert template.solved(SAMPLE) == (
        Message.of("user", "Q: Which?"),
        Message.of("assistant", "In 1949"),
    )


def test_an_unknown_key_beside_messages_is_refused():
    with pytest.raises(
        UsageError,
        match="a template has no 'anser'; fix: its keys are prompt or messages, answer, ",
    ):
        build_template({"prompt": "x {{ id }}", "anser": "y"})


def test_shipped_benchmarks_have_no_block_tags_whose_white_space_could_change():
    """Without block tags and comments a text renders alike with every option."""
    folder = Path(assay.__file__).parent / "benchmarks"
    sources = [
        path for path in folder.rglob("*") if path.suffix in {".py", ".yaml", ".toml"}
    ]

    texts = {str(path): path.read_text("utf-8") for path in sources}

    assert len(texts) > 15
    assert [name for name, text in texts.items() if "{%" in text or "{#" in text] == []
