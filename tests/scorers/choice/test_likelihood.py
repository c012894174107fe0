"""Multiple choice by likelihood, under each normalization."""

import math

import pytest

from assay.core import Likelihood, Outcome, Output, Sample, UsageError
from assay.scorers.choice.likelihood import ChoiceLikelihood


def weigh(choices, logprobs, target, details=None, **options):
    output = Output(
        likelihoods=tuple(Likelihood(x) for x in logprobs), details=details or {}
    )
    return ChoiceLikelihood(**options)(
        Sample(id="a", target=target, choices=tuple(choices)), output
    )


def test_characters_and_the_plain_sum_may_pick_different_options():
    score = weigh(("cat", "elephant", "dogs and cats"), (-4, -6, -7.5), "C")

    assert score.value == {"acc": 0.0, "acc_norm": 1.0, "acc_bytes": 1.0}
    assert score.details["picks"] == {"acc": "A", "acc_norm": "C", "acc_bytes": "C"}


def test_bytes_and_characters_differ_in_chinese():
    score = weigh(("是", "yes, it is"), (-0.9, -4.0), "A")

    assert score.details["picks"] == {"acc": "A", "acc_norm": "B", "acc_bytes": "A"}


def test_pmi_subtracts_what_an_option_is_worth_alone():
    score = weigh(
        ("cat", "dog"), (-2.0, -3.0), "B", details={"unconditioned": [-1.0, -9.0]}
    )

    assert score.value["acc"] == 0.0
    assert score.value["acc_pmi"] == 1.0


def test_unconditioned_weights_may_come_as_further_continuations():
    score = weigh(("cat", "dog"), (-2.0, -3.0, -1.0, -9.0), "B")

    assert score.value["acc_pmi"] == 1.0


def test_a_tie_goes_to_the_first_option_and_is_counted():
    score = weigh(("x", "y", "z"), (-1.0, -1.0, -5.0), "A")

    assert score.value["acc"] == 1.0
    assert score.details["ties"] == {"acc": 1, "acc_norm": 1, "acc_bytes": 1}


def test_any_of_several_golds_counts():
    assert weigh(("x", "y", "z"), (-3.0, -1.0, -5.0), ("A", "B")).value["acc"] == 1.0


def test_letters_have_one_length_so_that_there_is_one_number():
    score = weigh(("cat", "dogs and cats"), (-4.0, -4.5), "A", continuation="letter")

    assert score.value == {"acc": 1.0}


def test_the_continuations_an_output_names_decide_the_lengths_without_their_blank():
    told = {"continuations": [" A", " B"]}

    score = weigh(("cat", "dogs and cats"), (-4.0, -4.5), "A", details=told)

    assert score.value["acc_norm"] == 1.0


def test_options_that_are_all_impossible_are_a_fault_of_the_model_and_none_is_taken():
    score = weigh(("x", "y"), (-math.inf, -math.inf), "B")

    assert (score.value, score.outcome, score.answer) == (
        None,
        Outcome.MODEL_ERROR,
        None,
    )
    assert (
        score.details["reason"]
        == "every option has probability 0, so none is the most probable"
    )


def test_an_impossible_option_is_written_as_text_since_json_has_no_infinity():
    score = weigh(("x", "y"), (-math.inf, -2.0), "B")

    assert score.value["acc"] == 1.0
    assert score.details["logprobs"] == ["-inf", -2.0]


@pytest.mark.parametrize(
    "logprobs", [(-1.0,), (-1.0, -2.0, -3.0), (), (math.nan, -1.0), (math.inf, -1.0)]
)
def test_likelihoods_that_do_not_fit_the_choices_are_a_fault_of_the_model(logprobs):
    score = weigh(("x", "y"), logprobs, "A")

    assert (score.value, score.outcome) == (None, Outcome.MODEL_ERROR)


@pytest.mark.parametrize(
    ("choices", "target"),
    [
        ((), "A"),
        (("x", "y"), None),
        (("x", "y"), "C"),
        (("x", "y"), ""),
        (("x", "y"), "AB"),
        (tuple("x" * 27), "A"),
    ],
)
def test_a_sample_without_a_usable_gold_is_a_fault_of_the_data(choices, target):
    assert weigh(choices, (-1.0, -2.0), target).outcome is Outcome.DATA_ERROR


def test_an_unknown_continuation_is_refused_before_the_run():
    with pytest.raises(UsageError, match="does not know continuation='word'"):
        ChoiceLikelihood(continuation="word")
