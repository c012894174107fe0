"""`--budget`: how much money, time or tokens a run may spend before it stops asking.

The spending of earlier sessions of a resumed run counts, too. If backends do not report the cost of an answer, the
limit cannot be checked, and the run stops at its first answer rather than overspend.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...core import Usage, UsageError, shorten
from .spending import PRICES, cost_of

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
    """The limit of one unit."""

    text: str
    """The amount as typed."""
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
    """Counts what models and judges cost, and reports when a limit is reached."""

    def __init__(
        self,
        allowances: Sequence[Allowance],
        before: Mapping[Unit, float],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start counting. `before` is what earlier runs in the folder spent."""
        self._allowances = allowances
        self._spent: dict[Unit, float] = {"usd": 0.0, "tokens": 0.0, **before}
        self._clock = clock
        self._started = clock()
        self._unknown = ""
        self._is_said = False
        self.when_reached: Callable[[str], None] = lambda reason: None
        """Called once, with the sentence from `reached`."""

    def seconds(self) -> float:
        """Return the seconds of the run so far, including earlier sessions."""
        return self._spent.get("seconds", 0.0) + self._clock() - self._started

    def add(self, usage: Usage | None, prices: Mapping[str, Any], whose: str) -> None:
        """Count one answer. `prices` are for a million tokens."""
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
        """Call `when_reached` if the limit is reached, once."""
        if not self._is_said and (reason := self.reached()):
            self._is_said = True
            self.when_reached(reason)

    def reached(self) -> str:
        """Return why nothing more may be asked; empty if the limit is not reached."""
        for allowance in self._allowances:
            if allowance.unit != "seconds" and self._unknown:
                return f"--budget {allowance.text}: {self._unknown}"
            if allowance.unit == "seconds":
                spent = self.seconds()
            else:
                spent = self._spent[allowance.unit]
            if spent >= allowance.amount:
                return f"--budget {allowance.text} is spent ({_shown(allowance.unit, spent)})"
        return ""


def spent_of(
    usage: Usage | None,
    prices: Mapping[str, Any],
) -> tuple[float | None, float | None]:
    """Return tokens and cost of one answer; None for an unknown one."""
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


def _shown(unit: Unit, amount: float) -> str:
    """Return an amount with its unit."""
    if unit == "usd":
        return f"{amount:.4g} usd"
    if unit == "tokens":
        return f"{amount:,.0f} tokens"
    return f"{amount:.0f} s"
