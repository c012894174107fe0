"""Numeric answers: GSM8K as the published harness reads it, and a comparison of numbers beside it.

`strict` takes the first `#### 72`, `flexible` the last thing made of digits, `$`, `.` and `,`; both then compare
*strings*, so `72.0` is not `72` there. `numeric` compares numbers and is reported beside them, never instead.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from ..core import Outcome, Output, Sample, Score, UsageError
from ..registry import scorers
from .answers import accepted, last_of, named, no_answer, no_target

_STRICT = re.compile(r"#### (-?[0-9.,]+)")
_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_FINAL_POINT = re.compile(r"\.$")
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-+−]?)[$€£¥₹]?(?P<sign2>-?)(?=\.?\d)"
    r"(?P<whole>\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?P<part>\.\d+)?(?P<power>[eE][-+]?\d{1,3}(?!\d))?"
    r"(?:\s?/\s?(?P<below>\d{1,40}))?\s?(?P<percent>\\?%)?"
)
_DECLARED = re.compile(r"####|\\boxed\s?\{|\banswer(?:\s{1,3}is|\s{0,3}[:=])|答案(?:是|为|：|:)", re.IGNORECASE)
_MAX_DIGITS = 400


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it was written: its value, and whether a percent sign followed."""

    value: Fraction
    is_percent: bool = False

    def equals(self, other: "Quantity", relative_tolerance: float = 0.0) -> bool:
        """Whether both mean the same number; `50%` is both 50 (a unit left out) and 0.5."""
        if self._near(self.value, other.value, relative_tolerance):
            return True
        if self.is_percent == other.is_percent:
            return False
        left = self.value / 100 if self.is_percent else self.value
        right = other.value / 100 if other.is_percent else other.value
        return self._near(left, right, relative_tolerance)

    @staticmethod
    def _near(left: Fraction, right: Fraction, tolerance: float) -> bool:
        return left == right or (tolerance > 0 and abs(left - right) <= Fraction(tolerance) * abs(right))


@scorers.register("gsm8k")
@dataclass(frozen=True)
class Gsm8k:
    """`strict` and `flexible` as the published harness filters GSM8K answers, and `numeric` beside them."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        text = output.text
        strict, flexible, number = strict_match(text), flexible_match(text), final_number(text)
        if flexible is None and number is None:
            silence = no_answer(output) or Score.unparsed()
            return named(silence, "strict", "flexible", "numeric")
        golds = {_comparable(target) for target in targets}
        numbers = [gold for target in targets if (gold := final_number(target))]
        return Score(
            {
                "strict": float(strict is not None and _comparable(strict) in golds),
                "flexible": float(flexible is not None and _comparable(flexible) in golds),
                "numeric": float(number is not None and any(number.equals(gold) for gold in numbers)),
            },
            answer=strict if strict is not None else flexible,
            details={"strict": strict, "flexible": flexible, "numeric": _shown(number)},
        )


@scorers.register("number")
@dataclass(frozen=True)
class NumberMatch:
    """1 if the number the answer ends on equals the target's: currency, thousands, percent and fractions read."""

    relative_tolerance: float = 0.0
    """How far off may still be right, as a share of the target; 0 wants equality."""
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not 0.0 <= self.relative_tolerance < 1.0:
            raise UsageError(
                f"scorer 'number' cannot allow a relative tolerance of {self.relative_tolerance}",
                fix="0 <= relative_tolerance < 1",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.targets:
            return no_target(sample)
        golds = [gold for target in accepted(sample) if (gold := final_number(target))]
        if not golds:
            return Score(None, Outcome.DATA_ERROR, details={"reason": f"target {sample.target!r} is not a number"})
        number = final_number(output.text)
        if number is None:
            return no_answer(output) or Score.unparsed()
        is_right = any(number.equals(gold, self.relative_tolerance) for gold in golds)
        return Score(float(is_right), answer=_shown(number))


def strict_match(text: str) -> str | None:
    """What follows the first `#### `, as the strict filter takes it."""
    found = _STRICT.search(text)
    return found[1] if found else None


def flexible_match(text: str) -> str | None:
    """The last run of digits and money marks, as the flexible filter takes it; it may be only dots."""
    last = last_of(_FLEXIBLE.finditer(text))
    return last[0] if last else None


def _comparable(text: str) -> str:
    """The string the harness compares: commas, `$`, all up to `#### ` and one final point removed."""
    bare = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return _FINAL_POINT.sub("", bare).lower()


def final_number(text: str) -> Quantity | None:
    """The number an answer gives: the first after its last declaration (`####`, boxed, "answer is"), else the last."""
    declared = last_of(_DECLARED.finditer(text))
    if declared is not None:
        first = next(_written_numbers(text, declared.end()), None)
        if first is not None:
            return _quantity(first)
    last = last_of(_written_numbers(text, 0))
    return None if last is None else _quantity(last)


def _written_numbers(text: str, start: int) -> Iterator[re.Match[str]]:
    # Past that length it is noise, and exact arithmetic on it would cost more than the answer is worth.
    return (found for found in _NUMBER.finditer(text, start) if found.end() - found.start() <= _MAX_DIGITS)


def _quantity(found: re.Match[str]) -> Quantity:
    whole, part = found["whole"] or "0", found["part"] or ""
    value = Fraction(Decimal(f"{whole.replace(',', '')}{part}{found['power'] or ''}"))
    below = int(found["below"] or 1) or 1
    if found["sign"] in ("-", "−") or found["sign2"]:
        value = -value
    return Quantity(value / below, found["percent"] is not None)


def _shown(number: Quantity | None) -> str | None:
    return None if number is None else f"{_plain(number.value)}{'%' if number.is_percent else ''}"


def _plain(value: Fraction) -> str:
    """A decimal where it ends within 12 places, else a fraction: `72`, `0.5`, `1/3`."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    text = format(decimal, "f")
    return text if len(text) < 14 and Fraction(decimal) == value else str(value)
