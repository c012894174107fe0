"""Lettered choices, their layouts, and how a solved one ends."""

import pytest

from assay.core import Image, Sample, TemplateError, Text, UsageError
from assay.templates import LAYOUTS, Choices, build_template

SKY = Sample(
    id="a",
    input="Sky?",
    choices=("red", "blue"),
    target="B",
    fields={"hint": "look up"},
)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("lines", "A. red\nB. blue"),
        ("parentheses", "(A) red\n(B) blue"),
        ("brackets", "A) red\nB) blue"),
        ("colons", "A: red\nB: blue"),
        ("inline", "(A) red (B) blue"),
        ("options_block", "Options:\nA. red\nB. blue"),
        ("bullets", "- red\n- blue"),
    ],
)
def test_a_layout_writes_the_options_its_way(layout, expected):
    prompt = Choices(layout=layout, instruction="")(SKY)

    assert prompt.messages[0].text == f"Sky?\n{expected}"


def test_every_layout_is_tested_above():
    assert set(LAYOUTS) == {
        "lines",
        "parentheses",
        "brackets",
        "colons",
        "inline",
        "options_block",
        "bullets",
    }


def test_an_unknown_layout_is_refused_before_the_run():
    with pytest.raises(
        UsageError,
        match=r"unknown layout 'line'; fix: did you mean 'lines'\? known layouts: lines",
    ):
        Choices(layout="line")


def test_the_instruction_asks_for_a_letter_or_steps_or_is_custom():
    assert (
        Choices()(SKY)
        .messages[0]
        .text.endswith("\nAnswer with the letter of the correct option only.")
    )
    assert (
        Choices(cot=True)(SKY)
        .messages[0]
        .text.endswith('on the last line, as "Answer: X".')
    )
    assert (
        Choices(instruction="Pick one.")(SKY).messages[0].text.endswith("\nPick one.")
    )


def test_a_hint_comes_before_the_question_where_there_is_one():
    template = Choices(hint="hint", instruction="")
    bare = Sample(id="b", input="Sky?", choices=("red",), fields={"hint": " "})

    assert template(SKY).messages[0].text.startswith("Hint: look up\nSky?\n")
    assert template(bare).messages[0].text.startswith("Sky?\n")


def test_media_come_first():
    picture = Image(b"x")
    sample = Sample(id="a", input="Sky?", choices=("red",), media=(picture,))

    assert Choices(instruction="")(sample).messages[0].parts == (
        picture,
        Text("Sky?\nA. red"),
    )


def test_a_text_to_be_continued_ends_with_the_answer_prefix():
    prompt = Choices(complete=True, question_prefix="Question: ")(SKY)

    assert prompt.text == "Question: Sky?\nA. red\nB. blue\nAnswer:"
    assert prompt.messages[0].role == ""


def test_own_letters_are_used_for_options_and_solution():
    template = Choices(letters="12", instruction="")

    assert template(SKY).messages[0].text == "Sky?\n1. red\n2. blue"
    assert template.solution(SKY) == "2"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (Choices(), "B"),
        (Choices(cot=True), "Answer: B"),
        (Choices(complete=True), "B"),
        (Choices(answer="{{ hint }}, so {{ target }}"), "look up, so B"),
    ],
)
def test_a_solved_example_ends_as_the_template_would_be_answered(template, expected):
    assert template.solution(SKY) == expected


def test_a_target_given_as_the_text_of_an_option_has_a_letter():
    assert (
        Choices().solution(
            Sample(id="a", input="Sky?", choices=("red", "blue"), target="blue")
        )
        == "B"
    )


def test_a_target_that_is_not_a_choice_is_an_error():
    with pytest.raises(
        TemplateError,
        match="sample 'a': the target 'C' is none of the 2 choices; fix: the target",
    ):
        Choices().solution(
            Sample(id="a", input="Sky?", choices=("red", "blue"), target="C")
        )


def test_a_sample_without_choices_is_an_error():
    with pytest.raises(
        TemplateError,
        match="sample 'a': the sample has no choices; fix: name the columns",
    ):
        build_template("choices")(Sample(id="a", input="Sky?"))


def test_more_choices_than_letters_are_an_error():
    with pytest.raises(
        TemplateError,
        match="3 choices but only 2 letters; fix: give the template more `letters`",
    ):
        Choices(letters="AB")(Sample(id="a", input="Sky?", choices=("r", "g", "b")))


def test_a_fault_in_the_answer_is_found_before_the_run():
    with pytest.raises(UsageError, match="key `answer`, line 1: not valid Jinja"):
        build_template({"name": "choices", "answer": "{{ oops"})


def test_letters_that_options_carry_are_shown_once():
    sample = Sample("x", "Where?", "B", choices=("A. Paris", "B. Rome"))

    lettered = Choices()(sample)
    bullets = Choices(layout="bullets")(sample)

    assert "Where?\nA. Paris\nB. Rome\n" in lettered.text
    assert "- A. Paris\n- B. Rome" in bullets.text
