"""VQA accuracy, against the numbers of the official script."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Candidate, Outcome, Output, Sample, UsageError
from assay.scorers.text.normalize_text import strip_marks, vqa_normal
from assay.scorers.vision.vqa import VqaAccuracy, vqa_accuracy

SHORT_ANSWERS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)


def nine(answer):
    return [answer] * 9 + ["no"]


@pytest.mark.parametrize(
    ("agreeing", "percent"), [(0, 0), (1, 30), (2, 60), (3, 90), (4, 100), (10, 100)]
)
@pytest.mark.parametrize("v", ["always", "a013f00"])
def test_each_annotator_who_agrees_is_worth_up_to_thirty_percent(agreeing, percent, v):
    answers = ["red"] * agreeing + ["blue"] * (10 - agreeing)

    assert 100 * vqa_accuracy("red", answers, v) == pytest.approx(percent)


@pytest.mark.parametrize(
    ("gold", "said"), [("yes", "Yes"), ("yes", "yes."), ("2", "two")]
)
def test_the_last_official_revision_does_not_normalize_where_annotators_agree(
    gold, said
):
    assert vqa_accuracy(said, [gold] * 10, "a013f00") == 0.0
    assert vqa_accuracy(said, [gold] * 10, "always") == 1.0


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("yes", "Yes."),
        ("red car", "a red car"),
        ("don't", "dont"),
        ("1000", "1,000"),
        ("t shirt", "t-shirt"),
        ("0", "none"),
    ],
)
@pytest.mark.parametrize("v", ["always", "a013f00"])
def test_both_behaviours_normalize_where_annotators_disagree(gold, said, v):
    assert vqa_accuracy(said, nine(gold), v) == 1.0


def test_fewer_annotators_give_the_value_icltestbed_documents():
    rows = [
        ("yes", ["yes", "yeah", "yep"]),
        ("2", ["2", "two"]),
        ("blue", ["blue", "bluish"]),
    ]

    values = [vqa_accuracy(said, answers) for said, answers in rows]

    assert round(100 * sum(values) / 3, 2) == 24.07


def test_only_the_first_32_periods_are_taken_out():
    assert strip_marks("." * 40) == "." * 8


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Ten\ncats", "10 cats"),
        ("3.5", "3.5"),
        ("a, b", "b"),
        ("black/white", "black white"),
        ("hed've", "he'd've"),
        ("somebody'd", "somebodyd"),
    ],
)
def test_answers_are_compared_in_normal_form(text, normal):
    assert vqa_normal(text) == normal


def test_annotators_may_be_dictionaries_in_a_column():
    sample = Sample(id="a", target="blue", fields={"answers": [{"answer": "red"}] * 4})

    score = VqaAccuracy()(sample, Output.of("Red."))

    assert (score.value, score.answer) == (1.0, "red")
    assert score.details == {"v": "always", "matches": 4}


def test_a_single_annotator_is_a_fault_of_the_data():
    score = VqaAccuracy()(Sample(id="a", target="red"), Output.of("red"))

    assert score.outcome is Outcome.DATA_ERROR
    assert "one annotator only" in score.details["reason"]


def test_without_answers_there_is_nothing_to_compare():
    assert VqaAccuracy()(Sample(id="a"), Output.of("red")).outcome is Outcome.DATA_ERROR


def test_silence_at_the_token_limit_is_truncated():
    output = Output((Candidate((), "length"),))

    assert (
        VqaAccuracy()(Sample(id="a", target=("red", "blue")), output).outcome
        is Outcome.TRUNCATED
    )


def test_an_unknown_behaviour_is_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know v='latest'"):
        VqaAccuracy(v="latest")


@settings(deadline=None)
@given(SHORT_ANSWERS, st.lists(SHORT_ANSWERS, min_size=2, max_size=10), st.randoms())
def test_the_order_of_annotators_does_not_matter(said, answers, random):
    mixed = random.sample(answers, len(answers))

    value = vqa_accuracy(said, answers)

    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(vqa_accuracy(said, mixed))


@settings(deadline=None)
@given(SHORT_ANSWERS, st.integers(4, 10), st.sampled_from(["always", "a013f00"]))
def test_an_answer_of_four_or_more_annotators_is_right(answer, n, v):
    assert vqa_accuracy(answer, [answer] * n, v) == 1.0
