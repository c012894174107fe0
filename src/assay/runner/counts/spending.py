"""Tokens, seconds and cost, summed over all requests to models and judges."""

import math
import time
from collections.abc import Mapping
from typing import Any

from ...core import Usage, UsageError, shorten
from ...core.reasoning import THINK_TAGS, read_think_tags
from ..events import TaskProgress

PRICES = ("price_input", "price_output")
"""Prices of a million tokens, for the forecast of `--dry_run` and for the usage report."""
COUNTED = ("input_tokens", "output_tokens", "cost")


def count_usage(totals: dict[str, float], usage: Usage | None) -> None:
    """Add the usage of one answer. Counts that the backend does not report are left out, not taken as 0."""
    if usage is None:
        return
    for name in COUNTED:
        amount = getattr(usage, name)
        if isinstance(amount, (int, float)):  # a user's model may put anything there
            totals[name] = totals.get(name, 0) + amount


def cost_of(usage: Mapping[str, Any], prices: Mapping[str, Any]) -> float | None:
    """Return the cost that the backend reported, else that of its tokens at the run's prices; None if unknown."""
    if usage.get("cost") is not None:
        return float(usage["cost"])
    cost = 0.0
    kinds = ("input_tokens", "output_tokens")
    for kind, price_name in zip(kinds, PRICES, strict=True):
        tokens = usage.get(kind)
        price = prices.get(price_name)
        if tokens is None or price is None:
            return None
        cost += float(tokens) * float(price) / 1_000_000
    return cost


def spent(usage: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tokens and cost of all models in one line; empty if the backends reported none."""
    totals: dict[str, float] = {}
    for used in usage.values():
        for name in COUNTED:
            if used.get(name) is not None:
                totals[name] = totals.get(name, 0) + used[name]
    words = [
        f"{totals[name]:,.0f} tokens {way}"
        for name, way in (("input_tokens", "in"), ("output_tokens", "out"))
        if name in totals
    ]
    if "cost" in totals:
        words.append(f"cost {totals['cost']:.4f}")
    return ", ".join(words)


def model_options(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the model itself takes. Raise for invalid prices and think tags.

    Prices are for the forecast and the usage report. `think_tags` says how the runner separates
    reasoning from answers.
    """
    read_think_tags(args.get(THINK_TAGS), "--model_args")
    for name in PRICES:
        price = args.get(name, 0)
        if not isinstance(price, (int, float)) or not 0 <= price < math.inf:
            raise UsageError(
                f"{name} is {shorten(price)}",
                fix="the price of a million tokens, a number from 0 on",
            )
    others = (*PRICES, THINK_TAGS)
    return {option: value for option, value in args.items() if option not in others}


class UsageMeter:
    """Measures the usage of one task × model: seconds, throughput, tokens and cost, starting now."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._cpu = time.process_time()

    def read(
        self,
        progress: TaskProgress,
        tokens: Mapping[str, float],
        remarks: Mapping[str, int],
        prices: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the usage; with tokens only if the backend reported them."""
        seconds = time.monotonic() - self._started
        requests = progress.done - progress.reused
        usage: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "cpu_seconds": round(time.process_time() - self._cpu, 3),
            "asked": requests,
            "reused": progress.reused,
            "samples_per_second": round(requests / seconds, 3) if seconds > 0 else None,
            **tokens,
            **remarks,
        }
        cost = cost_of(usage, prices)
        if cost is None:
            return usage
        return {**usage, "cost": cost}
