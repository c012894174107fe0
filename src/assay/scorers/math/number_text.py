r"""One spelling for numbers such as `1.5 × 10³`, `½`, `３`, `\\frac{3}{4}`, which `numbers` then reads.

Only the spelling changes, never a value. A text without such forms is returned unchanged.
"""

import re
import unicodedata

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile(r"[⁰¹²³⁴-⁹⁻⁺]+")
_VULGAR = re.compile(r"(\d?)([¼-¾⅐-⅞↉])")
_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Scripts whose words touch the digits next to them: Thai, Lao, Burmese, Khmer, kana, Han, Hangul."""
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
"""A minus sign as a word. After a number or a letter it is a subtraction, `10 minus 3`."""
_MINUS_HAN = re.compile(r"(?:负|負|マイナス)(?=\.?\d)")
_TEX_GROUP = re.compile(r"(?<=\d)(?:\{,\}|\\[,!])(?=\d{3}(?!\d))")
_TIMES = r"\s?(?:[×xX*·⋅]|\\times|\\cdot)\s?"
_POWER_OF_TEN = re.compile(
    rf"(?:(?<![\d.,])(?P<digits>\d{{1,15}}(?:\.\d{{1,15}})?){_TIMES})?"  # "1.5 × "
    r"(?<![\d.])10\s?(?:\^|\*\*)\s?"  # "10^", "10 ** "
    r"[{(]?\s?(?P<power>[-+−]?\d{1,3})(?!\d|\.\d)[})]?"  # "3", "{-3}"
)
_UNDERLINED = re.compile(r"(?<![^\s(*`\"'])_{1,2}(?=[-+−$€£¥₹]?\d)")
"""The marks of emphasis before a number: `__42__`."""
_TIME = re.compile(r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?![\d:])")
"""A time of day or a duration in hours and minutes. A ratio such as 3:4 is not a time."""


def one_spelling(text: str) -> str:
    """Return the text with its numbers in plain ASCII: full-width and other digits, fractions, powers of ten, LaTeX."""
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
    if "_" in text:
        text = _UNDERLINED.sub("", text)
    if ":" in text:
        text = _TIME.sub(r"\1 \2/60", text)
    return _MINUS.sub("-", text)


def _fraction(found: re.Match[str]) -> str:
    """Return a vulgar fraction as `1/2`, with a blank after the whole number before it."""
    parts = unicodedata.normalize("NFKC", found[2]).replace("\u2044", "/")
    if found[1]:
        return f"{found[1]} {parts}"
    return parts


def _tex_fraction(found: re.Match[str]) -> str:
    """Return a LaTeX fraction as `3/4`, with a blank after the whole number before it."""
    return f"{found[1]}{' ' if found[1] else ''}{found[2] or found[3]}/{found[4] or found[5]}"


def _digit(one: str) -> str:
    """Return the ASCII digit of a digit in another script."""
    value = unicodedata.decimal(one, None)
    return one if value is None else str(value)
