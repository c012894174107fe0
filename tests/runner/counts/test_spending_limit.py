"""How much a run may spend: amounts as they are typed, and when it is enough."""

import pytest

from assay.core import Usage, UsageError
from assay.runner.counts.spending import SpendingLimit, parse_budget

AMOUNTS = {
    "5usd": ("usd", 5), "0.5 USD": ("usd", 0.5), "10min": ("seconds", 600), "90s": ("seconds", 90),
    "1.5h": ("seconds", 5400),
    "200k_tokens": ("tokens", 200_000), "2m_tokens": ("tokens", 2_000_000), "500 tokens": ("tokens", 500),
}  # fmt: skip
WRONG = (
    "5",
    "5euro",
    "",
    "usd",
    "-5usd",
    "0usd",
    "10m",
    "5kusd",
    "2kmin",
    "5usd;10min",
    "nan usd",
    "1e3usd",
)


def test_amounts_are_read_as_people_type_them():
    for text, (unit, amount) in AMOUNTS.items():
        [found] = parse_budget(text)
        assert (found.unit, found.amount) == (unit, amount), text
    assert [one.unit for one in parse_budget("5usd, 10min,200k_tokens")] == [
        "usd",
        "seconds",
        "tokens",
    ]


def test_what_is_not_an_amount_is_one_line_with_examples():
    for text in WRONG:
        with pytest.raises(
            UsageError, match=r"is not an amount; fix: 5usd, 10min or 200k_tokens"
        ):
            parse_budget(text)


def limit(text, before=(), clock=lambda: 0.0):
    return SpendingLimit(parse_budget(text), dict(before), clock=clock)


def test_tokens_of_models_and_of_earlier_runs_count():
    spending = limit("200 tokens", {"tokens": 90.0})

    spending.add(Usage(80, 20), {}, "m")
    assert spending.reached() == ""
    spending.add(Usage(5, 5), {}, "m")

    assert spending.reached() == "--budget 200 tokens is spent (200 tokens)"


def test_money_is_what_the_backend_says_or_tokens_at_the_prices_given():
    spending = limit("1usd")

    spending.add(Usage(1000, 0, cost=0.5), {}, "m")
    spending.add(Usage(100_000, 50_000), {"price_input": 2.5, "price_output": 5}, "m")

    assert spending.reached() == "--budget 1usd is spent (1 usd)"


def test_time_runs_by_itself_and_is_added_to_that_of_earlier_runs():
    now = [100.0]
    spending = limit("1min", {"seconds": 50.0}, clock=lambda: now[0])

    now[0] = 109.0
    assert spending.reached() == ""
    now[0] = 111.0

    assert spending.reached() == "--budget 1min is spent (61 s)"


def test_a_limit_that_cannot_be_watched_ends_with_the_first_answer():
    money, tokens, minutes = limit("1usd"), limit("5k_tokens"), limit("1min")

    for spending in (money, tokens, minutes):
        spending.add(None, {}, "my_model")

    assert (
        "what my_model costs is not known; fix: the prices of a million tokens, -a price_input=…"
        in money.reached()
    )
    assert "my_model does not say how many tokens it used" in tokens.reached()
    assert minutes.reached() == ""


def test_waiting_callers_are_notified_once():
    told = []
    spending = limit("10 tokens")
    spending.when_reached = told.append

    for _ in range(3):
        spending.add(Usage(10, 0), {}, "m")

    assert told == ["--budget 10 tokens is spent (10 tokens)"]
