"""MT-Bench with published prompts: what is filled in, and which rating counts."""

import pytest

from assay.core import Output
from assay.scorers.judge.exchange import Exchange
from assay.scorers.judge.mt_bench import fill_prompt, read_rating

SECOND = Exchange(
    (("user", "q one"), ("assistant", "a {question_2}"), ("user", "q two")),
    Output.of("a two"),
    ("r one", "r two"),
    2,
    (1,),
)


def test_every_name_is_filled_in_once_and_braces_of_an_answer_stay():
    names = (
        "question_1",
        "answer_1",
        "question_2",
        "answer_2",
        "ref_answer_1",
        "ref_answer_2",
        "other",
    )
    wording = {"prompt_template": "/".join(f"{{{name}}}" for name in names)}

    prompt = fill_prompt(wording, SECOND)

    assert [message.role for message in prompt.messages] == ["user"]
    assert (
        prompt.messages[0].text
        == "q one/a {question_2}/q two/a two/r one/r two/{other}"
    )


def test_the_first_round_has_question_and_answer():
    wording = {
        "system_prompt": "Judge.",
        "prompt_template": "{question} | {answer} | {ref_answer_1}",
    }

    prompt = fill_prompt(wording, Exchange((("user", "q"),), Output.of("a"), ("r",)))

    assert [message.text for message in prompt.messages] == ["Judge.", "q | a | r"]


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("Good. Rating: [[8]]", 8.0),
        ("Rating: [[7.5]]", 7.5),
        ("First [[3]] then [[9]]", 3.0),
        ("Rating: [6]", 6.0),
        ("[5] is cited; Rating: [[8]]", 8.0),
        ("no rating", None),
        ("Rating: [[0]]", None),
        ("Rating: [[11]]", None),
    ],
)
def test_a_rating_is_the_first_in_double_brackets(reply, rating):
    assert read_rating(reply) == rating
