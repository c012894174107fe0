"""The meter: what a model adds while it works."""

import pytest

from assay.core import Meter


def test_a_batch_counts_as_whole_once_it_is_done():
    meter = Meter()

    with meter.batch(8):
        meter.advance(0.25)
        assert meter.ended == 2.0

    assert meter.ended == 8.0


def test_a_batch_that_failed_counts_as_nothing():
    meter = Meter(ended=3.0)

    with pytest.raises(MemoryError), meter.batch(8):
        meter.advance(0.5)
        raise MemoryError

    assert meter.ended == 3.0
