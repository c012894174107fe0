"""The order of groups in a breakdown."""

import pytest

from assay.summarizers.breakdown import in_order


@pytest.mark.parametrize(
    "values",
    [
        ["100", "400", "1600"],
        ["-2", "0.25", "0.5", "1e3"],
        ["step 2", "step 10", "the end"],
        ["", "A", "B2", "B10", "b"],
        ["5", "10", "nan"],
    ],
)
def test_groups_stand_in_the_order_of_their_numbers(values):
    assert in_order(reversed(values)) == values
