"""Usage: tokens, seconds and throughput of one cell, read from its own records."""

import time
from collections.abc import Mapping
from typing import Any

from .pipeline import CellRun
from .plan import PRICES


class UsageMeter:
    """Measures a cell from its creation on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._cpu = time.process_time()

    def read(self, running: CellRun) -> dict[str, Any]:
        """What the cell took; tokens where the backend counted them."""
        seconds = time.monotonic() - self._started
        asked = running.progress.done - running.progress.reused
        usage: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "cpu_seconds": round(time.process_time() - self._cpu, 3),
            "asked": asked,
            "reused": running.progress.reused,
            "samples_per_second": round(asked / seconds, 3) if seconds > 0 else None,
        }
        usage.update(running.tokens)
        cost = cost_of(usage, running.cell.run.model_args)
        return usage if cost is None else {**usage, "cost": cost}


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
        for name in ("input_tokens", "output_tokens", "cost")
        if any(cell.get(name) is not None for cell in usage.values())
    }
    words = [f"{totals[name]:,.0f} tokens {way}" for name, way in (("input_tokens", "in"), ("output_tokens", "out"))
             if name in totals]  # fmt: skip
    if "cost" in totals:
        words.append(f"cost {totals['cost']:.4f}")
    return ", ".join(words)
