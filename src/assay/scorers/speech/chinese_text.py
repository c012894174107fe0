"""A normalizer of Chinese transcripts: simplified characters, spoken numbers, no marks, no blanks.

The recipe of Chinese character error rates: 二零二四年 and `2024年。` must count as the same words.
"""

import re
import string
from collections.abc import Callable
from functools import cache

from ...core import Requirement
from .._characters import CategoryTable

OPENCC, WETEXT = (
    Requirement("opencc", "OpenCC", "assay[speech]"),
    Requirement("wetext", "wetext", "assay[speech]"),
)
"""The libraries behind the normalizer."""

_HAN_RANGES = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HAN = f"[{_HAN_RANGES}]"
"""A Chinese character, as part of a regular expression; 〇 is the digit zero."""

_PLAIN_HAN = re.compile(f"[{_HAN_RANGES}，。！？、；：“”‘’（）《》…—]*")

_HYPHEN = re.compile(r"(?<=[A-Za-z])[-‐‑](?=\d)|(?<=\d)[-‐‑](?=[A-Za-z])")
"""A hyphen inside a name, as in GPT-4o. wetext would read it as a minus before digits."""
_DECADE = re.compile(r"(?<![\dA-Za-z])([12]\d{3})s(?![A-Za-z])")
"""A decade in English, as 1990s. wetext would read the `s` as seconds."""
_ZERO = {0x3007: "零"}

_NARROW = {
    code + 0xFEE0: chr(code)
    for code in (*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B))
}
"""Full-width digits and Latin letters as plain ones."""


def normalize_chinese(text: str) -> str:
    """Return lower-case simplified text with spoken numbers, without punctuation and blanks.

    Example: `normalize_chinese("2024年，臺灣。") == "二零二四年台湾"`
    """
    return strip_marks(spoken_numbers(simplify(text.translate(_NARROW)))).lower()


def normalize_mixed(text: str) -> str:
    """Return the same with a blank for each run of marks or blanks, so that foreign words stay separate."""
    spoken = (
        spoken_numbers(simplify(text.translate(_NARROW)))
        .replace("'", "")
        .replace("’", "")
    )
    return " ".join(spoken.translate(_marks(" ")).split()).lower()


def simplify(text: str) -> str:
    """Return a text with simplified characters in place of traditional ones."""
    if text.isascii():
        return text
    return _converter()(text)


def spoken_numbers(text: str) -> str:
    """Return a text with digits, dates, amounts and percentages spelled out: `50%` becomes 百分之五十."""
    text = text.translate(_ZERO)
    # wetext only rewrites digits, signs and units. Plain Han text is common and has none of them.
    if _PLAIN_HAN.fullmatch(text):
        return text
    return _speller()(_DECADE.sub(r"\1年代", _HYPHEN.sub(" ", text)))


def strip_marks(text: str) -> str:
    """Return the text without punctuation, blanks and invisible characters of any script."""
    return text.translate(_marks(None))


@cache
def _marks(instead: str | None) -> CategoryTable:
    """Return a table that replaces punctuation, separators, controls and the ASCII signs `$+<=>^`|~` in both widths."""
    signs = set()
    for code in map(ord, string.punctuation):
        for mark in (chr(code), chr(code + 0xFEE0)):
            signs.add(mark)
    return CategoryTable(
        lambda character, category: (
            instead
            if category in _DROPPED_CATEGORIES or character in signs
            else character
        )
    )


_DROPPED_CATEGORIES = frozenset(
    {"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs", "Zl", "Zp", "Cc", "Cf"}
)


@cache
def _converter() -> Callable[[str], str]:
    convert = OPENCC.library("opencc", "normalizer 'zh'").OpenCC("t2s").convert

    def to_simplified(text: str) -> str:
        # The converter needs UTF-8, which a lone surrogate does not have.
        return str(convert(text.encode("utf-8", "replace").decode("utf-8")))

    return to_simplified


@cache
def _speller() -> Callable[[str], str]:
    normalize = (
        WETEXT.library("wetext", "normalizer 'zh'")
        .Normalizer(
            lang="zh",
            operator="tn",
        )
        .normalize
    )

    def spell(text: str) -> str:
        return str(
            normalize(text.encode("utf-8", "replace").decode("utf-8").replace("\0", ""))
        )

    return spell
