"""Spending: tokens, seconds and cost, summed over what models and judges were asked."""

import math
import time
from collections.abc import Mapping
from typing import Any

from ...core import Usage, UsageError, shorten
from ..events import CellProgress

PRICES = ("price_input", "price_output")
"""Of a million tokens, for the forecast of `--dry_run` and for the ledger."""
COUNTED = ("input_tokens", "output_tokens", "cost")


def count_usage(totals: dict[str, float], usage: Usage | None) -> None:
    """Adds what a backend counted for one answer; what it does not say is left out, not taken as nothing."""
    if usage is None:
        return
    for name in COUNTED:
        amount = getattr(usage, name)
        if isinstance(amount, (int, float)):  # a user's model may put anything there
            totals[name] = totals.get(name, 0) + amount


def cost_of(usage: Mapping[str, Any], prices: Mapping[str, Any]) -> float | None:
    """What the backend said it cost, else its tokens at the run's prices (of a million); `None` if nobody knows."""
    if usage.get("cost") is not None:
        return float(usage["cost"])
    cost = 0.0
    for counted, price in zip(("input_tokens", "output_tokens"), PRICES, strict=True):
        if usage.get(counted) is None or prices.get(price) is None:
            return None
        cost += float(usage[counted]) * float(prices[price]) / 1_000_000
    return cost


def spent(usage: Mapping[str, Mapping[str, Any]]) -> str:
    """Tokens and cost of all cells in one line; empty where no backend counted."""
    totals = {
        name: sum(cell[name] for cell in usage.values() if cell.get(name) is not None)
        for name in COUNTED
        if any(cell.get(name) is not None for cell in usage.values())
    }
    words = [
        f"{totals[name]:,.0f} tokens {way}"
        for name, way in (("input_tokens", "in"), ("output_tokens", "out"))
        if name in totals
    ]
    if "cost" in totals:
        words.append(f"cost {totals['cost']:.4f}")
    return ", ".join(words)


def without_prices(args: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are the model's own: what its tokens cost is for whoever counts."""
    for name in PRICES:
        price = args.get(name, 0)
        if not isinstance(price, (int, float)) or not 0 <= price < math.inf:
            raise UsageError(
                f"{name} is {shorten(price)}",
                fix="the price of a million tokens, a number from 0 on",
            )
    return {option: value for option, value in args.items() if option not in PRICES}


class UsageMeter:
    """Measures one cell from its creation on: seconds, throughput, tokens and cost."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._cpu = time.process_time()

    def read(
        self,
        progress: CellProgress,
        tokens: Mapping[str, float],
        remarks: Mapping[str, int],
        prices: Mapping[str, Any],
    ) -> dict[str, Any]:
        """What the cell took; tokens where the backend counted them."""
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
        return usage if cost is None else {**usage, "cost": cost}
