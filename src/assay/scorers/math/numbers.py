"""Numeric answers: GSM8K as the published harness reads it, and a comparison of numbers beside it.

`strict` takes the first `#### 72`, `flexible` the last thing made of digits, `$`, `.` and `,`; both then compare
*strings*, so `72.0` is not `72` there. `numeric` compares numbers and is reported beside them, never instead.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import ClassVar

from ...core import Output, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, data_error, last_of, named, no_answer, no_target
from ..spans import occurrence_span, with_span
from .number_text import one_spelling
from .number_words import expected_in_digits, in_digits

_STRICT = re.compile(r"#### (-?[0-9.,]+)")
_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_FINAL_POINT = re.compile(r"\.$")
_FIXED_BLANK = "\u00a0\u2009\u202f"
_LETTER = r"[^\W\d_]"
_IN_UNITS = re.compile(
    rf"\^(?:(?<={_LETTER}\^)|(?<={_LETTER}\}}\^))\{{?[-+−]?\d+\}}?"
    rf"|/(?<={_LETTER}/)\d+(?=\s?{_LETTER})"
    r"|(?<![^\s·*/])(?:s|m|K|kg|mol|[cdkm]m|h|min|L)[-−][1-4](?!\w)"
    r"|(?:(?<=\d)|(?<=\d\s))(?:±|\+/-|\\pm)\s?\d+(?:[.,]\d+)?(?=\D|\Z)"
)
"""Digits of a unit, a name or a margin: `m/s^2`, `L/100 km`, `m s-1`, `42 ± 1`."""
_ASIDE = re.compile(
    r"(?<=\d)\s(?:out\s)?of\s(?:(?:the|all|its|these|those)\s)?\d[\d,]*(?!\d|\.\d|%)"
    r"|\((?:check|see|verify|because|since|as\sin|from|between)\b[^()\n]{0,120}\)"
    r"|(?<=\d),?\s(?:because|since)\s[^.;!?\n]{0,120}"
    r"|[;.]\s[^;.!?\n]{0,60}\b(?:confirms|verifies|checks out)\b[^;.!?\n]{0,60}",
    re.IGNORECASE,
)
"""What an answer says beside its number: the whole it is a part of (`3 of the 4`), a check, a reason."""
_UNIT = re.compile(
    rf"\s?(?:(?:{_LETTER}|[$€£¥₹°Ω])(?:{_LETTER}|[/·*²³⁻¹]){{0,15}})?\s?\.?"
)
_CURRENCY = re.compile(r"\A[$€£¥₹]\s")
_RESTATED = re.compile(r"([^()]{1,80})\(([^()]{1,80})\)\.?")


_SCALES = {
    "thousand": 10**3,
    "million": 10**6,
    "millions": 10**6,
    "millionen": 10**6,
    "millones": 10**6,
    "milioni": 10**6,
    "milliard": 10**9,
    "milliards": 10**9,
    "milliarden": 10**9,
    "billion": 10**9,
    "trillion": 10**12,
    "百万": 10**6,
    "千万": 10**7,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
    "만": 10**4,
    "억": 10**8,
}
"""Words that multiply the number before them."""
_FACTOR = r"\\?%|k\b|" + "|".join(
    rf"(?i:{word})\b" if word.isascii() else rf"{word}(?![克米瓦卡帕])"
    for word in sorted(_SCALES, key=len, reverse=True)
)


@cache
def _number(has_blanks: bool, has_comma: bool) -> re.Pattern[str]:
    """How numbers are written: whether blanks may join thousands, and whether a comma may begin decimals.

    Both are also how lists are written (`90 100 110`, `2,5`), so only a gold, or an answer that is one number alone,
    shows which is meant. A blank that does not break lines joins in any case.
    """
    group = f"[{_FIXED_BLANK}{' ' if has_blanks else ''}]"
    comma = r"\d{1,3}(?:\.\d{3})+,\d{1,2}"
    if has_comma:
        comma = rf"\d{{1,3}}(?:(?:\.|{group})\d{{3}})+,\d+|0,\d+|[1-9]\d*,(?:\d{{1,2}}|\d{{4,}})"
    return re.compile(
        r"(?<![\w.])(?P<sign>[-+−]?)[$€£¥₹]?(?P<sign2>-?)(?=\.?\d)"
        r"(?:(?P<units>\d{1,9}) (?P<above>\d{1,3})/(?P<under>\d{1,3})(?![\d/.,]\d|\d)"
        # After a bracket or another number it may be a pair or a list: (3,45).
        rf"|(?<!\d,)(?<![(\[{{])(?P<comma>{comma})(?!\d|[,.]\d)"
        rf"|(?P<whole>\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d{{1,2}}(?:,\d\d){{1,4}},\d{{3}}(?![\d,])"
        # A euro sign behind shows which point it is: 1.200 €.
        r"|\d{1,3}(?:\.\d{3}){2,9}(?!\.?\d)|\d{1,3}\.\d{3}(?=\s?€)|\d{1,3}(?:['’]\d{3}){1,9}(?!\d)"
        rf"|[1-9]\d{{0,2}}(?:{group}\d{{3}})+(?!\d)|\d+)?(?P<part>\.\d+)?"
        r"(?P<power>[eE][-+]?\d{1,3}(?!\d))?(?:\s?/\s?(?P<below>\d{1,40}))?)"
        rf"(?:\s?(?P<factor>{_FACTOR}))?"
    )


_DECLARED = re.compile(
    r"####|\\boxed\s?\{|\banswer(?:\s{1,3}is\b(?!\s{1,3}not\b)|\s{0,3}[:=])"
    r"|答案(?:应[该为]?|就)?(?:是|为|：|:)|(?:答え|正解|解答)(?:は|：|:)|(?:정답|답)(?:은|：|:)|(?P<comma>\b(?:respuesta|resposta|risposta|r[ée]ponse|antwort|antwoord|ответ)\b"
    r"(?:\s{1,2}[^\W\d]{3,12})?\s{0,3}(?:(?:est|es|é|è|ist|is|lautet)\b|[:=—-]))",
    re.IGNORECASE,
)
"""What declares a result. Where the words are those of a language with decimal commas, `3,5` is one number."""
_RESULT = re.compile(
    r"(?:(?!\b(?:because|since|as|so|if|when|where|not|and|but|or)\b)[^\n=;!?]){0,120}?(?:(?<=[\s\d)}A-Za-z%])|^)=\s?"
)
_GOES_ON = re.compile(r"\s?(?:[-+*/×÷·−^]|x\s?\d|\\times)\s?[\d(\\$]")
_OPERATOR = re.compile(r"[-+*/×x÷·⋅−^]|\\(?:times|cdot|div)")
_TURNED = re.compile(
    r"(?:^|[.!?\n]\s?)[^\w\n]{0,9}(?:(?:so|thus|hence|therefore),?\s)?"
    r"(\d{1,40}) = \d{1,40}(?: [-+*/×x÷] \d{1,40}){1,20}\.?\s{0,9}\Z",
    re.IGNORECASE,
)
"""A last sentence that has its result on the left: `So 12 = 3 * 4.`"""
_CORRECTION = re.compile(
    r"[\s,.;–—-]{0,4}(?:(?:no|wait|sorry|actually|or rather|i mean)\b[\s,:;–—-]{0,4}){1,3}(?=[-+$]?\d)",
    re.IGNORECASE,
)
_MAX_DIGITS = 400


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it was written: its value, and what a word or sign after it multiplies it by (`%`, `million`)."""

    value: Fraction
    factor: Fraction = Fraction(1)

    def equals(self, other: "Quantity", relative_tolerance: float = 0.0) -> bool:
        """Whether both mean the same number; where one has a factor, `50%` is both 50 (a unit left out) and 0.5."""
        if self._near(
            self.value * self.factor, other.value * other.factor, relative_tolerance
        ):
            return True
        return 1 in (self.factor, other.factor) and self._near(
            self.value, other.value, relative_tolerance
        )

    @staticmethod
    def _near(left: Fraction, right: Fraction, tolerance: float) -> bool:
        return left == right or (
            tolerance > 0 and abs(left - right) <= Fraction(tolerance) * abs(right)
        )


@scorers.register("gsm8k")
@dataclass(frozen=True)
class Gsm8k:
    """`strict` and `flexible` as the published harness filters GSM8K answers, and `numeric` beside them."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        text = output.text
        declared, last = strict_match(text), flexible_match(text)
        strict, flexible = declared[1] if declared else None, last[0] if last else None
        number, is_right, span = _Golds.of(targets).judge(text)
        span = [*declared.span(1)] if declared else [*last.span()] if last else span
        if flexible is None and number is None:
            silence = no_answer(output) or Score.unparsed()
            return named(silence, "strict", "flexible", "numeric")
        golds = {_comparable(target) for target in targets}
        return Score(
            {
                "strict": float(strict is not None and _comparable(strict) in golds),
                "flexible": float(
                    flexible is not None and _comparable(flexible) in golds
                ),
                "numeric": float(is_right),
            },
            answer=strict if strict is not None else flexible,
            details=with_span(
                {"strict": strict, "flexible": flexible, "numeric": _shown(number)},
                span,
            ),
        )


@scorers.register("number")
@dataclass(frozen=True)
class NumberMatch:
    """1 if the number the answer ends on equals the target's: currency, thousands, percent and fractions read.

    A target with several different numbers, none of them declared as the answer, is a fault of the data.
    """

    relative_tolerance: float = 0.0
    """How far off may still be right, as a share of the target; 0 wants equality."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __post_init__(self) -> None:
        if not 0.0 <= self.relative_tolerance < 1.0:
            raise UsageError(
                f"scorer 'number' cannot allow a relative tolerance of {self.relative_tolerance}",
                fix="0 <= relative_tolerance < 1",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.targets:
            return no_target(sample)
        targets = accepted(sample)
        golds = _Golds.of(targets)
        several = next((target for target in targets if _has_several(target)), None)
        if several is not None or not golds.numbers:
            what = "is not a number" if several is None else "has several numbers"
            return data_error(
                f"target {(sample.target if several is None else several)!r} {what}"
            )
        number, is_right, span = golds.judge(output.text, self.relative_tolerance)
        if number is None:
            return no_answer(output) or Score.unparsed()
        return Score(
            float(is_right), answer=_shown(number), details=with_span({}, span)
        )


@dataclass(frozen=True, slots=True)
class _Golds:
    """The numbers any of which will do, and how they are written: an answer may be written so too."""

    numbers: tuple[Quantity, ...]
    has_blanks: bool
    has_comma: bool

    @classmethod
    def of(cls, targets: Iterable[str]) -> "_Golds":
        """The numbers of targets; one said twice, `16 oz (1 lb)`, is right in both units."""
        parts = [part for target in targets for part in _restated(target) or (target,)]
        found = [match for part in parts if (match := _final(part, True, True))]
        return cls(
            tuple(map(_quantity, found)),
            any(" " in (match["whole"] or match["comma"] or "") for match in found),
            any(match["comma"] is not None for match in found),
        )

    def judge(
        self, text: str, tolerance: float = 0.0
    ) -> tuple[Quantity | None, bool, list[int] | None]:
        """The number of an answer, whether it is right, and where it stands; a lone `2,5` is 2.5 where it is not right
        as a list."""
        found = _final(text, self.has_blanks, self.has_comma)
        if found is None:
            return None, False, None
        number, digits = _quantity(found), found[0].strip()
        span = occurrence_span(text, found.string, found.start(), digits)
        if self._have(number, tolerance):
            return number, True, span
        alone = _alone(text)
        return (
            (alone, True, None)
            if alone is not None and self._have(alone, tolerance)
            else (number, False, span)
        )

    def _have(self, number: Quantity, tolerance: float) -> bool:
        return any(number.equals(gold, tolerance) for gold in self.numbers)


def strict_match(text: str) -> re.Match[str] | None:
    """What follows the first `#### `, as the strict filter takes it, as group 1."""
    return _STRICT.search(text)


def flexible_match(text: str) -> re.Match[str] | None:
    """The last run of digits and money marks, as the flexible filter takes it; it may be only dots."""
    return last_of(_FLEXIBLE.finditer(text))


def _comparable(text: str) -> str:
    """The string the harness compares: commas, `$`, all up to `#### ` and one final point removed."""
    bare = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return _FINAL_POINT.sub("", bare).lower()


def final_number(
    text: str, *, has_blanks: bool = False, has_comma: bool = False
) -> Quantity | None:
    """The number an answer gives: the first after its last declaration (`####`, boxed, "answer is"), else the last."""
    found = _final(text, has_blanks, has_comma)
    return None if found is None else _quantity(found)


def _final(text: str, has_blanks: bool, has_comma: bool) -> re.Match[str] | None:
    text = _ASIDE.sub("", _IN_UNITS.sub("", one_spelling(text)))
    declared = last_of(_DECLARED.finditer(text))
    if declared is not None:
        text = text[: declared.end()] + expected_in_digits(text[declared.end() :])
        is_other = declared["comma"] is not None
        pattern = _number(has_blanks or is_other, has_comma or is_other)
        first = next(_written_numbers(text, declared.end(), pattern), None)
        if first is not None:
            return _corrected(
                text, _result(text, declared.end(), first, pattern), pattern
            )
    pattern = _number(has_blanks, has_comma)
    if turned := _TURNED.search(text):
        return pattern.match(text, turned.start(1))
    return last_of(_written_numbers(text, 0, pattern)) or last_of(
        _written_numbers(in_digits(text), 0, pattern)
    )


def _corrected(
    text: str, found: re.Match[str], pattern: re.Pattern[str]
) -> re.Match[str]:
    """The number that takes the place of a declared one: `7, no, 8`."""
    correction = _CORRECTION.match(text, found.end())
    return (correction and pattern.match(text, correction.end())) or found


def _result(
    text: str, start: int, first: re.Match[str], pattern: re.Pattern[str]
) -> re.Match[str]:
    """The right side of an equation that was declared, `5 + 10 = 15`; of `15 = 5 + 10` the left."""
    found = first
    while equation := _RESULT.match(text, found.end() if found is not first else start):
        number = pattern.match(text, equation.end()) or pattern.match(
            text, equation.end() + 1
        )
        left = text[first.start() : equation.end() - 1]
        is_sum = (
            _OPERATOR.search(left[1:]) is not None or first.start() >= equation.end()
        )
        goes_on = number is not None and _GOES_ON.match(text, number.end()) is not None
        if number is None or (goes_on and not is_sum):
            break
        found = number
        if not goes_on and "=" not in text[number.end() : number.end() + 40]:
            break
    return found


def _alone(text: str, *, needs_unit: bool = False) -> Quantity | None:
    """The number a text is, if it is nothing but one, perhaps with a currency or a unit."""
    bare = _CURRENCY.sub(
        "", _IN_UNITS.sub("", one_spelling(text.strip()[: 2 * _MAX_DIGITS]).strip())
    )
    found = _number(True, True).match(bare)
    if (
        found is None
        or len(text.strip()) > _MAX_DIGITS
        or not (unit := _UNIT.fullmatch(bare, found.end()))
    ):
        return None
    return None if needs_unit and not unit[0].strip(" .") else _quantity(found)


def _restated(target: str) -> tuple[str, str] | None:
    """The two parts of a number with a unit that is said again in another: `16 oz (1 lb)`."""
    parts = _RESTATED.fullmatch(target.strip())
    if parts is None or any(
        _alone(part, needs_unit=True) is None for part in parts.groups()
    ):
        return None
    return parts[1], parts[2]


def _has_several(target: str) -> bool:
    """Whether a target that declares none of its numbers has different ones: nobody can tell which is meant."""
    if _DECLARED.search(target) or _restated(target):
        return False
    plain = _IN_UNITS.sub("", one_spelling(target))
    numbers = [
        _quantity(found) for found in _written_numbers(plain, 0, _number(True, True))
    ]
    return any(not number.equals(numbers[0]) for number in numbers)


def _written_numbers(
    text: str, start: int, pattern: re.Pattern[str]
) -> Iterator[re.Match[str]]:
    # Past that length it is noise, and exact arithmetic on it would cost more than the answer is worth.
    return (
        found
        for found in pattern.finditer(text, start)
        if found.end() - found.start() <= _MAX_DIGITS
    )


def _quantity(found: re.Match[str]) -> Quantity:
    value = _magnitude(found)
    if found["sign"] in ("-", "−") or found["sign2"]:
        value = -value
    return Quantity(value, _factor(found["factor"]))


def _factor(word: str | None) -> Fraction:
    if word is None:
        return Fraction(1)
    return (
        Fraction(1, 100) if "%" in word else Fraction(_SCALES.get(word.lower(), 10**3))
    )


def _magnitude(found: re.Match[str]) -> Fraction:
    if found["units"]:
        return int(found["units"]) + Fraction(
            int(found["above"]), int(found["under"]) or 1
        )
    if found["comma"]:
        units, _, decimals = found["comma"].partition(",")
        return Fraction(Decimal(f"{_digits(units)}.{decimals}"))
    value = Fraction(
        Decimal(
            f"{_digits(found['whole'] or '0')}{found['part'] or ''}{found['power'] or ''}"
        )
    )
    return value / (int(found["below"] or 1) or 1)


def _digits(grouped: str) -> str:
    return "".join(filter(str.isdigit, grouped))


def _shown(number: Quantity | None) -> str | None:
    if number is None:
        return None
    is_percent = number.factor < 1
    return (
        f"{_plain(number.value)}%"
        if is_percent
        else _plain(number.value * number.factor)
    )


def _plain(value: Fraction) -> str:
    """A decimal where it ends within 12 places, else a fraction: `72`, `0.5`, `1/3`."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    text = format(decimal, "f")
    return text if len(text) < 14 and Fraction(decimal) == value else str(value)
