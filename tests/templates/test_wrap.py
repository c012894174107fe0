"""Steps before the answer, prompts without a chat template, and variants."""

import pytest

from assay.core import (
    Image,
    Message,
    Prompt,
    Sample,
    Text,
    ToolCall,
    ToolResult,
    UnknownName,
    UsageError,
)
from assay.templates import ChainOfThought, Variants, WithoutChat, build_template

SUM = Sample(
    id="a",
    input="2+2?",
    target="4",
    fields={"solution": "Two and two are four. Answer: 4"},
)
SKY = Sample(id="b", input="Sky?", choices=("red", "blue"), target="B")
STEPS = 'Think step by step. Then write the answer on the last line, as "Answer: …".'


def test_steps_are_asked_for_after_the_question():
    assert build_template("cot")(SUM).messages == (
        Message.of("user", f"2+2?\n\n{STEPS}"),
    )


def test_steps_before_a_choice_end_with_a_letter():
    text = build_template("cot")(SKY).messages[0].text

    assert text.startswith("Sky?\nA. red\nB. blue\nThink step by step.")
    assert ChainOfThought().solution(SKY) == "Answer: B"


def test_steps_are_asked_for_after_a_template_of_ones_own():
    inner = [
        {"role": "system", "content": "be"},
        {"role": "user", "content": "Q: {{ input }}"},
        {"role": "assistant"},
    ]

    prompt = build_template({"name": "cot", "of": inner, "instruction": "Reason."})(SUM)

    assert prompt.messages == (
        Message.of("system", "be"),
        Message.of("user", "Q: 2+2?\n\nReason."),
        Message("assistant", None),
    )


def test_a_solved_example_shows_its_steps_where_the_row_has_them():
    assert ChainOfThought().solution(SUM) == "Answer: 4"
    assert (
        ChainOfThought(answer="{{ solution }}").solution(SUM)
        == "Two and two are four. Answer: 4"
    )


def test_without_chat_the_prompt_is_one_text_to_be_continued():
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "{{ input }}"},
    ]

    with_headers = build_template({"name": "without_chat", "of": turns})(SUM)
    bare = build_template({"name": "without_chat", "of": turns, "headers": False})(SUM)

    assert not with_headers.is_chat
    assert with_headers.text == build_template(turns)(SUM).text
    assert bare.text == "Be brief.\n2+2?"


def test_without_chat_the_media_are_kept():
    picture = Image(b"x")

    prompt = build_template({"name": "without_chat", "headers": False})(
        Sample(id="a", input="What?", media=(picture,))
    )

    assert prompt.messages == (Message("", (picture, Text("What?"))),)


def test_without_chat_a_solved_example_ends_as_inside():
    template = build_template(
        {"name": "without_chat", "of": "choices", "headers": False}
    )

    assert template.solved(SKY)[0].text.endswith("option only. B")


def test_the_first_variant_is_used_unless_another_is_named():
    variants = {"direct": "Q: {{ input }}", "cot": {"name": "cot"}}

    assert Variants(variants).names == ("direct", "cot")
    assert build_template(Variants(variants))(SUM).messages[0].text == "Q: 2+2?"
    assert (
        build_template(Variants(variants, use="cot"))(SUM)
        .messages[0]
        .text.endswith(STEPS)
    )


def test_variants_can_be_written_as_data():
    template = {
        "name": "variants",
        "use": "plain",
        "variants": {"loud": "{{ input | upper }}", "plain": None},
    }

    assert build_template(template, kind="completion")(SUM).text == "2+2?"


def test_a_variant_that_does_not_exist_is_answered_with_those_that_do():
    with pytest.raises(
        UnknownName,
        match=r"'direkt'; fix: did you mean 'direct'\? the variants are direct, cot",
    ):
        Variants({"direct": None, "cot": "cot"}, use="direkt")


def test_no_variants_at_all_are_refused():
    with pytest.raises(UsageError, match="a template with variants needs at least one"):
        Variants({})


def test_media_stay_between_the_words_without_a_chat_template_too():
    image = Image(b"one")
    turns = (
        Message.of("system", "Look."),
        Message.of("user", "First: ", image, " second: ", image, " Which?"),
    )

    [message] = WithoutChat(lambda sample: Prompt(turns))(Sample("a", "?")).messages

    assert [type(part) for part in message.parts] == [Text, Image, Text, Image, Text]
    assert message.text.replace(" ", "") == Prompt(turns).text.replace(" ", "")


@pytest.mark.parametrize("headers", [True, False])
def test_an_image_is_never_placed_inside_the_name_of_a_turn(headers):
    turns = (
        Message("user", (Image(b"one"), Text("Which?"))),
        Message.of("assistant", "A"),
        Message("user", (Image(b"two"), Text("Which?"))),
    )

    wrapped = WithoutChat(lambda sample: Prompt(turns), headers=headers)

    [message] = wrapped(Sample("a", "?")).messages
    pieces = [
        part.text if isinstance(part, Text) else part.data() for part in message.parts
    ]
    if headers:
        assert pieces == [
            "User: ",
            b"one",
            "Which?\nAssistant: A\n\nUser: ",
            b"two",
            "Which?\nAssistant:",
        ]
    else:
        assert pieces == [b"one", "Which?\nA\n", b"two", "Which?"]


def test_tool_calls_and_images_of_tool_results_stay_in_a_prompt_without_chat():
    turns = (
        Message.of("user", "Weather?"),
        Message(
            "assistant", (Text("I look."), ToolCall("c1", "look", {"city": "Oslo"}))
        ),
        Message("tool", (ToolResult("c1", (Text("rain"), Image(b"one"))),)),
        Message.of("user", "So?"),
    )

    [message] = WithoutChat(lambda sample: Prompt(turns))(Sample("a", "?")).messages

    assert [
        part.text if isinstance(part, Text) else part.data() for part in message.parts
    ] == [
        'User: Weather?\nAssistant: I look.\nlook({"city": "Oslo"})\nTool: rain',
        b"one",
        "\n\nUser: So?\nAssistant:",
    ]
