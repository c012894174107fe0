"""Decisions by an interval against a limit, and how many samples would decide."""

import numpy as np
import pytest

from assay.summarizers.statistics import paired_share_difference
from assay.summarizers.statistics.power_analysis import (
    decide,
    deciding_size,
    rounded_up,
)


@pytest.mark.parametrize(
    ("interval", "decision"),
    [
        ((-0.02, 0.04), "pass"),
        ((-0.021, 0.04), "inconclusive"),
        ((-0.2, -0.03), "fail"),
        ((-0.2, -0.02), "inconclusive"),
    ],
)
def test_the_whole_interval_must_be_on_one_side_of_the_limit(interval, decision):
    value = sum(interval) / 2

    assert decide(value, interval, -0.02) == decision


def test_with_many_limits_a_failure_must_be_more_certain():
    almost = (-0.07, -0.0201)

    assert decide(-0.04505, almost, -0.02) == "fail"
    assert decide(-0.04505, almost, -0.02, together=10) == "inconclusive"


def counts(rng, n, difference, discordance, runs):
    """Wins and losses of `runs` comparisons of models that differ on a share of samples."""
    shares = [
        (discordance + difference) / 2,
        (discordance - difference) / 2,
        1 - discordance,
    ]
    return rng.multinomial(n, shares, size=runs)[:, :2].tolist()


def decisions(pairs, n, limit, together=1):
    """How often each decision was made."""
    made = []
    for wins, losses in pairs:
        found = paired_share_difference(wins, losses, n)
        made.append(
            decide(found.value, (found.low, found.high), limit, together=together)
        )
    return {
        kind: made.count(kind) / len(made) for kind in ("pass", "fail", "inconclusive")
    }


def test_a_run_that_is_worse_by_just_the_limit_rarely_passes_and_rarely_fails():
    rng = np.random.default_rng(11)

    for n, discordance in ((200, 0.2), (1000, 0.1)):
        found = decisions(counts(rng, n, -0.02, discordance, 1500), n, -0.02)
        # The error promised is 2.5 % each way; 1,500 runs know it to 0.4 points.
        assert found["pass"] <= 0.037 and found["fail"] <= 0.037, (n, found)


def test_of_five_good_runs_together_one_rarely_fails():
    rng = np.random.default_rng(12)
    n = 300

    families = np.array(counts(rng, n, -0.02, 0.2, 5 * 600)).reshape(600, 5, 2)
    failed = [
        decisions(family.tolist(), n, -0.02, together=5)["fail"] > 0
        for family in families
    ]

    assert np.mean(failed) <= 0.045


def test_the_recommended_sample_size_decides_in_four_of_five_cases():
    rng = np.random.default_rng(13)
    pilot = paired_share_difference(20, 20, 200)
    n = deciding_size(200, pilot.value, (pilot.low, pilot.high), -0.03, pilot.stderr)

    found = decisions(counts(rng, n, 0.0, 0.2, 600), n, -0.03)

    assert 1200 < n < 2400
    assert 0.74 < found["pass"] < 0.87


def test_a_number_at_the_limit_is_never_decided():
    assert deciding_size(100, -0.02, (-0.05, 0.01), -0.02, 0.015) is None
    assert deciding_size(100, -0.0200001, (-0.05, 0.01), -0.02, 0.015) is None


def test_equal_answers_have_a_number_too():
    same = paired_share_difference(0, 0, 100)

    needed = deciding_size(100, same.value, (same.low, same.high), -0.01, same.stderr)
    later = paired_share_difference(0, 0, needed)

    assert 100 < needed < 500
    assert decide(later.value, (later.low, later.high), -0.01) == "pass"


@pytest.mark.parametrize(
    ("count", "shown"), [(7, 7), (99, 99), (101, 110), (1234, 1300), (1300, 1300)]
)
def test_a_count_is_rounded_up_to_two_digits(count, shown):
    assert rounded_up(count) == shown
