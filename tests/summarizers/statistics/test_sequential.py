"""Confidence sequences and early stopping: METRICS §3.9."""

import math

import numpy as np
import pytest

from assay.summarizers.statistics import (
    BettingSequence,
    StoppingRule,
    asymptotic_radius,
    asymptotic_sequence,
    betting_sequence,
    estimate_mean,
    tuning,
    wilson,
)


def test_the_tuning_matches_the_published_vector():
    assert tuning(0.05, 500) == pytest.approx(0.0158723092, abs=1e-10)


@pytest.mark.parametrize(("t", "successes", "radius"), [(500, 343, 0.0629985), (1000, 703, 0.0442371)])
def test_the_asymptotic_radius_matches_the_published_vectors(t, successes, radius):
    estimate = asymptotic_sequence([1.0] * successes + [0.0] * (t - successes))

    assert (estimate.high - estimate.low) / 2 == pytest.approx(radius, abs=1e-7)
    assert estimate.method == "asymptotic confidence sequence"


def test_the_price_is_about_one_and_a_half_times_the_width():
    sd = math.sqrt(0.686 * 0.314)
    fixed = 1.959963985 * sd / math.sqrt(500)

    assert fixed == pytest.approx(0.0407, abs=5e-5)
    assert asymptotic_radius(500, sd) / fixed == pytest.approx(1.5, abs=0.1)


def test_looking_often_breaks_the_fixed_interval_and_not_the_sequence():
    rng = np.random.default_rng(1)
    looks = np.arange(50, 1001, 10)
    means = np.cumsum(rng.random((2000, 1000)) < 0.5, axis=1)[:, looks - 1] / looks
    deviation = np.sqrt(means * (1 - means))

    fixed = (np.abs(means - 0.5) > 1.96 * deviation / np.sqrt(looks)).any(axis=1).mean()
    radii = np.array([asymptotic_radius(int(t), 1.0) for t in looks]) * deviation
    sequence = (np.abs(means - 0.5) > radii).any(axis=1).mean()

    # The vector, from 400 runs of its own: 35.5 % against 2.5 %.
    assert 0.30 <= fixed <= 0.41
    assert sequence <= 0.05


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_the_betting_sequence_holds_at_every_look(share):
    rng = np.random.default_rng(2)
    runs, wrong = 300, 0

    for _ in range(runs):
        bets = BettingSequence()
        # Exclusions are never taken back, so the last interval has seen every look.
        for n, score in enumerate((rng.random(150) < share).astype(float).tolist(), 1):
            bets.add(score)
            if n % 25 == 0:
                estimate = bets.estimate
        wrong += not estimate.low <= share <= estimate.high

    assert wrong / runs <= 0.05


def test_the_betting_interval_is_in_range_from_the_first_sample_and_shrinks():
    bets = BettingSequence()
    widths = []

    for score in [1.0, 1.0, 0.0] * 60:
        bets.add(score)
        estimate = bets.estimate
        assert 0.0 <= estimate.low < estimate.high <= 1.0
        widths.append(estimate.high - estimate.low)

    assert widths == sorted(widths, reverse=True)
    low, high = wilson(120, 180)
    assert high - low < widths[-1] < 2.0 * (high - low)


def test_other_bounds_only_rescale():
    unit = betting_sequence([0.0, 0.5, 1.0, 1.0] * 10)
    rating = betting_sequence([1.0, 3.0, 5.0, 5.0] * 10, minimum=1, maximum=5)

    assert rating.value == pytest.approx(1 + 4 * unit.value)
    assert (rating.low, rating.high) == pytest.approx((1 + 4 * unit.low, 1 + 4 * unit.high))
    assert rating.stderr == pytest.approx(4 * unit.stderr)


def test_betting_and_plain_estimates_agree_on_value_and_standard_error():
    values = [0.2, 0.9, 0.4, 1.0]

    bet, plain = betting_sequence(values), estimate_mean(values)

    assert (bet.value, bet.stderr) == pytest.approx((plain.value, plain.stderr))


def test_scores_outside_the_bounds_are_refused():
    with pytest.raises(ValueError, match=r"the score 2 lies outside 0\.\.1"):
        betting_sequence([0.5, 2.0])
    with pytest.raises(ValueError, match="above the minimum"):
        betting_sequence([0.5], minimum=1, maximum=1)
    with pytest.raises(ValueError, match="no scores yet"):
        _ = BettingSequence().estimate
    with pytest.raises(ValueError, match="alpha"):
        tuning(0.0, 500)
    with pytest.raises(ValueError, match="at least one sample"):
        asymptotic_radius(0, 0.5)


def test_a_run_stops_only_on_schedule_and_when_narrow_enough():
    values = [1.0, 0.0] * 500
    rule = StoppingRule(half_width=0.06, first_look=100, look_every=50)

    assert not rule.stops(asymptotic_sequence(values[:100]), shuffle_seed=3)
    assert rule.stops(asymptotic_sequence(values), shuffle_seed=3)
    assert not rule.stops(asymptotic_sequence(values[:999]), shuffle_seed=3)
    assert not rule.stops(asymptotic_sequence([1.0]), shuffle_seed=3)


def test_unshuffled_data_and_fixed_intervals_may_not_stop_a_run():
    rule = StoppingRule(half_width=0.5)

    with pytest.raises(ValueError, match="random order"):
        rule.stops(asymptotic_sequence([1.0, 0.0] * 50), shuffle_seed=None)
    with pytest.raises(ValueError, match=r"not a fixed-n interval \(wilson\)"):
        rule.stops(estimate_mean([1.0, 0.0] * 50), shuffle_seed=1)
