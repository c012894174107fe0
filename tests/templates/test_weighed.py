"""Letters are weighed after the task's own prompt, where the model would write them."""

import pytest

from assay.core import Image, Message, Prompt, Sample, TemplateError, Text
from assay.templates import Choices, build_template
from assay.templates.likelihood import WeighedLetters

SAMPLE = Sample("a", "Which is red?", "B", ("sky", "blood"))
IMAGES = (Image(b"one"), Image(b"two"))


def test_system_text_wording_and_turns_are_those_of_the_task():
    own = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": "Pick one. {{ input }} A: {{ choices[0] }} B: {{ choices[1] }}",
        },
    ]

    prompt = WeighedLetters(own)(SAMPLE)

    assert [(m.role, m.text) for m in prompt.messages] == [
        ("system", "Be brief."),
        ("user", "Pick one. Which is red? A: sky B: blood"),
    ]
    assert prompt.continuations == ("A", "B")


def test_media_stay_where_the_template_puts_them():
    own = [
        "First: ",
        {"type": "image"},
        " second: ",
        {"type": "image"},
        "{{ input }} A. {{ choices[0] }} B. …",
    ]
    sample = Sample(
        "a", "Which is red?", "B", ("the first", "the second"), media=IMAGES
    )

    [message] = WeighedLetters(own)(sample).messages

    assert [type(part) for part in message.parts] == [Text, Image, Text, Image, Text]


@pytest.mark.parametrize(
    ("messages", "continuations"),
    [
        ((Message.of("user", "A or B?"),), ("A", "B")),
        (
            (Message.of("user", "A or B?"), Message.of("assistant", "The letter is")),
            (" A", " B"),
        ),
        (
            (Message.of("user", "A or B?"), Message.of("assistant", "The letter is ")),
            ("A", "B"),
        ),
        ((Message.of("", "A or B? Answer:"),), (" A", " B")),
        ((Message.of("user", "A or B?"), Message("assistant", None)), ("A", "B")),
    ],
)
def test_a_letter_has_a_blank_only_if_it_continues_a_text(messages, continuations):
    assert (
        WeighedLetters(lambda sample: Prompt(messages))(SAMPLE).continuations
        == continuations
    )


def test_labels_of_the_templates_own_are_weighed():
    prompt = WeighedLetters(Choices(letters="12"))(SAMPLE)

    assert prompt.continuations == ("1", "2") and "1. sky" in prompt.messages[0].text
    assert WeighedLetters(Choices(letters="12")).solution(SAMPLE) == "2"


def test_without_a_template_text_is_a_completion_and_media_are_a_chat():
    plain, seen = (
        WeighedLetters()(SAMPLE),
        WeighedLetters()(Sample("a", "?", "A", ("x", "y"), media=IMAGES[:1])),
    )

    assert (
        plain.messages[0].role == ""
        and plain.text.endswith("Answer:")
        and plain.continuations == (" A", " B")
    )
    assert seen.messages[0].role == "user" and seen.continuations == ("A", "B")


def test_a_prompt_that_hides_the_options_is_refused():
    with pytest.raises(TemplateError, match="the prompt does not show the options"):
        WeighedLetters("Answer this: {{ input }}")(SAMPLE)


def test_the_tasks_system_text_comes_before_it():
    built = build_template(WeighedLetters(Choices()), system="Be brief.")

    assert built(SAMPLE).messages[0].text == "Be brief." and built(
        SAMPLE
    ).continuations == ("A", "B")
