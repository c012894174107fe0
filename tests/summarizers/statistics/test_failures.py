"""Bounds left open by failed samples: METRICS §3.1."""

import pytest

from assay.summarizers.statistics import failure_bounds


def test_failures_open_a_gap_between_all_wrong_and_all_right():
    bounds = failure_bounds([1, 1, 0, 1, 0, 1, 1, 0], 2)

    assert (bounds.worst, bounds.best, bounds.share) == (0.5, 0.7, 0.2)
    assert bounds.shown
    assert bounds.flagged


@pytest.mark.parametrize(("failures", "shown", "flagged"), [(0, False, False), (1, False, False), (2, True, False)])
def test_the_row_speaks_up_above_one_percent_and_is_in_doubt_above_five(failures, shown, flagged):
    bounds = failure_bounds([1.0] * (100 - failures), failures)

    assert (bounds.shown, bounds.flagged) == (shown, flagged)
    assert failure_bounds([1.0] * 94, 6).flagged
    assert not failure_bounds([1.0] * 95, 5).flagged


def test_other_scales_have_other_bounds():
    bounds = failure_bounds([3.0], 1, minimum=1, maximum=5)

    assert (bounds.worst, bounds.best) == (2.0, 4.0)


def test_no_samples_or_negative_failures_are_errors():
    with pytest.raises(ValueError, match="no samples"):
        failure_bounds([], 0)
    with pytest.raises(ValueError, match="negative"):
        failure_bounds([1.0], -1)
