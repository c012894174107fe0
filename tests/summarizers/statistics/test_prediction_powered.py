"""Prediction-powered means: published vectors, and the ends of what can happen."""

import random

import pytest

from assay.summarizers.statistics import estimate_mean, prediction_powered_mean
from assay.summarizers.statistics.prediction_powered import judge_weight

PEOPLE = [float(c) for c in "11010111010110110111"]
JUDGE = [float(c) for c in "11110111010101110111"]
REST = [1.0] * 70 + [0.0] * 30


def test_weight_and_value_are_those_of_ppi_python():
    # ppi-python 0.2.3: ppi_mean_pointestimate(PEOPLE, JUDGE, REST) is 0.675, which is a weight of one half.
    assert judge_weight(PEOPLE, JUDGE, REST) == pytest.approx(0.5)
    assert prediction_powered_mean(PEOPLE, JUDGE, REST).value == pytest.approx(0.675)


def test_the_interval_holds_that_of_ppi_python_and_allows_for_the_few_labels():
    # ppi_mean_ci(…, alpha=0.05) is 0.5096 to 0.8404 by the normal distribution; ours is Student's.
    found = prediction_powered_mean(PEOPLE, JUDGE, REST)

    assert found.low < 0.5096 and found.high > 0.8404 and found.high - found.low < 0.42


def test_a_judge_that_is_always_right_makes_the_interval_as_narrow_as_all_samples_allow():
    draw = random.Random(3)
    truth = [float(draw.random() < 0.7) for _ in range(2000)]

    found = prediction_powered_mean(truth[:60], truth[:60], truth[60:])
    alone = estimate_mean(truth[:60], binary=True)

    assert found.high - found.low < 0.45 * (alone.high - alone.low)


def test_a_judge_that_guesses_is_hardly_used():
    draw = random.Random(4)
    people, judge, rest = (
        [float(draw.random() < 0.5) for _ in range(n)] for n in (80, 80, 2000)
    )

    assert judge_weight(people, judge, rest) < 0.3


def test_a_lenient_judge_is_corrected_down():
    people = [1.0, 0.0] * 30
    judge = [1.0, 0.0, 1.0, 1.0] * 15

    found = prediction_powered_mean(
        people, judge, [1.0, 0.0, 1.0, 1.0] * 300, ends=(0.0, 1.0)
    )

    assert found.value < 0.6 < 0.75
    assert found.low <= 0.5 <= found.high


@pytest.mark.parametrize(
    ("people", "judge", "rest"),
    [
        ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0] * 50),
        ([1.0, 0.0, 1.0], [1.0, 0.0, 1.0], []),
        ([1.0], [1.0], [0.0, 1.0]),
    ],
    ids=["a judge that says always the same", "no other samples", "one label"],
)
def test_without_a_useful_judge_it_is_the_mean_of_the_labels(
    people: list, judge: list, rest: list
):
    assert prediction_powered_mean(
        people, judge, rest, ends=(0.0, 1.0)
    ) == estimate_mean(people, binary=True, ends=(0.0, 1.0))


def test_few_labels_are_flagged_and_the_interval_stays_on_the_scale():
    found = prediction_powered_mean(
        [1.0, 1.0, 0.0, 1.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0] * 40 + [0.0] * 4,
        ends=(0.0, 1.0),
    )

    assert found.unreliable == "interval unreliable: 4 labels"
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_labels_and_verdicts_must_be_of_the_same_samples():
    with pytest.raises(ValueError, match="3 labels against 2 verdicts"):
        prediction_powered_mean([1.0, 0.0, 1.0], [1.0, 0.0], [1.0])
