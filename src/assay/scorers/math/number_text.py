"""Convert numbers to one spelling: fractions, powers and full-width digits, and numbers in words.

Only the spelling changes, never a value. A text without such forms is returned
unchanged.

Number words become digits: English and Chinese numerals of any size, and small numbers
in other languages. `one` and `一` also have other meanings ("this one", 一共), so they are
converted only where a number is expected: if they are the whole answer, or directly
after words that declare the answer.
"""

import re
import unicodedata
from math import factorial

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile(r"[⁰¹²³⁴-⁹⁻⁺]+")
_VULGAR = re.compile(r"(\d?)([¼-¾⅐-⅞↉])")
_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Scripts that put no space between a word and a number: Thai, Lao, Burmese, Khmer, kana, Han, Hangul."""
_BESIDE_SCRIPT = re.compile(rf"(?<=[{_SCRIPTS}：，。（「『])(?=[-−+$€£¥₹]?\.?\d)")
_TEX_FRACTION = re.compile(
    r"(\d?)\\[dtc]?frac"  # the 2 of 2\frac34
    r"(?:\s?\{\s?(-?\d{1,40})\s?\}|\s?(\d))"  # {3}, 3
    r"(?:\s?\{\s?(\d{1,40})\s?\}|\s?(\d))"  # {4}, 4
)
_NOT_AFTER_NUMBER = r"(?<![\d)}%] )"
_NOT_AFTER_LETTER = r"(?<!\b[A-Za-z] )"
_MINUS = re.compile(
    rf"{_NOT_AFTER_NUMBER}{_NOT_AFTER_LETTER}"
    r"\b(?:minus|negative|moins|menos|meno)\s{1,2}"
    r"(?=[$€£¥₹]?\.?\d)",  # before "5", "$5", ".5"
    re.IGNORECASE,
)
"""A word for a minus sign: `minus 3`. After a number or a letter it means a subtraction: `10 minus 3`."""
_MINUS_HAN = re.compile(r"(?:负|負|マイナス)(?=\.?\d)")
_TEX_GROUP = re.compile(r"(?<=\d)(?:\{,\}|\\[,!])(?=\d{3}(?!\d))")
_TIMES = r"\s?(?:[×xX*·⋅]|\\times|\\cdot)\s?"
_POWER_OF_TEN = re.compile(
    rf"(?:(?<![\d.,])(?P<digits>\d{{1,15}}(?:\.\d{{1,15}})?){_TIMES})?"  # "1.5 × "
    r"(?<![\d.])10\s?(?:\^|\*\*)\s?"  # "10^", "10 ** "
    r"[{(]?\s?(?P<power>[-+−]?\d{1,3})(?!\d|\.\d)[})]?"  # "3", "{-3}"
)
_SMALL_POWER = re.compile(
    r"(?<![\w.,^)}])(?:\((?P<signed>-\d{1,4})\)|(?P<base>\d{1,4}))\s?(?:\^|\*\*)\s?"
    r"(?:\{\s?(?P<braced>\d{1,2})\s?\}|(?P<exponent>\d{1,2}))(?![\w.,^]?\d|[A-Za-z])"
)
"""A power of small whole numbers: `2^3`, `2^{10}`, `2**10`, `(-2)^3`."""
_FACTORIAL = re.compile(r"(?<![\w.,])(\d{1,2})!(?!!)")
# 5! = 120, 5!/3, "5! ways", "it is 5!.", $5!$, \boxed{5!}
_SENTENCE_GOES_ON = re.compile(
    r"\s?(?:[-+*/×·÷=]|\\times|\\cdot)\s?[\d(\\]|\s[a-z]|[.,;:$}]"
)
_BEHIND_FACTORIAL = re.compile(r"\d!\s?[-+*/×·÷(]\s?\Z")
_JOINED = re.compile(r"(?<=\d)_(?=\d{3}(?!\d))")
"""An underscore between thousands: `5_000_000`."""
_UNDERLINED = re.compile(r"(?<![^\s(*`\"'])_{1,2}(?=[-+−$€£¥₹]?\d)")
"""Underscores that emphasize a number: `__42__`."""
_TIME = re.compile(r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])")
"""A time of day or a duration in hours and minutes. A ratio such as 3:4 is not a time."""


# 3億2000万, 1万5千, 1万5000
_HAN_SUM = re.compile(
    r"(?<![\d.,])(?=\d{1,5}[億亿万萬]\d)"
    r"(?:(\d{1,5})[億亿])?(?:(\d{1,4})[万萬])?(?:(\d)千)?(\d{1,4})?(?![\d.,]?\d|[万萬億亿千])"
)
_HAN_FACTORS = (10**8, 10**4, 10**3, 1)


def _han_sum(match: re.Match[str]) -> str:
    """Return the value of a number with several Chinese units: 3万2千 -> 32000."""
    parts = zip(match.groups(), _HAN_FACTORS, strict=True)
    return str(sum(int(digits) * factor for digits, factor in parts if digits))


def one_spelling(text: str) -> str:
    """Convert numbers in a text to plain ASCII: digits of other scripts, fractions, powers, factorials and LaTeX."""
    if not text.isascii():
        text = _RAISED.sub(
            lambda raised: "^" + raised[0].translate(_SUPERSCRIPTS), text
        )
        text = _VULGAR.sub(_fraction, text)
        text = "".join(
            _digit(character)
            if character.isdigit() and not character.isascii()
            else character
            for character in text
        )
        text = (
            text.replace("．", ".")
            .replace("，", ",")
            .replace("－", "-")
            .replace("％", "%")
            .replace("＝", "=")
        )
        text = text.replace("＋", "+").replace("／", "/").replace("\u2044", "/")
        text = _HAN_SUM.sub(_han_sum, text)
        text = _BESIDE_SCRIPT.sub(" ", _MINUS_HAN.sub("-", text))
    if "\\" in text or "{" in text:
        text = _TEX_GROUP.sub(",", text)
        text = _TEX_FRACTION.sub(_tex_fraction, text)
    if "10" in text and ("^" in text or "**" in text):
        text = _POWER_OF_TEN.sub(
            lambda power: (
                f"{power['digits'] or '1'}e{power['power'].replace('−', '-')}"
            ),
            text,
        )
    if "^" in text or "**" in text:
        text = _SMALL_POWER.sub(_power, text)
    if "!" in text:
        text = _FACTORIAL.sub(_factorial, text)
    if "_" in text:
        text = _UNDERLINED.sub("", _JOINED.sub("", text))
    if ":" in text:
        text = _TIME.sub(r"\1 \2/60", text)
    return _MINUS.sub("-", text)


def _power(match: re.Match[str]) -> str:
    """Return the value of a power of whole numbers: `2^3` -> `8`."""
    base = int(match["signed"] or match["base"])
    return str(base ** int(match["braced"] or match["exponent"]))


def _factorial(match: re.Match[str]) -> str:
    """Return the value of a factorial: `5!` -> `120`. A number at the end of an exclamation is unchanged.

    It is a factorial if the sentence continues after it, if it follows another factorial
    (`5!/3!`), or if an equation has its value (`120 = 5!`).
    """
    value = str(factorial(int(match[1])))
    before = match.string[max(0, match.start() - 200) : match.start()]
    is_factorial = (
        re.search(rf"(?<!\d){value}\s?=\s?\Z", before)
        or _BEHIND_FACTORIAL.search(before)
        or _SENTENCE_GOES_ON.match(match.string, match.end())
    )
    return value if is_factorial else match[0]


def target_in_digits(target: str) -> str:
    """Return a target with its factorials as numbers. In targets, `!` is never an exclamation mark."""
    return _FACTORIAL.sub(lambda match: str(factorial(int(match[1]))), target)


def _fraction(found: re.Match[str]) -> str:
    """Return a fraction character as `1/2`, with a space after the whole number before it: `2½` -> `2 1/2`."""
    parts = unicodedata.normalize("NFKC", found[2]).replace("\u2044", "/")
    if found[1]:
        return f"{found[1]} {parts}"
    return parts


def _tex_fraction(found: re.Match[str]) -> str:
    """Return a LaTeX fraction as `3/4`, with a space after a whole number: `2\\frac34` -> `2 3/4`."""
    return f"{found[1]}{' ' if found[1] else ''}{found[2] or found[3]}/{found[4] or found[5]}"


def _digit(one: str) -> str:
    """Return a digit of another script as an ASCII digit: `٣` -> `3`."""
    value = unicodedata.decimal(one, None)
    if value is None:
        return one
    return str(value)


_UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = """twenty thirty forty fifty sixty seventy eighty ninety"""
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_ENGLISH = {word: value for value, word in enumerate(_UNITS.split())}
_ENGLISH |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
_OTHER = {
    word: value
    for words in (
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro une deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "zero um dois três quatro cinco seis sete oito nove dez onze doze",
        "ноль один два три четыре пять шесть семь восемь девять десять",
    )
    for value, word in enumerate(words.split())
}
_HAN = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
}
_HAN_SCALES = {
    "十": 10,
    "百": 100,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "亿": 10**8,
    "億": 10**8,
}

_WORD = "|".join(sorted(_ENGLISH, key=len, reverse=True))
_FURTHER = rf"(?:-|\s(?:and\s)?|,\s)(?:{_WORD}|{'|'.join(_SCALES)})"
_PHRASE = rf"\b(?:a (?:hundred|thousand|million)|{_WORD})(?:{_FURTHER})*\b(?!-)"
_HAN_PHRASE = f"[{''.join(_HAN)}{''.join(_HAN_SCALES)}]+"
_SPELLED = re.compile(rf"{_PHRASE}|{_HAN_PHRASE}", re.IGNORECASE)
_SPELLED_ANYWHERE = re.compile(
    rf"{_PHRASE}|{_HAN_PHRASE}|\b(?:{'|'.join(_OTHER)})\b", re.IGNORECASE
)
_OPENING = re.compile(
    r"[\s:：=*\"'(（]{0,6}(?:(?:about|exactly|only|just|the number) )?", re.IGNORECASE
)
_ONE = ("one", "一", "十", "百", "千", "万")

_WHOLE_PARTS = {"half": "1/2", "third": "1/3", "quarter": "1/4"}
# two and a half, 2 and 1/2
_AND_A_PART = re.compile(
    rf"\b(?P<whole>\d{{1,9}}|(?:{_WORD})(?:{_FURTHER})*) and (?:"  # "2 and ", "twenty-two and "
    rf"(?:a|one) (?P<part>{'|'.join(_WHOLE_PARTS)})"  # "a half"
    r"|(?P<digits>\d{1,3}/\d{1,3})"  # "1/2"
    r")\b",
    re.IGNORECASE,
)
# half a million, a quarter of a million
_PART_OF_SCALE = re.compile(
    r"\b(?:(?:a|one) )?(?P<part>half|quarter) "
    r"(?:of )?(?:a|an|one) "
    rf"(?P<scale>dozen|{'|'.join(_SCALES)})\b",
    re.IGNORECASE,
)
_NTHS = "half halves third thirds fourth fourths fifth fifths sixth sixths eighth eighths tenth tenths"
_DENOMINATORS = dict(
    zip(_NTHS.split(), (2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 10, 10), strict=True)
)
_SMALL = "|".join(_UNITS.split()[1:10])
# two thirds, one half, three-quarters; "three quarters" may be coins
_NTH = re.compile(
    rf"\b(?P<above>{_SMALL})(?:[ -](?P<below>{'|'.join(_DENOMINATORS)})|-quarters?)\b",
    re.IGNORECASE,
)
_PART_ALONE = re.compile(rf"(?:a )?({'|'.join(_WHOLE_PARTS)})", re.IGNORECASE)


def parts_in_digits(text: str) -> str:
    """Return the text with fractions in words as digits: "two and a half" -> "2 1/2", "two thirds" -> "2/3"."""
    alone = _PART_ALONE.fullmatch(text.strip(" \n.!*\"'"))
    if alone is not None:
        return _WHOLE_PARTS[alone[1].lower()]
    text = _AND_A_PART.sub(_mixed, text)
    text = _PART_OF_SCALE.sub(_part_of_scale, text)
    return _NTH.sub(_nth, text)


def _mixed(match: re.Match[str]) -> str:
    words = match["whole"]
    if words.isdigit():
        whole = words
    else:
        whole = str(_value(words))
    part = match["digits"] or _WHOLE_PARTS[match["part"].lower()]
    return f"{whole} {part}"


def _part_of_scale(match: re.Match[str]) -> str:
    scale = match["scale"].lower()
    if match["part"].lower() == "half":
        divisor = 2
    else:
        divisor = 4
    number = {"dozen": 12, **_SCALES}[scale] // divisor
    return str(number)


def _nth(match: re.Match[str]) -> str:
    above = _ENGLISH[match["above"].lower()]
    if match["below"]:
        below = _DENOMINATORS[match["below"].lower()]
    else:
        below = 4
    return f"{above}/{below}"


def expected_in_digits(text: str) -> str:
    """Return the text with the number word at its beginning as digits: "exactly six apples" -> "exactly 6 apples"."""
    opening = _OPENING.match(text)
    number = _SPELLED_ANYWHERE.match(text, opening.end() if opening else 0)
    if number is None:
        return text
    return f"{text[: number.start()]} {_value(number[0])} {text[number.end() :]}"


def in_digits(text: str) -> str:
    """Return the text with number words as digits. `one` is converted only if the whole text is a number."""
    bare = text.strip(" \n.!。*\"'")
    number = _SPELLED_ANYWHERE.fullmatch(bare)
    if number:
        return str(_value(number[0]))
    return _SPELLED.sub(
        lambda match: match[0] if match[0].lower() in _ONE else f" {_value(match[0])} ",
        text,
    )


def _value(words: str) -> int:
    """Return the value of a number in words: `twenty-five` -> 25."""
    if words[0] in _HAN or words[0] in _HAN_SCALES:
        return _han(words)
    if words.lower() in _OTHER and words.lower() not in _ENGLISH:
        return _OTHER[words.lower()]
    total = group = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _ENGLISH:
            group += _ENGLISH[word]
        elif word == "hundred":
            group = max(group, 1) * 100
        elif word in _SCALES:
            total = total + max(group, 1) * _SCALES[word]
            group = 0
    return total + group


def _han(numerals: str) -> int:
    """Return the value of Chinese numerals: `二十五` is 25, `两万` 20,000.

    Without scales they are digits: `二〇二四` is 2024.
    """
    if not any(numeral in _HAN_SCALES for numeral in numerals):
        return int("".join(str(_HAN[numeral]) for numeral in numerals))
    total = section = digit = 0
    for numeral in numerals:
        if numeral in _HAN:
            digit = _HAN[numeral]
        elif _HAN_SCALES[numeral] < 10**4:
            section = section + (digit or 1) * _HAN_SCALES[numeral]
            digit = 0
        else:
            total = (total + section + digit or 1) * _HAN_SCALES[numeral]
            section = 0
            digit = 0
    return total + section + digit
