"""Whole words: whether a text stands in another as words of its own, not as a part of longer ones.

`4` is not in `42`, `4.5`, `4,000` or `-4`, `Rome` not in `Jerome`, `can` not in `can't`, `C` not in `C++`; `4` is in
`4.`, `4.0` and `$4`, `Rome` in `Rome's`. Scripts that write words without blanks between them (Chinese, Japanese, Thai,
Lao, Khmer, Burmese, Tibetan), and Korean, whose particles follow a word without one, have no such edges: there a text
may stand anywhere.
"""

import re
from functools import lru_cache

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
"""Accents and vowel signs: parts of a word that Python does not count among letters."""
_LETTER = f"(?:[^\\W{_NO_BREAKS}]|[{_MARKS}])"
_IS_LETTER = re.compile(_LETTER)
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})


def has_words(text: str, wanted: str) -> bool:
    """Whether `wanted`, blanks at its ends aside, stands in `text` and neither end lies within a word or a number."""
    if not text.isascii() or not wanted.isascii():
        text, wanted = text.translate(_MINUS), wanted.translate(_MINUS)
    wanted = wanted.strip() or wanted
    return wanted in text and _pattern(wanted).search(text) is not None


@lru_cache(maxsize=8192)
def _pattern(wanted: str) -> "re.Pattern[str]":
    return re.compile(f"{_before(wanted)}{re.escape(wanted)}{_after(wanted)}")


def _before(wanted: str) -> str:
    """What must not stand before it."""
    first = wanted[0]
    if re.match(r"[+-]\.?\d", wanted):
        return rf"(?<!{_LETTER})(?<![)\]])"  # else it is a minus between two numbers
    if not _IS_LETTER.match(first):
        return ""
    edges = f"(?<!{_LETTER})"
    if first.isdecimal():
        edges += r"(?<!\d\.)(?<!\s\.)(?<!\A\.)(?<![\s(=:]-)(?<!\A-)"
        if re.match(r"\d{3}(?!\d)", wanted):
            edges += r"(?<!\d,)"
    return edges


def _after(wanted: str) -> str:
    """What must not stand after it."""
    last = wanted[-1]
    if not _IS_LETTER.match(last):
        return ""
    edges = rf"(?!{_LETTER})(?![+#]+(?!{_LETTER}))"
    if last.isdecimal():
        return edges + r"(?!\.\d*[1-9])(?!,\d{3}(?!\d))"
    return edges + rf"(?!['\u2019](?!s(?!{_LETTER})){_LETTER})"
