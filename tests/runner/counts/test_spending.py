"""Tokens and cost: what the backend said, else its tokens at the run's prices; nothing invented."""

import pytest

from assay.core import Usage
from assay.runner.counts.spending import cost_of, count_usage, spent


@pytest.mark.parametrize(
    ("usage", "prices", "cost"),
    [
        (
            {"cost": 0.5, "input_tokens": 10, "output_tokens": 10},
            {"price_input": 9, "price_output": 9},
            0.5,
        ),
        (
            {"input_tokens": 1_000_000, "output_tokens": 500_000},
            {"price_input": 2, "price_output": 8},
            6.0,
        ),
        (
            {"input_tokens": 1_000_000, "output_tokens": 500_000},
            {"price_input": 2},
            None,
        ),
        ({"input_tokens": 1_000_000}, {"price_input": 2, "price_output": 8}, None),
        (
            {"input_tokens": 0, "output_tokens": 0},
            {"price_input": 2, "price_output": 8},
            0.0,
        ),
    ],
    ids=("told", "by prices", "half a price", "half a count", "nothing"),
)
def test_the_cost_is_reported_or_computed_from_prices(usage, prices, cost):
    assert cost_of(usage, prices) == cost


def test_usage_of_all_models_is_summed_in_one_line():
    usage = {
        "a/m": {"input_tokens": 1200, "output_tokens": 30, "cost": 0.25},
        "b/m": {"input_tokens": 800, "output_tokens": None},
    }

    assert spent(usage) == "2,000 tokens in, 30 tokens out, cost 0.2500"


def test_without_token_counts_no_usage_is_printed():
    assert spent({"a/m": {"seconds": 1.0}}) == ""


def test_counts_that_a_backend_does_not_report_are_left_out():
    totals: dict[str, float] = {}

    for usage in (Usage(10, None), None, Usage(5, 2, cost=0.1)):
        count_usage(totals, usage)

    assert totals == {"input_tokens": 15, "output_tokens": 2, "cost": 0.1}
