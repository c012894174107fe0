"""Whole words: whether a text is in another as separate words, not as a part of longer ones.

`4` is not in `42`, `4.5`, `4,000` or `-4`, `Rome` not in `Jerome`, `can` not in `can't`, `C` not in `C++`; `4` is
in `4.`, `4.0` and `$4`, `Rome` in `Rome's`. Scripts that write words without blanks between them (Chinese,
Japanese, Thai, Lao, Khmer, Burmese, Tibetan), and Korean, whose particles follow a word without one, have no such
edges: there a text may be anywhere.
"""

import re
from functools import cache, lru_cache

_NO_BREAKS = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Hangul, kana and Han."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0966-\u0dff"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u200c\u200d"
)
"""Accents and vowel signs: parts of a word that Python does not count as letters."""
_ANY_LETTER = f"(?:[^\\W{_NO_BREAKS}]|[{_MARKS}])"
PLACES = 50
"""Occurrences checked one by one. Up to this many, that is faster than compiling a pattern for the target."""
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})
_SIGNED = re.compile(r"[+-]\.?\d")
_THREE_DIGITS = re.compile(r"\d{3}(?!\d)")


def has_words(text: str, words: str) -> bool:
    """Return True if `words` is in `text` as whole words and numbers. Blanks at its ends do not count."""
    is_ascii = text.isascii()
    words, before, after = _edges(words, is_ascii)
    if not is_ascii:
        text = text.translate(_MINUS)
    offset = text.find(words)
    for _ in range(PLACES):
        if offset < 0:
            return False
        if before.match(text, offset) and after.match(text, offset + len(words)):
            return True
        offset = text.find(words, offset + 1)
    return (
        re.search(f"{before.pattern}{re.escape(words)}{after.pattern}", text)
        is not None
    )


@lru_cache(maxsize=8192)
def _edges(
    words: str,
    is_ascii: bool,
) -> "tuple[str, re.Pattern[str], re.Pattern[str]]":
    """Return a target in comparable form, and patterns for the edges before and after it.

    Targets repeat over models.
    """
    words = (words.strip() or words).translate(_MINUS)
    start = _kind_of_start(words, is_ascii)
    end = _kind_of_end(words, is_ascii)
    return words, _before(start, is_ascii), _after(end, is_ascii)


def _kind_of_start(wanted: str, is_ascii: bool) -> str:
    """Return the kind of the first character, which decides what may come before it."""
    if not wanted:
        return "other"
    if _SIGNED.match(wanted):
        return "sign"
    if wanted[0].isdecimal():
        return "thousand" if _THREE_DIGITS.match(wanted) else "digit"
    return "letter" if _is_letter(wanted[0], is_ascii) else "other"


def _kind_of_end(wanted: str, is_ascii: bool) -> str:
    """Return the kind of the last character, which decides what may follow it."""
    if not wanted:
        return "other"
    last = wanted[-1]
    if last.isdecimal():
        return "digit"
    if _is_letter(last, is_ascii):
        return "letter"
    return "other"


def _is_letter(character: str, is_ascii: bool) -> bool:
    return re.match(_letter(is_ascii), character) is not None


def _letter(is_ascii: bool) -> str:
    return (
        r"\w" if is_ascii else _ANY_LETTER
    )  # the long pattern takes a while to compile, and most texts do not need it


@cache
def _before(kind: str, is_ascii: bool) -> "re.Pattern[str]":
    """Return a pattern for what must not come before the first character."""
    letter = _letter(is_ascii)
    if kind == "sign":
        return re.compile(
            rf"(?<!{letter})(?<![)\]])"
        )  # otherwise the sign is a minus between two numbers
    number = r"(?<!\d\.)(?<!\s\.)(?<!\A\.)(?<![\s(=:]-)(?<!\A-)"
    edges = {"letter": "", "digit": number, "thousand": rf"{number}(?<!\d,)"}
    return re.compile(rf"(?<!{letter}){edges[kind]}" if kind in edges else "")


@cache
def _after(kind: str, is_ascii: bool) -> "re.Pattern[str]":
    """Return a pattern for what must not follow the last character."""
    letter = _letter(is_ascii)
    edges = {
        "digit": r"(?!\.\d*[1-9])(?!,\d{3}(?!\d))",
        "letter": rf"(?!['\u2019](?!s(?!{letter})){letter})",
    }
    return re.compile(
        rf"(?!{letter})(?![+#]+(?!{letter})){edges[kind]}" if kind in edges else ""
    )
