"""Confidence sequences and early stopping: METRICS §3.9."""

import numpy as np
import pytest

from assay.summarizers.statistics import (
    BettingSequence,
    StoppingRule,
    estimate_mean,
    wilson,
)


def betting_sequence(values, **options):
    """The interval at one look after these scores."""
    bets = BettingSequence(**options)
    for value in values:
        bets.add(value)
    return bets.look()


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_the_betting_sequence_holds_at_every_look(share):
    rng = np.random.default_rng(2)
    runs, wrong = 150, 0

    for _ in range(runs):
        bets = BettingSequence()
        # Exclusions are never taken back, so the last interval has seen every look.
        for n, score in enumerate((rng.random(150) < share).astype(float).tolist(), 1):
            bets.add(score)
            if n % 25 == 0:
                estimate = bets.look()
        wrong += not estimate.low <= share <= estimate.high

    assert wrong / runs <= 0.05


def test_the_betting_interval_is_in_range_from_the_first_sample_and_shrinks():
    bets = BettingSequence()
    widths = []

    for score in [1.0, 1.0, 0.0] * 60:
        bets.add(score)
        estimate = bets.look()
        assert 0.0 <= estimate.low < estimate.high <= 1.0
        widths.append(estimate.high - estimate.low)

    assert widths == sorted(widths, reverse=True)
    low, high = wilson(120, 180)
    assert high - low < widths[-1] < 2.0 * (high - low)


def test_other_bounds_only_rescale():
    unit = betting_sequence([0.0, 0.5, 1.0, 1.0] * 10)
    rating = betting_sequence([1.0, 3.0, 5.0, 5.0] * 10, minimum=1, maximum=5)

    assert rating.value == pytest.approx(1 + 4 * unit.value)
    assert (rating.low, rating.high) == pytest.approx(
        (1 + 4 * unit.low, 1 + 4 * unit.high)
    )
    assert rating.stderr == pytest.approx(4 * unit.stderr)


def test_betting_and_plain_estimates_agree_on_value_and_standard_error():
    values = [0.2, 0.9, 0.4, 1.0]

    bet, plain = betting_sequence(values), estimate_mean(values)

    assert (bet.value, bet.stderr) == pytest.approx((plain.value, plain.stderr))


def test_scores_outside_the_bounds_are_refused():
    with pytest.raises(ValueError, match=r"the score 2 is outside 0\.\.1"):
        betting_sequence([0.5, 2.0])
    with pytest.raises(ValueError, match="above the minimum"):
        betting_sequence([0.5], minimum=1, maximum=1)
    with pytest.raises(ValueError, match="no scores yet"):
        BettingSequence().look()


def test_a_run_stops_only_on_schedule_and_when_narrow_enough():
    values = [1.0, 0.0] * 500
    rule = StoppingRule(half_width=0.07, first_look=100, look_every=50)

    assert not rule.stops(betting_sequence(values[:100]), shuffle_seed=3)
    assert rule.stops(betting_sequence(values), shuffle_seed=3)
    assert not rule.stops(betting_sequence(values[:999]), shuffle_seed=3)
    assert not rule.stops(betting_sequence([1.0]), shuffle_seed=3)


def test_unshuffled_data_and_fixed_intervals_may_not_stop_a_run():
    rule = StoppingRule(half_width=0.5)

    with pytest.raises(ValueError, match="random order"):
        rule.stops(betting_sequence([1.0, 0.0] * 50), shuffle_seed=None)
    with pytest.raises(ValueError, match=r"not a fixed-n interval \(wilson\)"):
        rule.stops(estimate_mean([1.0, 0.0] * 50), shuffle_seed=1)


def test_estimate_is_a_deprecated_name_of_look():
    bets = BettingSequence()
    bets.add(1.0)

    with pytest.warns(DeprecationWarning, match="call look"):
        estimate = bets.estimate

    assert estimate == bets.look()
