"""What a task may give as its template, and the prompt that comes of it."""

from dataclasses import dataclass

import pytest

from assay.core import (
    EMPTY,
    Image,
    Message,
    Prompt,
    Sample,
    Spec,
    TemplateError,
    Text,
    UnknownName,
    UsageError,
)
from assay.registry import templates
from assay.templates import BuiltTemplate, build_template

SUM = Sample(
    id="a",
    input="What is 2+2?",
    target="4",
    fields={"question": "What is 2+2?", "hint": "count"},
)
IMAGE = Image(b"\x89PNG\r\n\x1a\nrest")


def texts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in prompt.messages]


def test_a_question_becomes_one_user_turn():
    prompt = build_template()(SUM)

    assert prompt == Prompt((Message("user", (Text("What is 2+2?"),)),))
    assert prompt.details is EMPTY


def test_media_come_before_the_question():
    prompt = build_template()(Sample(id="a", input="What is this?", media=(IMAGE,)))

    assert prompt.messages[0].parts == (IMAGE, Text("What is this?"))


def test_an_image_alone_is_a_question():
    prompt = build_template()(Sample(id="a", media=(IMAGE,)))

    assert prompt.messages[0].parts == (IMAGE,)


def test_a_sample_without_a_question_is_refused():
    with pytest.raises(
        TemplateError,
        match="sample 'a': the sample has no question; fix: name the column",
    ):
        build_template()(Sample(id="a"))


def test_choice_data_get_lettered_choices():
    sample = Sample(id="a", input="Sky?", choices=("red", "blue"), target="B")

    text = build_template(kind="choice")(sample).messages[0].text

    assert (
        text
        == "Sky?\nA. red\nB. blue\nAnswer with the letter of the correct option only."
    )


def test_completion_data_are_sent_without_a_role():
    prompt = build_template(kind="completion")(SUM)

    assert texts(prompt) == [("", "What is 2+2?")]
    assert prompt.text == "What is 2+2?"


def test_dialogue_data_are_passed_on_and_text_is_one_turn():
    turns = (
        Message.of("user", "hi"),
        Message.of("assistant", "ho"),
        Message.of("user", "hum"),
    )
    build = build_template(kind="dialogue")

    assert build(Sample(id="a", input=turns)).messages == turns
    assert texts(build(SUM)) == [("user", "What is 2+2?")]


def test_an_unknown_kind_is_refused():
    with pytest.raises(
        UsageError,
        match="unknown kind of data 'quiz'; fix: known kinds: qa, choice, mixed",
    ):
        build_template(kind="quiz")


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("hello", [("user", "hello")]),
        (Message.of("user", "hello"), [("user", "hello")]),
        ({"role": "user", "content": "hello"}, [("user", "hello")]),
        (
            [{"role": "system", "content": "be"}, {"role": "user", "content": "hello"}],
            [("system", "be"), ("user", "hello")],
        ),
        ([Message.of("system", "be"), "hello"], [("system", "be"), ("user", "hello")]),
        (["hel", "lo"], [("user", "hello")]),
        (Prompt((Message.of("user", "hello"),)), [("user", "hello")]),
    ],
)
def test_a_function_may_return_text_messages_or_a_prompt(returned, expected):
    assert texts(build_template(lambda sample: returned)(SUM)) == expected


def test_a_generator_of_messages_is_a_template():
    def prompt(sample):
        yield {"role": "user", "content": sample.input}
        yield {"role": "assistant"}

    assert build_template(prompt)(SUM).messages[1] == Message("assistant", None)


def test_a_fault_in_a_function_names_function_sample_and_line():
    def prompt(sample):
        return sample["nope"]

    place = (
        r"mmlu, template 'prompt', sample 'a': KeyError: 'nope' \(test_build.py:\d+\)"
    )
    with pytest.raises(TemplateError, match=place):
        build_template(prompt, where="mmlu")(SUM)


def test_a_function_that_returns_nothing_is_refused():
    with pytest.raises(
        TemplateError,
        match="a template must return text, a message or messages, not None",
    ):
        build_template(lambda sample: None)(SUM)


@pytest.mark.parametrize(
    "function", [lambda: "x", lambda sample, other: "x", lambda *, sample: "x"]
)
def test_a_function_with_other_parameters_is_refused_before_the_run(function):
    with pytest.raises(
        UsageError, match=r"takes \(.*fix: write it as `def prompt\(sample\)`"
    ):
        build_template(function)


def test_a_text_with_braces_or_blanks_is_jinja():
    assert texts(build_template("Q: {{ question }}")(SUM)) == [
        ("user", "Q: What is 2+2?")
    ]
    assert texts(build_template("Transcribe the recording.")(SUM)) == [
        ("user", "Transcribe the recording.")
    ]


def test_a_name_that_is_not_known_is_answered_with_the_nearest():
    with pytest.raises(
        UnknownName,
        match=r"mmlu: unknown template 'choises'; fix: did you mean 'choices'\?",
    ):
        build_template("choises", where="mmlu")


@pytest.mark.parametrize(
    "template",
    [
        Spec("completion", {"prefix": "Q: "}),
        {"name": "completion", "prefix": "Q: "},
        {"completion": {"prefix": "Q: "}},
    ],
)
def test_a_registered_template_takes_options(template):
    assert build_template(template)(SUM).text == "Q: What is 2+2?"


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(
        UsageError,
        match=r"template 'choices' has no option 'layot'; fix: did you mean 'layout'\?",
    ):
        build_template({"name": "choices", "layot": "lines"})


def test_every_shipped_template_can_be_found_by_name():
    shipped = {
        "question",
        "completion",
        "messages",
        "choices",
        "cot",
        "choice_likelihood",
        "likelihood_of",
        "rolling",
    }

    assert shipped | {"variants", "without_chat"} <= set(templates.names())


def test_a_function_in_a_file_is_a_template(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def ask(sample, shout=False):\n    return sample.input.upper() if shout else sample.input\n"
    )

    assert build_template(f"{file}:ask")(SUM).messages[0].text == "What is 2+2?"
    assert (
        build_template({"name": f"{file}:ask", "shout": True})(SUM).messages[0].text
        == "WHAT IS 2+2?"
    )


def test_a_jinja_file_is_a_template(tmp_path):
    file = tmp_path / "ask.jinja"
    file.write_text("Tell me: {{ question }}\n")

    assert build_template(str(file))(SUM).messages[0].text == "Tell me: What is 2+2?"


def test_a_jinja_file_that_is_missing_is_named():
    with pytest.raises(
        UsageError,
        match=r"cannot read the template nowhere.jinja: .*; fix: check the path",
    ):
        build_template("nowhere.jinja")


def test_a_class_is_built_and_its_prompt_method_used():
    @dataclass(frozen=True)
    class Polite:
        please: str = "Please: "

        def prompt(self, sample):
            return self.please + sample.input

    assert build_template(Polite)(SUM).messages[0].text == "Please: What is 2+2?"
    assert build_template(Polite("Now: "))(SUM).messages[0].text == "Now: What is 2+2?"


def test_a_class_that_cannot_ask_is_refused():
    class Empty:
        pass

    with pytest.raises(
        UsageError,
        match="the class Empty is not a template; fix: give it a method `prompt",
    ):
        build_template(Empty)


@pytest.mark.parametrize("template", [7, 0.5, object()])
def test_a_value_that_is_not_a_template_is_refused(template):
    with pytest.raises(
        UsageError, match="as a template; fix: give a function, Jinja text, messages"
    ):
        build_template(template)


def test_an_empty_list_is_refused():
    with pytest.raises(UsageError, match="the template has no messages"):
        build_template([])


def test_fixed_messages_are_sent_as_they_are():
    fixed = [Message.of("user", "{{ not jinja }}")]

    assert build_template(fixed)(SUM).messages == tuple(fixed)


def test_system_text_comes_first_unless_there_is_one():
    own = [{"role": "system", "content": "own"}, {"role": "user", "content": "hi"}]

    assert texts(build_template(system="Be brief.")(SUM))[0] == ("system", "Be brief.")
    assert texts(build_template(own, system="Be brief.")(SUM)) == [
        ("system", "own"),
        ("user", "hi"),
    ]


def test_system_text_of_a_completion_comes_before_the_text():
    prompt = build_template("completion", system="A quiz.")(SUM)

    assert prompt.text == "A quiz.\n\nWhat is 2+2?"


def test_free_roles_are_kept_or_mapped():
    turns = [{"role": "question", "content": "{{ question }}"}, {"role": "answer"}]

    free = build_template(turns)(SUM)
    mapped = build_template(turns, roles={"question": "user", "answer": "assistant"})(
        SUM
    )

    assert not free.is_chat and free.text == "Question: What is 2+2?\nAnswer:"
    assert (
        mapped.is_chat
        and mapped.role == "assistant"
        and mapped.messages[0].role == "user"
    )


def test_the_task_sets_the_kinds_of_answer_unless_the_template_does():
    own = Prompt((Message.of("user", "Draw."),), produces=("audio",))

    assert build_template(produces=("image",))(SUM).produces == ("image",)
    assert build_template(lambda sample: own, produces=("image",))(SUM).produces == (
        "audio",
    )


def test_a_built_template_can_be_finished_anew():
    first = build_template("Q: {{ question }}", system="one")

    second = build_template(first, system="two")

    assert isinstance(second, BuiltTemplate)
    assert texts(second(SUM)) == [("system", "two"), ("user", "Q: What is 2+2?")]


def test_the_source_changes_with_everything_that_affects_prompts():
    def one(sample):
        return "1"

    def two(sample):
        return "2"

    inline = {"name": "choices", "layout": "inline"}
    given = (
        one,
        two,
        "a {{ id }}",
        "b {{ id }}",
        {"name": "choices"},
        inline,
        {"name": "cot", "of": one},
        None,
    )

    sources = [build_template(template).source for template in given]

    assert len(set(sources)) == len(sources)
    assert 'return "1"' in sources[0] and 'return "1"' in sources[-2]
    assert not any(" at 0x" in source for source in sources)


def placed(*texts_of_turns: str, media=(IMAGE,)) -> list[list[object]]:
    """Return the parts of the prompt for ready-made turns of user and assistant, beside a column of media."""
    roles = ["user", "assistant"] * 3
    turns = tuple(map(Message.of, roles, texts_of_turns))
    prompt = build_template()(Sample("a", turns, media=tuple(media)))
    return [
        [part.text if isinstance(part, Text) else part for part in message.parts]
        for message in prompt.messages
    ]


def test_media_of_a_column_come_before_the_first_turn_of_ready_made_messages():
    assert placed("Which?", "A", "Sure?") == [[IMAGE, "Which?"], ["A"], ["Sure?"]]


def test_media_of_a_column_come_where_ready_made_messages_mark_them():
    other = Image(b"\x89PNG\r\n\x1a\nother")

    assert placed("<image>\nWhich?", "A", "And <image>?", media=(IMAGE, other)) == [
        [IMAGE, "\nWhich?"],
        ["A"],
        ["And ", other, "?"],
    ]


def test_marks_that_do_not_fit_the_media_of_a_row_are_refused():
    with pytest.raises(TemplateError, match=r"2 marks such as <image>.* 1 media"):
        placed("<image> or <image>?")


def test_messages_with_media_of_their_own_stay_unchanged():
    own = (Message("user", (IMAGE, Text("Which?"))),)

    assert build_template()(Sample("a", own, media=(IMAGE,))).messages == own
