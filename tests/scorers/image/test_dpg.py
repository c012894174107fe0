"""DPG-Bench: propositions with parents."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Json, Outcome, Output, Sample
from assay.scorers.image.dpg import Dpg, settle

PARENTS = {1: "0", 2: "1", 3: "0", 4: "3", 5: "4"}


def questions(parents, category="entity"):
    return [
        {"proposition_id": key, "dependency": value, "category_broad": category}
        for key, value in parents.items()
    ]


def score(answers, parents=PARENTS):
    return Dpg()(
        Sample(id="a", fields={"questions": questions(parents)}),
        Output.of(Json(answers)),
    )


ANSWERS = {1: 1, 2: 1, 3: 0, 4: 1, 5: 1}


def test_a_proposition_whose_parent_fails_fails_too():
    assert score(ANSWERS).value == pytest.approx(0.4)


def test_without_parents_answers_count_as_given():
    assert score(ANSWERS, dict.fromkeys(PARENTS, 0)).value == pytest.approx(0.8)


def test_the_order_of_questions_does_not_matter():
    assert score(ANSWERS, dict(reversed(PARENTS.items()))).value == pytest.approx(0.4)


def test_several_views_are_averaged_and_categories_ignore_parents():
    verdict = score([ANSWERS, dict.fromkeys(PARENTS, "yes")])

    assert verdict.value == pytest.approx(0.7)
    assert verdict.details["views"] == pytest.approx([0.4, 1.0])
    assert verdict.details["fulfilled"] == [7, 10]
    assert verdict.details["categories"] == {"entity": [9, 10]}


def test_only_a_plain_yes_is_a_yes():
    assert score(
        {1: "Yes", 2: "yes, there is", 3: True, 4: "no", 5: 0}
    ).value == pytest.approx(0.4)


def test_questions_may_be_json_text():
    sample = Sample(
        id="a",
        fields={
            "questions": json.dumps(questions({1: [0]})),
            "answers": '{"1": "yes"}',
        },
    )

    assert Dpg()(sample, Output()).value == 1.0


def test_a_missing_answer_is_not_a_verdict():
    verdict = score({1: "yes"})

    assert verdict.outcome is Outcome.JUDGE_ERROR
    assert verdict.details["reason"] == "no answer was saved for proposition 2"


@pytest.mark.parametrize("answers", [None, [], "yes"])
def test_without_answers_there_is_no_verdict(answers):
    assert score(answers).outcome is Outcome.JUDGE_ERROR


def test_parents_in_a_circle_are_a_fault_of_the_data():
    assert score({1: 1, 2: 1}, {1: "2", 2: "1"}).outcome is Outcome.DATA_ERROR


def test_a_sample_without_propositions_is_a_fault_of_the_data():
    assert Dpg()(Sample(id="a"), Output.of(Json({}))).outcome is Outcome.DATA_ERROR


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_parents_only_turn_yes_into_no(answers, data):
    keys = [str(number) for number in range(len(answers))]
    parents = {
        key: data.draw(st.lists(st.sampled_from(keys[:at]))) if at else []
        for at, key in enumerate(keys)
    }
    given_answers = dict(zip(keys, answers, strict=True))

    settled = settle(given_answers, parents)

    assert settled.keys() == given_answers.keys()
    assert all(given_answers[key] or not holds for key, holds in settled.items())
    assert settle(settled, parents) == settled
