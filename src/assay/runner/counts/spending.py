"""Tokens, seconds and cost, summed over all requests, and the limit that `--budget` sets.

`--budget` limits the money, time or tokens of a run. Beyond it, no more requests are
sent. If a run is resumed, the spending of its earlier sessions is included. If a
backend does not report the cost of an answer, the limit cannot be checked, and the run
stops at the first answer.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...core import Usage, UsageError, shorten
from ...core.reasoning import THINK_TAGS, read_think_tags
from ..events import TaskProgress

PRICES = ("price_input", "price_output")
"""Options for prices per million tokens. The forecast of `--dry_run` and the usage report use them."""
COUNTED = ("input_tokens", "output_tokens", "cost")


def count_usage(
    totals: dict[str, float],
    usage: Usage | None,
) -> None:
    """Add the usage of one answer to the totals.

    Counts that the backend does not report are omitted instead of counted as 0.
    """
    if usage is None:
        return
    for name in COUNTED:
        amount = getattr(usage, name)
        if isinstance(amount, (int, float)):  # a user's model may put anything there
            totals[name] = totals.get(name, 0) + amount


def cost_of(
    usage: Mapping[str, Any],
    prices: Mapping[str, Any],
) -> float | None:
    """Return the cost that the backend reported, or else tokens times the run's prices; None if unknown."""
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
    """Return the tokens and cost of all models in one line; empty if the backends reported none."""
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
    """Return the model's own options, excluding those that the runner handles: prices and `think_tags`.

    Raise if these are invalid. Prices are for the forecast and the usage report.
    `think_tags` controls how the runner separates reasoning from answers.
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
    """Measures the usage of one task × model from now on: seconds, throughput, tokens and cost."""

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
        """Return the usage since the start. Tokens are included only if the backend reported them."""
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


Unit = Literal["usd", "seconds", "tokens"]
_AMOUNT = re.compile(
    r"(\d+(?:\.\d+)?)\s*"  # "2.5"
    r"(k|m)?[\s_]*"  # "10 k tokens"
    r"(usd|seconds|sec|s|minutes|min|hours|h|tokens|token)",
    re.IGNORECASE,
)
_UNITS: Mapping[str, tuple[Unit, float]] = {
    "usd": ("usd", 1), "s": ("seconds", 1), "sec": ("seconds", 1), "seconds": ("seconds", 1), "min": ("seconds", 60),
    "minutes": ("seconds", 60), "h": ("seconds", 3600), "hours": ("seconds", 3600), "tokens": ("tokens", 1),
    "token": ("tokens", 1),
}  # fmt: skip
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000}
EXAMPLES = "5usd, 10min or 200k_tokens; several between commas"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Maximum spending of a run in one unit: money, time or tokens."""

    text: str
    """The amount as the user typed it."""
    unit: Unit
    amount: float


def parse_budget(text: str) -> tuple[Allowance, ...]:
    """Parse the limits of `--budget`. Raise for text that is not an amount."""
    return tuple(_parse_amount(piece.strip()) for piece in str(text).split(","))


def _parse_amount(text: str) -> Allowance:
    """Parse one limit, such as `5usd`, `10min` or `200k_tokens`."""
    match = _AMOUNT.fullmatch(text)
    if match is not None:
        number, thousands, unit_name = match.groups(default="")
        unit, size = _UNITS[unit_name.lower()]
        factor = _THOUSANDS[thousands.lower()]
        amount = float(number) * size * factor
        if amount and (unit == "tokens" or not thousands):
            return Allowance(text, unit, amount)
    raise UsageError(f"--budget {shorten(text)} is not an amount", fix=EXAMPLES)


class SpendingLimit:
    """Adds up the spending for models and judges, and reports when the first limit is reached."""

    def __init__(
        self,
        allowances: Sequence[Allowance],
        before: Mapping[Unit, float],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start counting. `before` is the spending of earlier runs in the folder."""
        self._allowances = allowances
        self._spent: dict[Unit, float] = {"usd": 0.0, "tokens": 0.0, **before}
        self._clock = clock
        self._started = clock()
        self._unknown = ""
        self._is_said = False
        self.when_reached: Callable[[str], None] = lambda reason: None
        """Function that is called once with the message of `reached`."""

    def seconds(self) -> float:
        """Return the duration of the run so far in seconds, including earlier sessions."""
        return self._spent.get("seconds", 0.0) + self._clock() - self._started

    def add(
        self,
        usage: Usage | None,
        prices: Mapping[str, Any],
        whose: str,
    ) -> None:
        """Add the tokens and the cost of one answer. `prices` are for a million tokens."""
        tokens, cost = spent_of(usage, prices)
        units = {allowance.unit for allowance in self._allowances}
        if tokens is None and "tokens" in units:
            self._unknown = (
                f"{whose} does not say how many tokens it used;"
                " fix: --budget 10min, or --limit N"
            )
        elif cost is None and "usd" in units:
            options = ",".join(f"{name}=…" for name in PRICES)
            self._unknown = (
                f"what {whose} costs is not known;"
                f" fix: the prices of a million tokens, -a {options}"
            )
        self._spent["tokens"] += tokens or 0.0
        self._spent["usd"] += cost or 0.0
        self.look()

    def look(self) -> None:
        """Call `when_reached` once a limit is reached."""
        if not self._is_said and (reason := self.reached()):
            self._is_said = True
            self.when_reached(reason)

    def reached(self) -> str:
        """Return the reason why no more requests may be sent; empty if no limit is reached."""
        for allowance in self._allowances:
            if allowance.unit != "seconds" and self._unknown:
                return f"--budget {allowance.text}: {self._unknown}"
            if allowance.unit == "seconds":
                spent = self.seconds()
            else:
                spent = self._spent[allowance.unit]
            if spent >= allowance.amount:
                return f"--budget {allowance.text} is spent ({_format_amount(allowance.unit, spent)})"
        return ""


def spent_of(
    usage: Usage | None,
    prices: Mapping[str, Any],
) -> tuple[float | None, float | None]:
    """Return the tokens and the cost of one answer, with None for unknown numbers."""
    if usage is None:
        return None, None
    counts = []
    for count in (usage.input_tokens, usage.output_tokens):
        if isinstance(count, (int, float)):
            counts.append(count)
    plain = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
    }
    return float(sum(counts)) if counts else None, cost_of(plain, prices)


def _format_amount(unit: Unit, amount: float) -> str:
    """Return an amount with its unit as text: `2.5 usd`."""
    if unit == "usd":
        return f"{amount:.4g} usd"
    if unit == "tokens":
        return f"{amount:,.0f} tokens"
    return f"{amount:.3g} s"
