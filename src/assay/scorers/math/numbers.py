"""Numeric answers: the published GSM8K filters, and a comparison of the numbers themselves.

`strict` takes the number after the first `#### `. `flexible` takes the last run of
digits, `$`, `.` and `,`. Both compare *texts*, so `72.0` does not equal `72`. `numeric`
compares numbers. It is an extra metric and never replaces the published ones.

`final_number` finds the number in an answer. `_Golds` compares it with the numbers of
the targets.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, data_error, last_of, named, no_answer, no_target
from ..spans import occurrence_span, with_span
from .final_number import final_match
from .number_compounds import whole_value
from .number_patterns import (
    DECLARED,
    IN_UNITS,
    LEADING_CURRENCY,
    MAX_LENGTH,
    RESTATED,
    UNIT,
    Quantity,
    format_quantity,
    number_pattern,
    read_quantity,
    written_numbers,
)
from .number_text import one_spelling, target_in_digits

_STRICT = re.compile(r"#### (-?[0-9.,]+)")
_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_FINAL_POINT = re.compile(r"\.$")


@scorers.register("gsm8k")
@dataclass(frozen=True)
class Gsm8k:
    """Three metrics of GSM8K answers: lm-eval's filters `strict` and `flexible`, and `numeric`."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        text = output.text
        strict_found = strict_match(text)
        flexible_found = flexible_match(text)
        strict = strict_found[1] if strict_found else None
        flexible = flexible_found[0] if flexible_found else None
        number, is_right, span = _Golds.of(targets).judge(text)
        if flexible is None and number is None:
            silence = no_answer(output) or Score.unparsed()
            return named(silence, "strict", "flexible", "numeric")
        if strict_found:
            span = [*strict_found.span(1)]
        elif flexible_found:
            span = [*flexible_found.span()]
        golds = {_comparable(target) for target in targets}
        values = {
            "strict": float(strict is not None and _comparable(strict) in golds),
            "flexible": float(flexible is not None and _comparable(flexible) in golds),
            "numeric": float(is_right),
        }
        readings = {
            "strict": strict,
            "flexible": flexible,
            "numeric": format_quantity(number),
        }
        return Score(
            values,
            answer=flexible if strict is None else strict,
            details=with_span(readings, span),
        )


@scorers.register("number")
@dataclass(frozen=True)
class NumberMatch:
    """1 if the answer's number, declared or at its end, equals the target's.

    Currency, thousands, percent and fractions are supported. An answer with two alternatives (`17 or 18`) is unparsed.
    A target with several different numbers, none of them declared as the answer, is a data error.
    """

    relative_tolerance: float = 0.0
    """The largest relative error of a right answer; 0 requires equality."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __post_init__(self) -> None:
        if not 0.0 <= self.relative_tolerance < 1.0:
            raise UsageError(
                f"scorer 'number' has a relative_tolerance of {self.relative_tolerance}",
                fix="0 <= relative_tolerance < 1",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.targets:
            return no_target(sample)
        targets = accepted(sample)
        for target in targets:
            if _has_several(target):
                return data_error(f"target {target!r} has several numbers")
        golds = _Golds.of(targets)
        if not golds.numbers:
            return data_error(f"target {sample.target!r} is not a number")
        number, is_right, span = golds.judge(output.text, self.relative_tolerance)
        if number is None:
            return no_answer(output) or Score.unparsed()
        return Score(
            float(is_right),
            answer=format_quantity(number),
            details=with_span({}, span),
        )


@dataclass(frozen=True, slots=True)
class _Golds:
    """The numbers in a sample's targets, and how they are written.

    `has_blanks` and `has_comma` are True if a target has spaces or a decimal comma in
    its number. Only then are these read as part of a number in an answer too.
    """

    numbers: tuple[Quantity, ...]
    has_blanks: bool
    has_comma: bool

    @classmethod
    def of(cls, targets: Iterable[str]) -> "_Golds":
        """Return the numbers of the targets. From a target in two units, `16 oz (1 lb)`, both 16 and 1 are accepted."""
        matches: list[re.Match[str]] = []
        for target in targets:
            for part in _restated(target) or (target,):
                part = target_in_digits(part)
                match = final_match(part, has_blanks=True, has_comma=True)
                if match is not None:
                    matches.append(match)
        spellings = [match["whole"] or match["comma"] or "" for match in matches]
        return cls(
            numbers=tuple(map(read_quantity, matches)),
            has_blanks=any(" " in spelling for spelling in spellings),
            has_comma=any(match["comma"] is not None for match in matches),
        )

    def judge(
        self,
        text: str,
        tolerance: float = 0.0,
    ) -> tuple[Quantity | None, bool, list[int] | None]:
        """Return the number that an answer gives, whether it is right, and its span in the text.

        If the number is wrong and the answer is nothing but one number such as `2,5`,
        try it again with a decimal comma: 2.5.
        """
        match = final_match(text, has_blanks=self.has_blanks, has_comma=self.has_comma)
        if match is None:
            return None, False, None
        number = read_quantity(match)
        span = occurrence_span(text, match.string, match.start(), match[0].strip())
        if self._includes(number, tolerance):
            return number, True, span
        alone = _alone(text)
        if alone is not None and self._includes(alone, tolerance):
            return alone, True, None
        return number, False, span

    def _includes(self, number: Quantity, tolerance: float) -> bool:
        return any(number.equals(gold, tolerance) for gold in self.numbers)


def strict_match(text: str) -> re.Match[str] | None:
    """Return the match of the strict filter. Its group 1 is the number after the first `#### `."""
    return _STRICT.search(text)


def flexible_match(text: str) -> re.Match[str] | None:
    """Return the match of the flexible filter: the last run of digits, `$`, `.` and `,`.

    As in the published filter, `...` without a digit is also a match.
    """
    return last_of(_FLEXIBLE.finditer(text))


def _comparable(text: str) -> str:
    """Return the text that lm-evaluation-harness compares: `#### $1,072.` -> `1072`.

    It removes everything up to the last `#### `, dollar signs, commas and a trailing
    period, and lowers the case.
    """
    bare = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return _FINAL_POINT.sub("", bare).lower()


def _alone(text: str, *, needs_unit: bool = False) -> Quantity | None:
    """Return the number in a text that contains nothing else except a currency or unit:
    `2,5 kg` -> 2.5; None for other texts.

    With `needs_unit`, a number without a unit also gives None.
    """
    stripped = text.strip()
    if len(stripped) > MAX_LENGTH:
        return None
    without_units = IN_UNITS.sub("", one_spelling(stripped).strip())
    bare = LEADING_CURRENCY.sub("", without_units)
    number = number_pattern(True, True).match(bare)
    if number is None:
        return None
    unit = UNIT.fullmatch(bare, number.end())
    if unit is None:
        return None
    has_unit = bool(unit[0].strip(" ."))
    if has_unit or not needs_unit:
        return read_quantity(number)
    return None


def _restated(target: str) -> tuple[str, str] | None:
    """Split a target that gives one quantity in two units: `16 oz (1 lb)` -> (`16 oz `,
    `1 lb`); None for other targets.
    """
    parts = RESTATED.fullmatch(target.strip())
    if parts is None:
        return None
    for part in parts.groups():
        if _alone(part, needs_unit=True) is None:
            return None
    return parts[1], parts[2]


def _has_several(target: str) -> bool:
    """Return True for a target with different numbers, none of them declared as the answer: `3 or 4`."""
    if DECLARED.search(target) or _restated(target):
        return False
    plain = IN_UNITS.sub("", one_spelling(target))
    pattern = number_pattern(True, True)
    first = next(written_numbers(plain, 0, pattern), None)
    if first is None:
        return False
    whole = whole_value(first, pattern)
    evaluated = plain if whole is None else whole.string
    numbers = [read_quantity(match) for match in written_numbers(evaluated, 0, pattern)]
    return any(not number.equals(numbers[0]) for number in numbers)
