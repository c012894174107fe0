"""How numbers are written in answers: patterns of numbers and of the words around them, and the value of a match.

The sections are in the order in which `final_number` uses them. `read_quantity` at the end converts a match of
`number_pattern` to its value.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache


def any_of(*alternatives: str) -> str:
    """Return a pattern that matches one of the alternatives."""
    return f"(?:{'|'.join(alternatives)})"


FIXED_BLANK = "\u00a0\u2009\u202f"
"""Non-breaking spaces. They may always separate thousands."""
LETTER = r"[^\W\d_]"
CURRENCY = "[$€£¥₹]"

# --- Digits that are no answer ------------------------------------------------------------------

# m/s^2, cm^{3}
_OF_UNIT = any_of(rf"(?<={LETTER}\^)", rf"(?<={LETTER}\}}\^)")
_EXPONENT = rf"\^{_OF_UNIT}\{{?[-+−]?\d+\}}?"
# L/100 km
_PER = rf"/(?<={LETTER}/)\d+(?=\s?{LETTER})"
# m s-1
_SYMBOL = any_of("s", "m", "K", "kg", "mol", "[cdkm]m", "h", "min", "L")
_NEGATIVE_POWER = rf"(?<![^\s·*/]){_SYMBOL}[-−][1-4](?!\w)"
# 42 ± 1, 42 +/- 0.5
_BEHIND_DIGIT = any_of(r"(?<=\d)", r"(?<=\d\s)")
_PLUS_MINUS = any_of("±", r"\+/-", r"\\pm")
_MARGIN = rf"{_BEHIND_DIGIT}{_PLUS_MINUS}\s?\d+(?:[.,]\d+)?(?=\D|\Z)"

IN_UNITS = re.compile("|".join((_EXPONENT, _PER, _NEGATIVE_POWER, _MARGIN)))
"""Digits that do not belong to the value itself but to a unit or an error margin:
`m/s^2`, `L/100 km`, `m s-1`, `42 ± 1`.
"""

# 3 of the 4, 3 out of 4
_ARTICLE = any_of("the", "all", "its", "these", "those")
_OF_ALL = rf"(?<=\d)\s(?:out\s)?of\s(?:{_ARTICLE}\s)?\d[\d,]*(?!\d|\.\d|%)"
# (check: 3 * 4 = 12)
_REASON_WORD = any_of(
    "check",
    "see",
    "verify",
    "because",
    "since",
    r"as\sin",
    "from",
    "between",
)
_IN_BRACKETS = rf"\({_REASON_WORD}\b[^()\n]{{0,120}}\)"
# 15 students (10 boys, 5 girls); $15 (3 × $5)
_UP_TO_BRACKET = r"(?P<kept>(?!\()\s?[^\d.,;:!?()\n]{0,25})"
_TWO_NUMBERS = (
    r"(?=[^()=\n]*\d[^()=\n]*[^\W\d_][^()=\n]*\d|[^()=\n]*\d\s?[-+*×/–]\s?[$€£]?\d)"
)
_BREAKDOWN = rf"(?<=\d){_UP_TO_BRACKET}\({_TWO_NUMBERS}[^()=\n]{{1,120}}\)"
# (not 17); , not 17; rather than 17; instead of 17
_DENIED = any_of("not", r"rather\sthan", r"instead\sof")
_INSTEAD = rf",?\s?\(?\b{_DENIED}\s{CURRENCY}?\d(?:[\d,.]*\d)?\b\)?"
# 12, because 3 * 4 is 12
_REASON = r"(?<=\d),?\s(?:because|since)\s[^.;!?\n]{0,120}"
# 12; 3 * 4 confirms it
_CONFIRMS = any_of("confirms", "verifies", "checks out")
_CHECK = rf"[;.]\s[^;.!?\n]{{0,60}}\b{_CONFIRMS}\b[^;.!?\n]{{0,60}}"

# x ≡ 2 (mod 7)
_MODULUS = r"(?<=\d)\s?(?:\(mod\s?\d+\)|\\pmod\s?\{?\d+\}?)"

ASIDE = re.compile(
    "|".join((_OF_ALL, _IN_BRACKETS, _BREAKDOWN, _INSTEAD, _REASON, _CHECK, _MODULUS)),
    re.IGNORECASE,
)
"""Words around a number that add information but do not change the number.

Examples are a total (`3 of the 4`), a check, the parts of a sum, a reason, a rejected
number (`not 17`) and a modulus (`2 (mod 7)`). The group `kept` has the words between a
number and its parts.
"""

# --- A number with nothing else -----------------------------------------------------------------

_UNIT_START = any_of(LETTER, "[$€£¥₹°Ω]")
_UNIT_REST = any_of(LETTER, "[/·*²³⁻¹]")
UNIT = re.compile(rf"\s?(?:{_UNIT_START}{_UNIT_REST}{{0,15}})?\s?\.?")
LEADING_CURRENCY = re.compile(rf"\A{CURRENCY}\s")
# 16 oz (1 lb)
RESTATED = re.compile(r"([^()]{1,80})\(([^()]{1,80})\)\.?")

# --- What multiplies a number -------------------------------------------------------------------

SCALE_WORDS = {
    100: "hundred",
    10
    ** 3: """thousand tausend tsd mille mila mil tys tysięcy duizend tusen bin ribu nghìn ngàn тыс тысяча тысячи тысяч
        ألف हज़ार हजार 千 천""",
    10**4: "万 萬 만",
    10**5: "lakh lakhs लाख 十万",
    10
    ** 6: """million millions millionen millones millón milioni milione milhão milhões mn mio mln miljoen miljoner
        miljon milyon triệu juta млн миллион миллиона миллионов مليون 百万 백만""",
    10**7: "crore crores करोड़ 千万 천만",
    10**8: "亿 億 억",
    10
    ** 9: """milliard milliards milliarden miliardi billion billions bn mrd mld bilhão bilhões miljard miljarder
        milyar miliar tỷ млрд миллиард миллиарда миллиардов مليار 十亿""",
    10**10: "百亿",
    10**11: "千亿",
    10**12: "tn trillion trillions billionen billón billones 兆 조 万亿 萬億",
}
"""Factors of words that multiply the number before them (`hundred`, `million`), in several languages."""
SCALES = {
    word: factor for factor, words in SCALE_WORDS.items() for word in words.split()
}
SCALES |= {"mil millones": 10**9, "mil millions": 10**9}
DOZEN_WORDS = "dozen dozens dutzend douzaine douzaines docena docenas dúzia dúzias 打"
DOZENS = dict.fromkeys(DOZEN_WORDS.split(), 12)
"""Words for twelve. A question may ask for them as a unit, so `3 dozen` is 36 or 3."""
SCALES |= DOZENS
LETTER_SCALES = {"K": 10**3, "M": 10**6, "MM": 10**6, "B": 10**9, "T": 10**12}
LETTER_SCALES |= {"MD": 10**9, "MDS": 10**9}
"""Factors of letters after a number.

Capital letters are also units. With a currency or before something counted, they are
scales (`$5M`, `5M people`). Directly after any other number they may be either (`5M`).
After a space they are units (`300 K`).
"""
PERCENT_WORDS = ("percent", "per cent", "pct", "prozent", "por ciento", "pour cent")


_HAN_OR_HANGUL = re.compile(r"[\u3400-\u9fff\uac00-\ud7af]")


def _scale_word(word: str) -> str:
    """Return the pattern of a scale word such as `million`. Chinese units such as 千克
    (kilogram) contain none: 千 is not matched.
    """
    if _HAN_OR_HANGUL.match(word):
        return rf"{word}(?![克米瓦卡帕])"
    return rf"(?i:{word})(?!\w)"


_LONGEST_FIRST = sorted(SCALES, key=len, reverse=True)
_PERCENT = "|".join(rf"(?i:{word})\b" for word in PERCENT_WORDS)
# 20K dollars, 5M people, 5 M€
_COUNTED = r"(?:us )?dollars?|usd|euros?|eur|pounds?|gbp|yen|yuan|rupees?|people|users"
_LETTER_OF_SCALE = "|".join(
    (
        *(
            r"k\b",
            rf"[KMBTmb](?=\s(?i:{_COUNTED})\b)",
            rf"[KMBT](?=\s?{CURRENCY}(?!\d))",
        ),
        # 5 MUSD, 5 kEUR
        r"[kKMB](?=(?:USD|EUR|GBP|CHF|SEK|NOK|DKK|JPY|CNY|RMB)\b)",
        # 5 Md€, 5 Mds d'euros
        r"Mds?(?=\s?(?:[€$]|d['’]euros?\b|de\s))",
    )
)
FACTOR = "|".join(
    (r"\\?%", _PERCENT, _LETTER_OF_SCALE, *map(_scale_word, _LONGEST_FIRST))
)

# --- Numbers ------------------------------------------------------------------------------------

_SIGNS = rf"(?P<sign>[-+−]?)(?P<money>{CURRENCY})?(?P<sign2>-?)(?=\.?\d)"
# 1 1/2
_MIXED = (
    r"(?P<units>\d{1,9}) (?P<above>\d{1,3})/(?P<under>\d{1,3})"
    r"(?![\d/.,]\d|\d)"
)
# 1.234,56
_POINTS_AND_COMMA = r"\d{1,3}(?:\.\d{3})+,\d{1,2}"
# 1,234,567
_COMMAS = r"\d{1,3}(?:,\d{3})+(?!\d)"
# 12,34,567
_INDIAN = r"\d{1,2}(?:,\d\d){1,4},\d{3}(?![\d,])"
# 1.234.567
_POINTS = r"\d{1,3}(?:\.\d{3}){2,9}(?!\.?\d)"
# 1.200 €: the currency symbol shows that the point joins thousands
_BEFORE_EURO = r"\s?(?:€|(?i:euros?|eur)\b)"
_EURO = rf"(?={_BEFORE_EURO})"
_EURO_POINT = rf"\d{{1,3}}\.\d{{3}}{_EURO}"
# 12,50 €, 3,2 Md€: the currency symbol shows that the comma begins decimals
_EURO_COMMA = rf"\d{{1,9}},\d{{1,2}}(?=(?:\s?(?:Mrd|Mio|Md|Mds|M|k)\.?)?{_BEFORE_EURO})"
# 1 000, 10 050: a group that begins with 0 is not a separate number; 1 500 €: nor is one before a currency symbol
_ZERO_GROUP = r"[1-9]\d{0,2}(?: \d{3})* 0\d\d(?: \d{3})*(?!\d)"
_EURO_BLANK = rf"[1-9]\d{{0,2}}(?: \d{{3}})+{_EURO}"
# 1'234'567
_APOSTROPHES = r"\d{1,3}(?:['’]\d{3}){1,9}(?!\d)"
_POWER = r"(?P<power>[eE][-+]?\d{1,3}(?!\d))?"
_DENOMINATOR = r"(?:\s?/\s?(?P<below>\d{1,40}))?"


@cache
def number_pattern(has_blanks: bool, has_comma: bool) -> re.Pattern[str]:
    """Return the pattern of a number.

    With `has_blanks`, spaces may separate thousands: `90 100` is one number. With
    `has_comma`, a comma may be the decimal mark: `2,5` is one number. But `90 100` and
    `2,5` may also be lists. So a caller sets these options only if the target is
    written in this way, or if the text is a single number.
    """
    blank = f"[{FIXED_BLANK}{' ' if has_blanks else ''}]"
    comma = f"{_POINTS_AND_COMMA}|{_EURO_COMMA}"
    if has_comma:
        grouped = rf"\d{{1,3}}(?:(?:\.|{blank})\d{{3}})+,\d+"
        comma = "|".join(
            (grouped, _EURO_COMMA, r"0,\d+", r"[1-9]\d*,(?:\d{1,2}|\d{4,})")
        )
    blanks = rf"[1-9]\d{{0,2}}(?:{blank}\d{{3}})+(?!\d)"
    # After a bracket or another number it may be a pair or a list: (3,45).
    with_comma = rf"(?<!\d,)(?<![(\[{{])(?P<comma>{comma})(?!\d|[,.]\d)"
    whole = "|".join(
        (
            *(_COMMAS, _INDIAN, _POINTS, _EURO_POINT, _APOSTROPHES),
            *(_ZERO_GROUP, _EURO_BLANK, blanks, r"\d+"),
        )
    )
    with_point = rf"(?P<whole>{whole})?(?P<part>\.\d+)?{_POWER}{_DENOMINATOR}"
    digits = any_of(_MIXED, with_comma, with_point)
    # $5M, $5 M, £5m, $5MM, but not the formula $5m$
    money_letter = r"(?:\s(?=[KMBT]))?(?P<letter>[KMBTmbt]|MM)(?!\$)"
    letter = rf"(?(money){money_letter}|(?P<unit>[KMBT]))(?!\w)"
    factor = rf"(?:\s?(?P<factor>{FACTOR})|{letter})?"
    return re.compile(rf"(?<![\w.]){_SIGNS}{digits}{factor}")


# --- What declares a result ---------------------------------------------------------------------

# The answer is 42; answer: 42; {"answer": 42}
_ANSWER = r"\banswer(?:\s{1,3}is\b(?!\s{1,3}not\b)|[\"']?\s{0,3}[:=])"
# 答案是42, 答えは42, 정답은 42
_CHINESE = r"答案(?:应[该为]?|就)?(?:是|为|：|:)"
_JAPANESE = r"(?:答え|正解|解答)(?:は|：|:)"
_KOREAN = r"(?:정답|답)(?:은|：|:)"
# La respuesta es 3,5; Die Antwort lautet: 3,5
_EUROPEAN_ANSWER = any_of(
    "respuesta",
    "resposta",
    "risposta",
    "r[ée]ponse",
    "antwort",
    "antwoord",
    "ответ",
)
_EUROPEAN_IS = any_of(
    any_of("est", "es", "é", "è", "ist", "is", "lautet") + r"\b", "[:=—-]"
)
_EUROPEAN = rf"(?P<comma>\b{_EUROPEAN_ANSWER}\b(?:\s{{1,2}}[^\W\d]{{3,12}})?\s{{0,3}}{_EUROPEAN_IS})"

DECLARED = re.compile(
    "|".join(
        ("####", r"\\boxed\s?\{", _ANSWER, _CHINESE, _JAPANESE, _KOREAN, _EUROPEAN)
    ),
    re.IGNORECASE,
)
"""Words that declare a result. If their language has decimal commas, `3,5` after them is one number."""

_CLAUSE_WORD = any_of(
    "because",
    "since",
    "as",
    "so",
    "if",
    "when",
    "where",
    "not",
    "and",
    "but",
    "or",
)
_SAME_CLAUSE = rf"(?:(?!\b{_CLAUSE_WORD}\b)[^\n=;!?]){{0,120}}?"
# … 5 + 10 =
RESULT = re.compile(rf"{_SAME_CLAUSE}(?:(?<=[\s\d)}}A-Za-z%])|^)=\s?")
GOES_ON = re.compile(r"\s?(?:[-+*/×÷·−^]|x\s?\d|\\times)\s?[\d(\\$]")
OPERATOR = re.compile(r"[-+*/×x÷·⋅−^]|\\(?:times|cdot|div)")

_SENTENCE_START = r"(?:^|[.!?\n]\s?)[^\w\n]{0,9}"
_CONCLUDING = r"(?:(?:so|thus|hence|therefore),?\s)?"
_OPERATION = r"(?:\s?[-+*/×x÷]\s?\d{1,40}){1,20}"
TURNED = re.compile(
    rf"{_SENTENCE_START}{_CONCLUDING}(\d{{1,40}}) = \d{{1,40}}{_OPERATION}\.?\s{{0,9}}\Z",
    re.IGNORECASE,
)
"""A final sentence that gives the result before the equals sign: `So 12 = 3 * 4.`"""

# 7, no, 8; 7 — or rather 8
_RETRACTION = any_of(
    "no",
    "wait",
    "sorry",
    "actually",
    "or rather",
    "i mean",
    "correction",
)
CORRECTION = re.compile(
    rf"[\s,.;–—-]{{0,4}}(?:{_RETRACTION}\b[\s,:;–—-]{{0,4}}){{1,3}}(?=[-+$]?\d)",
    re.IGNORECASE,
)

# --- One of two numbers -------------------------------------------------------------------------

# 17 or 18, 17 apples or 18 apples, 17 or maybe 18, 17 oder 18
_OR = any_of("or", "oder", "ou", "或者?", "または", "또는", "или")
_ALTERNATIVE = (
    rf"(?:\s(?P<unit>{LETTER}{{1,15}}))?,?\s?{_OR}\s?(?:(?!rather){LETTER}{{1,12}}(?:\s|(?==)))?"
    r"(?:=\s?)?"  # x = 2 or x = -2
)
# 3-5, 3–5, 3 – 5, 3 to 5, 3到5; 3 zu 1, 3比1
_RANGE = any_of("[-–—~～〜]", r"\s[–—]\s", r"\s(?:to|bis|zu|à|a)\s", r"\s?[到至比]\s?")
BETWEEN_NUMBERS = re.compile(
    any_of(_ALTERNATIVE, rf"(?P<range>{_RANGE})"), re.IGNORECASE
)
"""The words between two numbers that are alternatives (`17 or 18`) or the ends of a range (`3 to 5`)."""
AND = re.compile(r"\s(?:and|und|et|y)\s", re.IGNORECASE)
# 17, 18; $17 and $18; 40, 41 and 42
_LISTED = rf"[*_`]{{0,3}}[-+−]?{CURRENCY}?\d[\d.]*[*_`]{{0,3}}"
_LIST_JOIN = any_of(r"\s?[,;]\s", r",?\s(?:and|und|et|y|&)\s", r"\s?[、和と]\s?")
ONLY_A_LIST = re.compile(rf"\W*{_LISTED}(?:{_LIST_JOIN}{_LISTED})+\W*", re.IGNORECASE)
"""An answer that consists of a list of numbers."""
DECLARED_LIST = re.compile(
    rf"[^\w\n+-]*{_LISTED}(?:{_LIST_JOIN}{_LISTED})+[^\w\n]*(?:\n|\Z)", re.IGNORECASE
)
"""The rest of a line that declares several numbers: `The answer is 3, 5.`"""
# from 3 to 5: a change, whose end is the result; but "es de 3 a 2"
CHANGES_FROM = re.compile(
    r"(?<!\bes )(?<!\best )\b(?:from|von|de|从)\s?\Z", re.IGNORECASE
)

# --- The value of a number ----------------------------------------------------------------------

MAX_LENGTH = 400
"""Maximum characters of a number. Longer ones are skipped."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written, and the factor of the word or symbol after it: `5 million` is 5 with factor 1,000,000."""

    value: Fraction
    factor: Fraction = Fraction(1)
    may_be_unit: bool = False
    """Whether the factor may also be a unit: `5M` is 5 million or 5 molar, `3 dozen` is 36 or 3."""

    @property
    def is_percent(self) -> bool:
        """True if the number is given in percent, by a symbol or a word."""
        return self.factor < 1

    def equals(self, other: "Quantity", relative_tolerance: float = 0.0) -> bool:
        """Return True if both are the same number, with an error of at most `relative_tolerance` times `other`.

        `50%` equals 0.5 and also 50, because a target may omit the symbol. `5M` equals 5,000,000 and also 5, because M
        may be a unit. `5 million` never equals 5.
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


def written_numbers(
    text: str,
    start: int,
    pattern: re.Pattern[str],
) -> Iterator[re.Match[str]]:
    """Yield the matches of `number_pattern` in a text from `start` on, in order."""
    for number in pattern.finditer(text, start):
        # A longer number is noise, and exact arithmetic on it would be slow.
        if number.end() - number.start() <= MAX_LENGTH:
            yield number


def read_quantity(number: re.Match[str]) -> Quantity:
    """Return the number and the factor in a match of `number_pattern`.

    Examples: `-1/2` is -1/2, `50%` is 50 with the factor 1/100.
    """
    value = _magnitude(number)
    if number["sign"] in ("-", "−") or number["sign2"]:
        value = -value
    word = number["factor"] or number["letter"] or number["unit"]
    may_be_unit = number["unit"] is not None or (word or "").lower() in DOZENS
    return Quantity(value, _factor(word), may_be_unit=may_be_unit)


def _factor(word: str | None) -> Fraction:
    """Return the factor of a word or symbol after a number: `million` -> 1,000,000, `%` -> 1/100."""
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
    """Return the digits of a number without the marks between groups: `1,234` -> `1234`."""
    return "".join(filter(str.isdigit, grouped))


def format_quantity(number: Quantity | None) -> str | None:
    """Return a number as text: `50%`, or `5000000` for `5 million`. Return None if `number` is None."""
    if number is None:
        return None
    if number.is_percent:
        return f"{_plain(number.value)}%"
    return _plain(number.value * number.factor)


def _plain(value: Fraction) -> str:
    """Return a value as text: a decimal if a short one is exact, otherwise a fraction (`72`, `0.5`, `1/3`)."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    text = format(decimal, "f")
    if len(text) < 14 and Fraction(decimal) == value:
        return text
    return str(value)
