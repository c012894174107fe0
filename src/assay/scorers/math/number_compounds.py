"""Numbers that are only a part of a larger value: the 4 of `3 · 4`, `√4`, `3:1` and `(3, 4)`.

A number is a part if it is joined to something else by an operator, a colon, a prime mark or a letter that is not a
unit. `whole_value` then evaluates plain arithmetic (`3 · 4` is 12, `√4` is 2). Any other compound has no value as
one number (`3:1`, `5'10"`, `2√3`, `(3, 4)`, `1.2.3`), unless the answer restates it: `√2 ≈ 1.41`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from .number_patterns import CURRENCY, LETTER, any_of

_CHARS_AROUND = 200
"""How far to search on each side of a number for other parts of its expression."""

# --- Compounds that are no arithmetic -----------------------------------------------------------

# 0x1F, 2h30, 3m20, but not 25cm2
_HEXADECIMAL = r"\b0x[0-9a-f]+\b"
_UNIT_WITH_EXPONENT = r"(?:[a-z]?m|in|ft)[23]\b"
_DIGITS_AND_LETTERS = any_of(
    _HEXADECIMAL, rf"\b\d+(?!{_UNIT_WITH_EXPONENT}|[ex]\d)[a-z]+\d\w*"
)
# 3:1, 2:3:5, 12:30:45
_RATIO = r"(?<![\w.])\d[\d.,]*(?:[:∶]\d[\d.,]*)+"
# 3 : 1, but not "Étape 3 : 15 pommes"
_SPACED_RATIO = r"(?<![\w.])\d[\d.,]*(?:\s[:∶]\s\d[\d.,]*)+"
# 5'10", 5′ 10″, 40°26'46"
_FEET = r"\d\s?['′’]\s?\d{1,2}(?!\d)"
_DEGREES = r"\d\s?°\s?\d{1,2}(?!\d)"
# 40.7° N, 74.0° W
_LATITUDE = r"\d\s?°?\s?[NS],\s?\d[\d.]*\s?°?\s?[EWO]\b"
# 1.2.3, 14.05.2024, 2024-05-14, 5/14/2024
_VERSION = r"\b\d+([-/.])\d+\1\d+"
_MONTHS = (
    "jan(?:uary|uar|vier)?|enero|feb(?:ruary|ruar|rero)?|février|mar(?:ch|s|zo)?|märz|a[pbv]r(?:il)?|ma[yi]|mayo"
    "|june?|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|août|agosto|sep(?:t|tember|tembre|tiembre)?"
    "|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember|iembre)?|décembre"
)
_MONTH = rf"(?:de\s|of\s)?(?:{_MONTHS})\b\.?,?\s(?:de\s)?"
# 14 May 2024, 14. Mai 2024, 14 de mayo de 2024; May 14, 2024
_DATE = any_of(
    rf"\d{{1,2}}(?:\.|st|nd|rd|th)?\s{_MONTH}\d{{4}}\b",
    rf"\b(?:{_MONTHS})\b\.?\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}}\b",
)
# 1 in 6
_ODDS = r"(?<![\w.])1\sin\s\d+\b"
# 5 TEUR: thousands in German, elsewhere T is a trillion
_T_EURO = r"\d\s?T(?:EUR|€)"
# 17 mod 5
_MODULO = r"\d\s?(?:mod|\\bmod)\s?\d+"
_UNIT_CHAINS = (
    # 1 year 3 months, 2 hours and 30 minutes, 5分30秒
    r"years?|yrs?|jahren?|ans|años?|年|months?|monaten?|mois|mes(?:es)?|个月|月|weeks?|wochen?|semaines?|semanas?"
    r"|days?|d|tagen?|jours?|días?|天|日"
    r"|hours?|hrs?|h|stunden?|std\.?|heures?|horas?|个?小时|时|minutes?|mins?\.?|m|minuten?|minutos?|分钟?"
    r"|seconds?|secs?\.?|s|sekunden?|sek\.?|secondes?|segundos?|秒",
    # 5 feet 10 inches
    "miles?|yards?|yd|feet|foot|ft|inch(?:es)?|in",
    # 1 m 75 cm
    "km|m|cm|mm|meters?|metres?|centimeters?|centimetres?|千米|公里|米|厘米",
    # 3 lb 4 oz, 2 kg 300 g
    "stone|pounds?|lbs?|ounces?|oz|kg|g|kilograms?|grams?",
    # 5 dollars and 25 cents, 5 euros et 20 centimes
    "dollars?|cents?|euros?|centimes?|céntimos?|£|pounds?|pence|元|角",
)
_UNIT_JOIN = r"(?:,?\s(?:and|und|et|y)\s|,?\s?)"
_TWO_UNITS = any_of(
    *(
        rf"\d\s?(?:{units})(?:{_UNIT_JOIN}\d[\d.]*\s?(?:{units})(?!{LETTER}))+"
        for units in _UNIT_CHAINS
    ),
    # $5 and 25 cents
    rf"{CURRENCY}\d+\s(?:and|und|et|y)\s\d+\s(?:cents?|pence|centimes?)\b",
    # 2 h 30
    r"\d\s?h\s?[0-5]\d\b",
)
# 5.4 × 10-10: a power that lost its form
_BROKEN_POWER = r"[×x·]\s?10[-−–]\d+"
# 12 cm x 5 cm, 5 × 3 m
_LENGTH_UNIT = "(?:mm|cm|m|km|px|pixels?|ft|feet|in|inch(?:es)?|meters?|metres?)"
_LENGTH = any_of(_LENGTH_UNIT, rf"\\text\{{\s?{_LENGTH_UNIT}\}}")
_DIMENSIONS = rf"\d\s?{_LENGTH}?\s?(?:x|×|by|\\times)\s?\d[\d.]*\s?{_LENGTH}(?![\w²^])"
# (3, 4), [2, ∞), {3, 5}, (3|4)
_ITEM = r"\s?[-+−]?(?:\\?infty|∞|[a-z]|\$?\d[\d./]*[a-zπ√°%]?)\s?"
_TUPLE = rf"[(\[{{]{_ITEM}(?:[,;|]{_ITEM}){{1,9}}(?:\\|\\right)?[)\]}}]"
# x = 2 and x = 3
_SOLUTIONS = (
    r"\b(?P<x>[a-z])\s?=\s?-?\d[\d./]*"
    r"[\s$),\\]{1,4}(?:and|und|et|y)\s[$(\\]{0,3}"
    r"(?P=x)\s?=\s?-?\d"
)

_NO_ARITHMETIC = tuple(
    re.compile(compound, re.IGNORECASE)
    for compound in (
        _DIGITS_AND_LETTERS,
        _RATIO,
        _SPACED_RATIO,
        _FEET,
        _DEGREES,
        _LATITUDE,
        _VERSION,
        _DATE,
        _ODDS,
        _T_EURO,
        _MODULO,
        _TWO_UNITS,
        _DIMENSIONS,
        _BROKEN_POWER,
        _TUPLE,
        _SOLUTIONS,
    )
)
# Step 3 - 15 apples; Étape 3 : 15 pommes
_LABEL = re.compile(r"(?:^|[^\w])[A-ZÀ-Ý][^\W\d_]+\s\d+\s[-:]\s")

# --- Arithmetic ---------------------------------------------------------------------------------

# a space, with marks of emphasis: **12** × **5**
_GAP = re.compile(r"[*_]{0,3}(?:\\[,;:!]|\s)?[*_]{0,3}")
# not the 2 of H2O, but of \sqrt2
_NOT_IN_WORD = any_of(
    r"(?<![A-Za-z\d.])",
    *(rf"(?<=\\{name})" for name in ("sqrt", "frac", "times", "cdot")),
    r"(?<=\dx)",
)
_DIGITS = r"(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?!\d)"
_STAR = r"(?<=[\d)])\*(?=[\d($])|(?<=\s)\*(?=\s)"
_X = r"(?<=\d)x(?=\d)|(?<=\d\s)x(?=\s\d)"
_FUNCTION = any_of(
    r"\\(?:sin|cos|tan|log|ln|exp)",
    r"\b(?:sin|cos|ln)\b",
    r"\b(?:tan|log_?\d*|exp|max|min|gcd|lcm)(?=\()",
)
_TOKEN = re.compile(
    rf"""
    (?P<number>{_NOT_IN_WORD}{CURRENCY}?{_DIGITS})
    | (?P<power>\^|(?<=[\da-z)])\*\*(?=[\d(]))
    | (?P<times>[×·⋅]|\\times|\\cdot|{_STAR}|{_X})
    | (?P<over>[÷/]|\\div)
    | (?P<plus>\+)
    | (?P<minus>
        (?<=[\w)}}])[-−](?=[\d(\\π√])    # n-1
        | (?<=\s)[-−](?=\s)              # 5 - 3
        | (?<![\w)}}\]])[-−](?=[\d(])     # -3
    )
    | (?P<open>(?:\\left\s?)?[(\[{{])
    | (?P<close>(?:\\right\s?)?[)\]}}])
    | (?P<root>√|∛|\\sqrt|\bsqrt(?=\())
    | (?P<fraction>\\[dtc]?frac(?=\s?\{{)|\\binom(?=\s?\{{))
    | (?P<function>{_FUNCTION})
    | (?P<pi>π|\\pi\b|\bpi\b)
    | (?P<sign>[%°!]|\\%)
    | (?P<word>[^\W\d_]{{2,}}|(?<=\d\s)[A-ZΩ](?=\s[/×÷]\s))
    | (?P<variable>[a-z])
    """,
    re.VERBOSE,
)
_OPERATORS = {"power", "times", "over", "plus", "minus"}
_BEGIN_OPERAND = {"number", "open", "root", "fraction", "function", "pi", "variable"}
_END_OPERAND = {"number", "close", "pi", "variable", "sign"}
_AFTER_NUMBER = {"root", "fraction", "function", "pi"}
_UNIT_OPERATORS = ("/", "·", "⋅", "*", r"\cdot")
_WORD_OPERATORS = ("+", "×", "÷", "·", r"\times", r"\cdot")
# 2(3 + 4), (3)(4), f(3), \frac{1}{2}
_BRACKETS_AFTER = {("number", "("), ("close", "("), ("close", "{"), ("variable", "(")}
_WORD_BEFORE = re.compile(r"[^\W\d_]\s\Z")
# x – 3 × 4, 1 1/2 × 4, 2,5 × 4
_OPERAND_BEFORE = re.compile(
    r"(?:[\w)}\]]\s?(?:[-−–+*/×·⋅÷^]|\*\*)\s?|\d[\s,.])[-−([{]*\Z"
)
# 3 × 4 – 5, 3 × 4 1/2
_OPERAND_AFTER = re.compile(
    r"[)}\]]*\s?(?:[+*/×·⋅÷^]\s?[\w(\\√]|[-−–]\s?[\d(\\√]|(?<=\s)\d)"
)
_HAS_VALUE = re.compile(r"[\w∞]")
_MAX_BITS = 2000
_MAX_TOKENS = 100

# --- The same value once more -------------------------------------------------------------------

_ABOUT = r"(?:(?:about|approximately|roughly|around|ungefähr|environ|约)\s?)?"
_THAT_IS = r"(?:or|i\.e\.,?|that is,?|which is|which equals)\s"
# √2 ≈ 1.41; 5'10" (178 cm); 3/4 · π, or about 2.36
_LINK_AFTER = any_of("[=≈≃~(]", r"\\approx", r"\\simeq", _THAT_IS, r"is\s")
_RESTATES_AFTER = re.compile(
    rf"[\s$)}},\\]{{0,4}}{_LINK_AFTER}\s?{_ABOUT}[\s$]{{0,2}}", re.IGNORECASE
)
# 150 minutes, or 2 hours and 30 minutes; 18 boys (the ratio is 2:3); 3 primes (2, 3, 5)
_LINK_BEFORE = any_of("=", r"\([^()\d\n]{0,30}", _THAT_IS)
_RESTATES_BEFORE = re.compile(
    rf"(?<![\w.:])[$€£]?\d[\d,.]*(?:\s?{LETTER}{{2,15}})?,?\s?{_LINK_BEFORE}\s?{_ABOUT}\Z",
    re.IGNORECASE,
)


class _NotPlain(ValueError):
    """Raised for an expression that is not plain arithmetic, or whose value is not rational."""


def whole_value(
    number: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str] | None:
    """Return the match of the whole value that a number is part of: 12 for the 4 of `3 · 4`.

    If the number is not part of anything, return its match unchanged. Return None for a
    combination that has no value as one number, such as `3:1`.
    """
    value = _value(number, pattern)
    if isinstance(value, re.Match):
        return value
    for restated in _restated_numbers(number.string, *value, pattern):
        value = _value(restated, pattern)
        if isinstance(value, re.Match):
            return value
    return None


def _value(
    number: re.Match[str],
    pattern: re.Pattern[str],
) -> re.Match[str] | tuple[int, int]:
    """Return the match of a number or of its expression's value. Without a single
    value, return the expression's span.
    """
    text = number.string
    start, end = _surroundings(number)
    compound = _compound_without_arithmetic(number, start, end)
    if compound is not None:
        return compound
    tokens = _expression(number, start, end)
    if not tokens:
        return number
    start, end = tokens[0].start(), tokens[-1].end()
    value = _evaluate(tokens)
    if value is None or _is_cut(text, start, end):
        return start, end
    evaluated = f"{text[:start]} {value}{text[end:]}"
    return pattern.match(evaluated, start + 1) or (start, end)


def _surroundings(number: re.Match[str]) -> tuple[int, int]:
    """Return the span of the line of a number, cut to `_CHARS_AROUND` characters on each side."""
    text = number.string
    line_start = text.rfind("\n", 0, number.start()) + 1
    line_end = text.find("\n", number.end())
    if line_end < 0:
        line_end = len(text)
    return (
        max(line_start, number.start() - _CHARS_AROUND),
        min(line_end, number.end() + _CHARS_AROUND),
    )


# --- Find the compound --------------------------------------------------------------------------


def _compound_without_arithmetic(
    number: re.Match[str],
    start: int,
    end: int,
) -> tuple[int, int] | None:
    """Return the span of a ratio, date, tuple or the like around a number; None if there is none."""
    text = number.string
    for compound in _NO_ARITHMETIC:
        for match in compound.finditer(text, start, end):
            if match.end() <= number.start() or number.end() <= match.start():
                continue
            rest = (
                text[match.start() : number.start()] + text[number.end() : match.end()]
            )
            if _HAS_VALUE.search(rest) and not _is_label(text, match.start()):
                return match.span()
    return None


def _is_label(text: str, start: int) -> bool:
    """Return True if the number only labels the words after it: the 3 of `Step 3 - 15 apples`."""
    label = _LABEL.search(text, max(0, start - 20), start + 20)
    return label is not None and label.start() < start < label.end()


def _expression(
    number: re.Match[str],
    start: int,
    end: int,
) -> list[re.Match[str]]:
    """Return the tokens of the expression that a number is a part of; an empty list for a number on its own."""
    text = number.string
    tokens = list(_TOKEN.finditer(text, start, end))
    inside = [
        index
        for index, token in enumerate(tokens)
        if token.start() < number.end() and number.start() < token.end()
    ]
    if not inside:
        return []
    first, last = inside[0], inside[-1]
    while first > 0 and _are_joined(tokens[first - 1], tokens[first]):
        first -= 1
    while last + 1 < len(tokens) and _are_joined(tokens[last], tokens[last + 1]):
        last += 1
    expression = _trim(tokens[first : last + 1])
    if not expression or _is_label(text, expression[0].start()):
        return []
    is_more = (
        expression[0].start() < number.start() or expression[-1].end() > number.end()
    )
    return expression if is_more else []


def _is_cut(text: str, start: int, end: int) -> bool:
    """Return True if an expression has more operands before or after it, in a notation that cannot be read here."""
    before = _OPERAND_BEFORE.search(text, max(0, start - 10), start)
    return before is not None or _OPERAND_AFTER.match(text, end) is not None


def _are_joined(left: re.Match[str], right: re.Match[str]) -> bool:
    """Return True if two tokens that follow each other belong to one expression."""
    gap = left.string[left.end() : right.start()]
    if _GAP.fullmatch(gap) is None:
        return False
    before, after = left.lastgroup, right.lastgroup
    if before in _OPERATORS:
        return _takes_operand(left, right)
    if after in _OPERATORS:
        return _takes_operator(left, right)
    if after == "close":
        return before in _END_OPERAND
    if before in ("open", "root", "fraction", "function"):
        return after in _BEGIN_OPERAND
    if after == "open":
        return not gap and (before, right[0]) in _BRACKETS_AFTER
    if after == "variable":
        return not gap and before in ("number", "close", "pi")
    if after in _AFTER_NUMBER:
        return before in ("number", "close")
    return before == "number" and after in ("word", "sign")


def _takes_operand(operator: re.Match[str], operand: re.Match[str]) -> bool:
    """Return True if an operator and what follows it belong to one expression."""
    kind = operand.lastgroup
    if kind == "word":
        # 5 + tax, but not 18+ years and 3 × faster
        is_spaced = operator.string[operator.start() - 1].isspace()
        return is_spaced and operator.lastgroup == "plus"
    if kind == "variable":
        # $5/h, N·m: a unit
        return operator[0] not in _UNIT_OPERATORS
    return kind in _BEGIN_OPERAND or kind == "minus"


def _takes_operator(operand: re.Match[str], operator: re.Match[str]) -> bool:
    """Return True if an operator and what precedes it belong to one expression."""
    kind = operand.lastgroup
    if kind == "open":
        return operator.lastgroup == "minus"
    if kind == "word":
        # 12 V / 4 Ω, but not L/100 km
        is_spaced = operand.end() < operator.start()
        return operator[0] in _WORD_OPERATORS or (operator[0] == "/" and is_spaced)
    if operator.lastgroup == "minus" and operand.end() < operator.start():
        return kind in _END_OPERAND and _is_binary_minus(operand, operator)
    return kind in _END_OPERAND


def _is_binary_minus(left: re.Match[str], minus: re.Match[str]) -> bool:
    """Return True for the minus of `5 - 3` and `x - 3`, but not of `5 -3` or of `option c - 50 m/s`."""
    if not minus.string[minus.end() :].startswith(" "):
        return False
    is_letter = left.lastgroup == "variable"
    if not is_letter:
        return True
    lead = left.string[max(0, left.start() - 2) : left.start()]
    return _WORD_BEFORE.search(lead) is None


def _trim(tokens: list[re.Match[str]]) -> list[re.Match[str]]:
    """Remove tokens around an expression that do not belong to it: a bullet, a dash, a unit, an unmatched bracket."""
    trimmed = list(tokens)
    while trimmed:
        partner = _partner_of_first(trimmed)
        if trimmed[0].lastgroup == "open" and partner == len(trimmed) - 1:
            trimmed = trimmed[1:-1]
        elif _can_drop_first(trimmed, partner):
            del trimmed[0]
        elif _can_drop_last(trimmed):
            del trimmed[-1]
        else:
            break
    return trimmed


def _can_drop_first(tokens: list[re.Match[str]], partner: int | None) -> bool:
    """Return True if the first token is a bullet or an unmatched bracket."""
    first = tokens[0]
    kind = first.lastgroup
    if kind == "open":
        return partner is None
    if kind == "minus" and len(tokens) > 1:
        is_spaced = tokens[1].start() > first.end()
        # COVID-19
        is_hyphen = first.start() > 0 and first.string[first.start() - 1].isalnum()
        return is_spaced or is_hyphen
    return kind in _OPERATORS or kind == "close"


def _can_drop_last(tokens: list[re.Match[str]]) -> bool:
    """Return True if the last token is a dash, a unit, an exclamation mark, or an unmatched bracket."""
    kind = tokens[-1].lastgroup
    if kind == "close":
        return _depth(tokens) < 0
    if kind == "word" and len(tokens) > 1:
        return tokens[-2].lastgroup in ("number", "close")
    if kind == "variable":
        # 5m, but not 3 + 4i
        return len(tokens) == 2 and tokens[0].lastgroup == "number"
    is_mark = kind == "sign" and "%" not in tokens[-1][0]
    return kind in _OPERATORS or kind == "open" or is_mark


def _depth(tokens: list[re.Match[str]]) -> int:
    """Return the number of brackets that tokens open and do not close."""
    kinds = [token.lastgroup for token in tokens]
    return kinds.count("open") - kinds.count("close")


def _partner_of_first(tokens: list[re.Match[str]]) -> int | None:
    """Return the index of the bracket that closes the first one; None if there is none."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth -= 1
        if depth <= 0:
            return index
    return None


def _restated_numbers(
    text: str,
    start: int,
    end: int,
    pattern: re.Pattern[str],
) -> Iterator[re.Match[str]]:
    """Yield numbers that have the same value as the expression next to them: 1.41 in
    `√2 ≈ 1.41`, 150 in `150 minutes, or 2 h 30 min`.
    """
    after = _RESTATES_AFTER.match(text, end)
    if after is not None:
        number = pattern.match(text, after.end())
        if number is not None:
            yield number
    lead = start + 1 if text[start] == "(" else start
    before = _RESTATES_BEFORE.search(text, max(0, start - _CHARS_AROUND), lead)
    if before is not None:
        number = pattern.search(text, before.start())
        if number is not None:
            yield number


# --- Evaluate it --------------------------------------------------------------------------------


def _evaluate(tokens: list[re.Match[str]]) -> Fraction | None:
    """Return the value of plain arithmetic; None for anything else, such as `2√3` or `x + 3`."""
    kinds = [token.lastgroup for token in tokens if token[0] not in "()"]
    if kinds == ["number", "minus", "number"] and not _is_in_braces(tokens[0]):
        # It may be a range or a dash.
        return None
    if "sign" in kinds and {"plus", "minus"} & set(kinds):
        # 100 + 5%
        return None
    if len(tokens) > _MAX_TOKENS:
        return None
    parser = _Parser(tokens)
    try:
        value = parser.sum()
    except _NotPlain:
        return None
    return value if parser.position == len(tokens) else None


def _is_in_braces(token: re.Match[str]) -> bool:
    """Return True if a brace opens just before a token: `\\boxed{20 - 5}`."""
    return token.string[: token.start()].endswith("{")


@dataclass(slots=True)
class _Parser:
    """Evaluates tokens by recursive descent: a sum of products of powers."""

    tokens: list[re.Match[str]]
    position: int = 0

    def sum(self) -> Fraction:
        """Return the value of `2 × 3 + 4 - 5`."""
        value = self.product()
        while operator := self.take("plus", "minus"):
            operand = self.product()
            value += operand if operator == "plus" else -operand
        return value

    def product(self) -> Fraction:
        """Return the value of `2 × 3 ÷ 4`, and of `2(3 + 4)`."""
        value = self.power()
        while True:
            operator = self.take("times", "over")
            if operator is None and self.kind() not in ("open", "root", "fraction"):
                return value
            operand = self.power()
            if operator != "over":
                value *= operand
            elif operand == 0:
                raise _NotPlain
            else:
                value /= operand

    def power(self) -> Fraction:
        """Return the value of `1.05^3`, and of `-3`."""
        if self.take("minus"):
            return -self.power()
        base = self.operand()
        if self.take("power") is None:
            return base
        sign = -1 if self.take("minus") else 1
        exponent = sign * self.operand()
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        is_small = abs(exponent) * bits <= _MAX_BITS
        if exponent.denominator != 1 or not is_small or (base == 0 and exponent < 0):
            raise _NotPlain
        return Fraction(base**exponent.numerator)

    def operand(self) -> Fraction:
        """Return the value of a number, a group in brackets, a square root or a fraction."""
        kind = self.take("number", "open", "root", "fraction")
        token = self.tokens[self.position - 1]
        if kind == "number":
            value = Fraction(re.sub(r"[^\d.eE+-]", "", token[0]))
            return value / 100 if self.take("sign") else value
        if kind == "open":
            return self.closed(token[0][-1])
        if kind == "root" and token[0] != "∛":
            return _square_root(self.operand())
        if kind == "fraction" and token[0] != r"\binom":
            above = self.operand()
            below = self.operand()
            if below != 0:
                return above / below
        raise _NotPlain

    def closed(self, opening: str) -> Fraction:
        """Return the value of a group in brackets, after its opening bracket was read."""
        value = self.sum()
        if opening == "[" or self.take("close") is None:
            raise _NotPlain
        return value

    def take(self, *kinds: str) -> str | None:
        """Return the kind of the next token and move on, if it is one of `kinds`."""
        kind = self.kind()
        if kind not in kinds:
            return None
        self.position += 1
        return kind

    def kind(self) -> str | None:
        """Return the kind of the next token; None at the end."""
        if self.position == len(self.tokens):
            return None
        return self.tokens[self.position].lastgroup


def _square_root(value: Fraction) -> Fraction:
    """Return the square root of a square: 3/2 of 9/4."""
    if value < 0:
        raise _NotPlain
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    if root * root != value:
        raise _NotPlain
    return root
