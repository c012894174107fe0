"""Numeric answers: the published GSM8K filters, and a comparison of numbers in addition.

`strict` takes the first `#### 72`, `flexible` the last run of digits, `$`, `.` and `,`; both then compare
*strings*, so `72.0` does not equal `72`. `numeric` compares numbers and is reported in addition, never instead.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from ...core import Output, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, data_error, last_of, named, no_answer, no_target
from ..spans import occurrence_span, with_span
from .number_patterns import (
    AND,
    ASIDE,
    BETWEEN_NUMBERS,
    CHANGES_FROM,
    CORRECTION,
    DECLARED,
    GOES_ON,
    IN_UNITS,
    LEADING_CURRENCY,
    LETTER_SCALES,
    ONLY_A_LIST,
    OPERATOR,
    PERCENT_WORDS,
    RESTATED,
    RESULT,
    SCALES,
    TURNED,
    UNIT,
    number_pattern,
)
from .number_text import (
    expected_in_digits,
    in_digits,
    one_spelling,
    parts_in_digits,
    target_in_digits,
)

_STRICT = re.compile(r"#### (-?[0-9.,]+)")
_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_FINAL_POINT = re.compile(r"\.$")
_MAX_DIGITS = 400
BLANKS = re.compile(r"[ \t]{2,}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number: its value, and the factor of a word or sign after it (`%`, `million`)."""

    value: Fraction
    factor: Fraction = Fraction(1)
    may_be_unit: bool = False
    """Whether the factor is a letter that is a unit as well: `5M` is 5 million or 5 molar."""

    @property
    def is_percent(self) -> bool:
        """True if the number is given in percent, by a sign or a word."""
        return self.factor < 1

    def equals(self, other: "Quantity", relative_tolerance: float = 0.0) -> bool:
        """Return True if both mean the same number.

        `50%` is both 0.5 and 50, since a target may leave the sign out, and `5M` both 5,000,000 and 5, since M may be a
        unit. `5 million` is never 5.
        """
        mine = self.value * self.factor
        others = other.value * other.factor
        if self._near(mine, others, relative_tolerance):
            return True
        marked, bare = (self, other) if other.factor == 1 else (other, self)
        is_sign_optional = marked.is_percent or marked.may_be_unit
        if bare.factor != 1 or not is_sign_optional:
            return False
        return self._near(self.value, other.value, relative_tolerance)

    @staticmethod
    def _near(
        left: Fraction,
        right: Fraction,
        tolerance: float,
    ) -> bool:
        return left == right or (
            tolerance > 0 and abs(left - right) <= Fraction(tolerance) * abs(right)
        )


@scorers.register("gsm8k")
@dataclass(frozen=True)
class Gsm8k:
    """`strict` and `flexible` as the published harness filters GSM8K answers, and in addition `numeric`."""

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
            "numeric": _format_quantity(number),
        }
        return Score(
            values,
            answer=flexible if strict is None else strict,
            details=with_span(readings, span),
        )


@scorers.register("number")
@dataclass(frozen=True)
class NumberMatch:
    """1 if the number at the end of the answer equals the target's.

    Currency, thousands, percent and fractions are read. An answer with one of two numbers (`17 or 18`) is unparsed.
    A target with several different numbers, none of them declared as the answer, is a fault of the data.
    """

    relative_tolerance: float = 0.0
    """The relative error that still counts as right; 0 requires equality."""
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
            answer=_format_quantity(number),
            details=with_span({}, span),
        )


@dataclass(frozen=True, slots=True)
class _Golds:
    """The accepted numbers, and whether they are spelled with blanks or commas, as answers may then be as well."""

    numbers: tuple[Quantity, ...]
    has_blanks: bool
    has_comma: bool

    @classmethod
    def of(cls, targets: Iterable[str]) -> "_Golds":
        """Return the numbers of targets. A number given in two units, `16 oz (1 lb)`, is right in both."""
        matches: list[re.Match[str]] = []
        for target in targets:
            for part in _restated(target) or (target,):
                part = target_in_digits(part)
                match = _final(part, has_blanks=True, has_comma=True)
                if match is not None:
                    matches.append(match)
        spellings = [match["whole"] or match["comma"] or "" for match in matches]
        return cls(
            numbers=tuple(map(_quantity, matches)),
            has_blanks=any(" " in spelling for spelling in spellings),
            has_comma=any(match["comma"] is not None for match in matches),
        )

    def judge(
        self,
        text: str,
        tolerance: float = 0.0,
    ) -> tuple[Quantity | None, bool, list[int] | None]:
        """Return the number that an answer gives, whether it is right, and its span in the text.

        A lone `2,5` is 2.5 if it is not right as a list.
        """
        match = _final(text, has_blanks=self.has_blanks, has_comma=self.has_comma)
        if match is None:
            return None, False, None
        number = _quantity(match)
        span = occurrence_span(text, match.string, match.start(), match[0].strip())
        if self._have(number, tolerance):
            return number, True, span
        alone = _alone(text)
        if alone is not None and self._have(alone, tolerance):
            return alone, True, None
        return number, False, span

    def _have(self, number: Quantity, tolerance: float) -> bool:
        return any(number.equals(gold, tolerance) for gold in self.numbers)


def strict_match(text: str) -> re.Match[str] | None:
    """Return the match of the strict filter: group 1 follows the first `#### `."""
    return _STRICT.search(text)


def flexible_match(text: str) -> re.Match[str] | None:
    """Return the match of the flexible filter: the last run of digits, `$`, `.` and `,` (perhaps only dots)."""
    return last_of(_FLEXIBLE.finditer(text))


def _comparable(text: str) -> str:
    """Return the string the harness compares: commas, `$`, all up to `#### ` and one final point removed."""
    bare = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return _FINAL_POINT.sub("", bare).lower()


def final_number(text: str) -> Quantity | None:
    """Return the number of an answer: the first after its last declaration (`####`, a box), else the last."""
    match = _final(text, has_blanks=False, has_comma=False)
    return None if match is None else _quantity(match)


def _final(
    text: str,
    *,
    has_blanks: bool,
    has_comma: bool,
) -> re.Match[str] | None:
    """Return the number of an answer; `None` if there is none, or if the answer leaves open which of two."""
    text = IN_UNITS.sub("", one_spelling(parts_in_digits(text)))
    text = ASIDE.sub(lambda aside: aside["kept"] or "", text)
    declaration = last_of(DECLARED.finditer(text))
    if declaration is not None:
        start = declaration.end()
        text = text[:start] + one_spelling(expected_in_digits(text[start:]))
        is_european = declaration["comma"] is not None
        pattern = number_pattern(has_blanks or is_european, has_comma or is_european)
        first = next(_written_numbers(text, start, pattern), None)
        if first is not None:
            result = _result(text, start, first, pattern)
            correct = _corrected(text, result, pattern)
            return None if _is_one_of_two(correct, pattern) else correct
    pattern = number_pattern(has_blanks, has_comma)
    turned = TURNED.search(text)
    if turned:
        return pattern.match(text, turned.start(1))
    if ONLY_A_LIST.fullmatch(text):
        return _same_number(list(_written_numbers(text, 0, pattern)))
    last = last_of(_written_numbers(text, 0, pattern))
    if last is None:
        # "negative five" has a sign, too; "five or six" becomes " 5  or  6 ".
        spelled = BLANKS.sub(" ", one_spelling(in_digits(text)))
        last = last_of(_written_numbers(spelled, 0, pattern))
    if last is None or _is_one_of_two(last, pattern):
        return None
    return last


def _same_number(numbers: list[re.Match[str]]) -> re.Match[str] | None:
    """Return the first of some numbers if all are equal; `None` for a list of different numbers."""
    if not numbers:
        return None
    first = _quantity(numbers[0])
    is_same = all(_quantity(number).equals(first) for number in numbers)
    return numbers[0] if is_same else None


def _is_one_of_two(
    number: re.Match[str],
    pattern: re.Pattern[str],
) -> bool:
    """Return True for a number of `17 or 18`, `3-5` or `between 17 and 18`, because the answer does not choose one."""
    text = number.string
    connection = BETWEEN_NUMBERS.match(text, number.end())
    connection = connection or AND.match(text, number.end())
    if connection is not None:
        following = pattern.match(text, connection.end())
        if following is not None and _are_alternatives(number, following):
            return True
    # Only a number just before it can be the other one.
    nearby = _written_numbers(
        text[: number.start()],
        max(0, number.start() - 80),
        pattern,
    )
    before = last_of(nearby)
    return before is not None and _are_alternatives(before, number)


def _are_alternatives(
    first: re.Match[str],
    second: re.Match[str],
) -> bool:
    """Return True if two numbers are joined as alternatives or as the ends of a range, and differ."""
    text = second.string
    if _quantity(first).equals(_quantity(second)):
        return False
    between = text[first.end() : second.start()]
    lead = max(0, first.start() - 20)
    if AND.fullmatch(between):
        return True
    connection = BETWEEN_NUMBERS.fullmatch(between)
    if connection is None:
        return False
    if connection["range"]:
        return CHANGES_FROM.search(text, lead, first.start()) is None
    # 2 hours or 120 minutes: the same again in another unit
    unit = connection["unit"]
    return unit is None or text[second.end() :].lstrip().startswith(unit)


def _corrected(
    text: str,
    declared: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str]:
    """Return the number that replaces a declared one, as in `7, no, 8`, or the declared one."""
    correction = CORRECTION.match(text, declared.end())
    if correction is None:
        return declared
    return pattern.match(text, correction.end()) or declared


def _result(
    text: str,
    start: int,
    first: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str]:
    """Return the right side of a declared equation, `5 + 10 = 15`; the left side of `15 = 5 + 10`."""
    result = first
    position = start
    while equation := RESULT.match(text, position):
        end = equation.end()
        number = pattern.match(text, end) or pattern.match(text, end + 1)
        if number is None:
            break
        left_side = text[first.start() : end - 1]
        is_sum = first.start() >= end or OPERATOR.search(left_side[1:]) is not None
        goes_on = GOES_ON.match(text, number.end()) is not None
        if goes_on and not is_sum:
            break
        result = number
        position = number.end()
        if not goes_on and "=" not in text[position : position + 40]:
            break
    return result


def _alone(text: str, *, needs_unit: bool = False) -> Quantity | None:
    """Return the number that makes up a whole text, perhaps with a currency or a unit; None for any other text."""
    stripped = text.strip()
    if len(stripped) > _MAX_DIGITS:
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
        return _quantity(number)
    return None


def _restated(target: str) -> tuple[str, str] | None:
    """Return both parts of a target that gives one number in two units: `16 oz` and `1 lb` of `16 oz (1 lb)`."""
    parts = RESTATED.fullmatch(target.strip())
    if parts is None:
        return None
    for part in parts.groups():
        if _alone(part, needs_unit=True) is None:
            return None
    return parts[1], parts[2]


def _has_several(target: str) -> bool:
    """Return True for a target with different numbers that declares none of them."""
    if DECLARED.search(target) or _restated(target):
        return False
    plain = IN_UNITS.sub("", one_spelling(target))
    matches = _written_numbers(plain, 0, number_pattern(True, True))
    numbers = [_quantity(match) for match in matches]
    return any(not number.equals(numbers[0]) for number in numbers)


def _written_numbers(
    text: str,
    start: int,
    pattern: re.Pattern[str],
) -> Iterator[re.Match[str]]:
    for number in pattern.finditer(text, start):
        # A longer number is noise, and exact arithmetic on it would be slow.
        if number.end() - number.start() <= _MAX_DIGITS:
            yield number


def _quantity(number: re.Match[str]) -> Quantity:
    value = _magnitude(number)
    if number["sign"] in ("-", "−") or number["sign2"]:
        value = -value
    word = number["factor"] or number["letter"] or number["unit"]
    return Quantity(value, _factor(word), may_be_unit=number["unit"] is not None)


def _factor(word: str | None) -> Fraction:
    """Return the factor of a word or sign after a number."""
    if word is None:
        return Fraction(1)
    if "%" in word or word.lower() in PERCENT_WORDS:
        return Fraction(1, 100)
    return Fraction(LETTER_SCALES.get(word.upper()) or SCALES[word.lower()])


def _magnitude(number: re.Match[str]) -> Fraction:
    """Return the absolute value of a matched number, without a factor such as `million`."""
    if number["units"]:
        # "2 1/3"
        above = int(number["above"])
        under = int(number["under"]) or 1
        return int(number["units"]) + Fraction(above, under)
    if number["comma"]:
        # "3,14"
        units, _, decimals = number["comma"].partition(",")
        return Fraction(Decimal(f"{_digits(units)}.{decimals}"))
    # "1,234.5e3/7"
    units = _digits(number["whole"] or "0")
    part = number["part"] or ""
    power = number["power"] or ""
    decimal = Decimal(units + part + power)
    denominator = int(number["below"] or 1) or 1
    return Fraction(decimal) / denominator


def _digits(grouped: str) -> str:
    return "".join(filter(str.isdigit, grouped))


def _format_quantity(number: Quantity | None) -> str | None:
    if number is None:
        return None
    if number.is_percent:
        return f"{_plain(number.value)}%"
    return _plain(number.value * number.factor)


def _plain(value: Fraction) -> str:
    """Return a value as text: a decimal if that ends within 12 places, else a fraction (`72`, `0.5`, `1/3`)."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    text = format(decimal, "f")
    if len(text) < 14 and Fraction(decimal) == value:
        return text
    return str(value)
