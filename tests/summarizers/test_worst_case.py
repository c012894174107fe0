"""Worst case: the value at the level where it is worst."""

import pytest
from summary_context import Context, record

from assay.core import UsageError
from assay.summarizers.worst_case import WorstCase


def at(level, values, family="noise", **more):
    return [
        record(
            f"{family}-{level}-{n}",
            value,
            tags={"level": level, "family": family},
            **more,
        )
        for n, value in enumerate(values)
    ]


LEVELS = [
    *at("0 dB", [0.0, 1.0, 0.0, 0.0]),
    *at("10 dB", [1.0, 1.0, 0.0, 1.0]),
    *at("20 dB", [1.0, 1.0]),
]


def test_the_worst_level_counts_and_every_level_is_listed():
    (result,) = WorstCase()(LEVELS, Context())

    assert (result.metric, result.value, result.n) == ("worst(exact_match)", 0.25, 10)
    assert result.details["worst"] == "0 dB"
    assert {level: one.value for level, one in result.groups["level"].items()} == {
        "0 dB": 0.25,
        "10 dB": 0.75,
        "20 dB": 1.0,
    }
    assert result.ci[0] <= 0.25 <= result.ci[1]


def test_each_family_has_its_own_worst_case():
    records = [*LEVELS, *at("far", [1.0, 0.0], family="distance")]

    distance, noise = WorstCase(within="family")(records, Context())

    assert (distance.metric, distance.value) == ("worst(exact_match)[distance]", 0.5)
    assert (noise.metric, noise.value, noise.n) == (
        "worst(exact_match)[noise]",
        0.25,
        10,
    )


def test_of_error_rates_the_highest_pooled_one_is_the_worst():
    records = [
        record("a", 1.0, tags={"level": "0 dB"}, details={"S": 1, "D": 0, "N": 1}),
        record("b", 0.0, tags={"level": "0 dB"}, details={"S": 0, "D": 0, "N": 9}),
        record("c", 0.2, tags={"level": "10 dB"}, details={"S": 1, "D": 1, "N": 10}),
    ]

    (result,) = WorstCase(numerator=("S", "D"), denominator="N")(
        records, Context(higher_is_better=False, bounds=None)
    )

    assert (result.value, result.details["worst"], result.higher_is_better) == (
        pytest.approx(0.2),
        "10 dB",
        False,
    )
    assert result.groups["level"]["0 dB"].value == pytest.approx(0.1)


def test_unread_answers_count_as_wrong_and_unjudged_ones_not_at_all():
    records = [
        *at("loud", [1.0]),
        record("u", None, "unparsed", tags={"level": "loud"}),
        *at("quiet", [1.0]),
        record("j", None, "judge_error", tags={"level": "quiet"}),
    ]

    (result,) = WorstCase()(records, Context())

    assert result.value == 0.5 and result.groups["level"]["quiet"].value == 1.0


def test_samples_without_a_level_and_levels_without_a_value_are_flagged():
    records = [
        *at("loud", [1.0]),
        record("x", 0.0),
        record("j", None, "judge_error", tags={"level": "silent"}),
    ]

    (result,) = WorstCase()(records, Context())

    assert result.value == 1.0
    assert (
        "without level: 1 sample left out" in result.flags
        and "no value for silent" in result.flags
    )


def test_nothing_to_summarize_is_not_a_number():
    (result,) = WorstCase()(
        [record("j", None, "judge_error", tags={"level": "a"})], Context()
    )

    assert result.value is None and list(WorstCase()([], Context())) == []


def test_a_numerator_without_a_denominator_is_refused():
    with pytest.raises(UsageError, match="needs both counts or neither"):
        WorstCase(numerator="S")


def test_the_interval_comes_from_those_of_the_levels_and_holds_the_worst_value():
    records = [
        record(f"{level}{i}", float(i % 10 < right), tags={"level": level})
        for level, right in (("mild", 9), ("hard", 5))
        for i in range(40)
    ]

    (result,) = WorstCase()(records, Context())

    hard, mild = result.groups["level"]["hard"], result.groups["level"]["mild"]
    assert (result.value, result.interval) == (0.5, "from the levels")
    assert result.ci[0] == hard.ci[0] < 0.5 < hard.ci[1] < result.ci[1] < mild.ci[1]


def test_levels_that_are_all_right_still_have_an_interval_with_a_width():
    records = [
        record(f"{level}{i}", 1.0, tags={"level": level})
        for level in ("mild", "hard")
        for i in range(10)
    ]

    (result,) = WorstCase()(records, Context())

    assert result.value == 1.0 and result.ci[0] < 0.75 and result.ci[1] == 1.0
