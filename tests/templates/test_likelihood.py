"""Templates whose texts are weighed: contexts and continuations."""

import pytest

from assay.core import Message, Sample, TemplateError, UsageError
from assay.templates import ChoiceLikelihood, LikelihoodOf, Rolling, build_template

SKY = Sample(id="a", input="Sky?", choices=("red", "deep blue"), target="B")
ROW = {"text": "She opened the  door \n", "n": 3}
STORY = Sample(id="s", input="He closed the door.", target="quietly", fields=ROW)


def test_letters_are_weighed_after_the_listed_options():
    prompt = ChoiceLikelihood()(SKY)

    assert prompt.text == "Question: Sky?\nA. red\nB. deep blue\nAnswer:"
    assert prompt.continuations == (" A", " B")
    assert prompt.messages[0].role == ""


def test_texts_are_weighed_after_the_question_alone():
    prompt = ChoiceLikelihood(continuation="text")(SKY)

    assert prompt.text == "Question: Sky?\nAnswer:"
    assert prompt.continuations == (" red", " deep blue")


def test_the_options_can_be_shown_while_texts_are_weighed():
    prompt = ChoiceLikelihood(continuation="text", show_choices=True, layout="inline")(
        SKY
    )

    assert prompt.text == "Question: Sky?\n(A) red (B) deep blue\nAnswer:"


def test_a_sentence_is_continued_where_there_is_no_answer_prefix():
    prompt = ChoiceLikelihood(
        continuation="text", question_prefix="", answer_prefix=""
    )(SKY)

    assert prompt.text == "Sky?"


def test_a_solved_example_ends_with_what_is_weighed():
    assert ChoiceLikelihood().solution(SKY) == "B"
    assert ChoiceLikelihood(continuation="text").solution(SKY) == "deep blue"


def test_the_last_word_is_weighed_in_what_comes_before_it():
    prompt = LikelihoodOf(column="text")(STORY)

    assert prompt.text == "She opened the"
    assert prompt.continuations == (" door",)
    assert LikelihoodOf(column="text").solution(STORY) == "door"


def test_the_target_is_weighed_after_the_question():
    prompt = LikelihoodOf(what="target")(STORY)

    assert (prompt.text, prompt.continuations) == ("He closed the door.", (" quietly",))


def test_a_rolling_text_is_weighed_whole_and_unchanged():
    prompt = Rolling(column="text")(STORY)

    assert prompt.rolling and prompt.continuations is None
    assert prompt.messages == (Message.of("", "She opened the  door \n"),)


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        (
            {"name": "choice_likelihood", "continuation": "word"},
            "cannot weigh 'word'; fix: use 'letter' or 'text'",
        ),
        (
            {"name": "likelihood_of", "what": "word"},
            "cannot weigh 'word'; fix: use 'last_word' or 'target'",
        ),
        (
            {"name": "choice_likelihood", "layout": "lnes"},
            "unknown layout 'lnes'; fix: did you mean 'lines'",
        ),
    ],
)
def test_a_wrong_option_is_refused_before_the_run(template, fault):
    with pytest.raises(UsageError, match=fault):
        build_template(template)


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        (
            Rolling(column="txt"),
            "sample 's': there is no column 'txt'; fix: the row has the columns: n, text",
        ),
        (Rolling(column="n"), "the column 'n' has no text"),
        (ChoiceLikelihood(), "the sample has no choices"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error(template, fault):
    with pytest.raises(TemplateError, match=fault):
        template(STORY)


def test_a_text_of_one_word_has_nothing_to_weigh_its_last_word_in():
    with pytest.raises(TemplateError, match="a text of one word has no context"):
        LikelihoodOf()(Sample(id="a", input="Door."))
