"""Normalizers of transcripts, by name.

`zh` is the usual normalization for Chinese character error rates: simplified
characters, numbers as they are spoken, no punctuation, no spaces. With it, 二零二四年 and
`2024年。` are equal.

Whisper's normalizers come from the `whisper-normalizer` package, with their faults (`3
o'clock` becomes `30 clock`): a rate that is called Whisper-compatible must reproduce
them.
"""

import re
import string
from collections.abc import Callable
from functools import cache

from ...core import Requirement, UsageError
from ..plain_text import CategoryTable, plain_text

OPENCC, WETEXT = (
    Requirement("opencc", "OpenCC", "assay[speech]"),
    Requirement("wetext", "wetext", "assay[speech]"),
)
"""The libraries that the normalizer `zh` needs."""

_HAN_RANGES = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HAN = f"[{_HAN_RANGES}]"
"""A Chinese character, as part of a regular expression. 〇, the digit zero, is one as well."""

_PLAIN_HAN = re.compile(f"[{_HAN_RANGES}，。！？、；：“”‘’（）《》…—]*")

_HYPHEN = re.compile(r"(?<=[A-Za-z])[-‐‑](?=\d)|(?<=\d)[-‐‑](?=[A-Za-z])")
"""A hyphen inside a name, as in GPT-4o. wetext would read it as a minus before digits."""
_DECADE = re.compile(r"(?<![\dA-Za-z])([12]\d{3})s(?![A-Za-z])")
"""A decade in English, such as 1990s. wetext would read the `s` as seconds."""
_ZERO = {0x3007: "零"}

_NARROW = {
    code + 0xFEE0: chr(code)
    for code in (*range(0x30, 0x3A), *range(0x41, 0x5B), *range(0x61, 0x7B))
}
"""A table that converts full-width digits and Latin letters to ASCII characters."""


def normalize_chinese(text: str) -> str:
    """Return lower-case text in simplified characters, with numbers as spoken, without punctuation and spaces.

    Example: `normalize_chinese("2024年，臺灣。") == "二零二四年台湾"`
    """
    return strip_marks(spoken_numbers(simplify(text.translate(_NARROW)))).lower()


def normalize_mixed(text: str) -> str:
    """Normalize as for Chinese, but keep spaces between words.

    Each run of punctuation or spaces becomes one space, because foreign words need
    separators.
    """
    spoken = (
        spoken_numbers(simplify(text.translate(_NARROW)))
        .replace("'", "")
        .replace("’", "")
    )
    return " ".join(spoken.translate(_marks(" ")).split()).lower()


def simplify(text: str) -> str:
    """Return a text with simplified instead of traditional characters."""
    if text.isascii():
        return text
    return _converter()(text)


def spoken_numbers(text: str) -> str:
    """Return a text with digits, dates, amounts and percentages spelled out: `50%` becomes 百分之五十."""
    text = text.translate(_ZERO)
    # wetext only rewrites digits, symbols and units. Plain Han text is common and has none of them.
    if _PLAIN_HAN.fullmatch(text):
        return text
    return _speller()(_DECADE.sub(r"\1年代", _HYPHEN.sub(" ", text)))


def strip_marks(text: str) -> str:
    """Return the text without punctuation, spaces and invisible characters of any script."""
    return text.translate(_marks(None))


@cache
def _marks(instead: str | None) -> CategoryTable:
    """Return a table that replaces punctuation, separators, control characters and the
    symbols `$+<=>^`|~` in both widths.
    """
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


Normalizer = Callable[[str], str]

NAMES = ("none", "whisper-en", "whisper-basic", "zh", "seed-tts-en")
_ASCII_MARKS = r"!-&(-/:-@\[-`{-~"
_LATIN_MARKS = r"\u00b7\u2013\u2014\u2018\u2019\u201b-\u201f\u2026\u2027"
_CHINESE_MARKS = r"\u3000-\u3003\u3008-\u3011\u3014-\u301f\u3030\u303e\u303f"
_SMALL_MARKS = r"\ufe4f\ufe51\ufe54"
_WIDE_MARKS = r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff64"
_SEED_MARKS = re.compile(
    f"[{_ASCII_MARKS}{_LATIN_MARKS}{_CHINESE_MARKS}{_SMALL_MARKS}{_WIDE_MARKS}]"
)
"""The punctuation that seed-tts-eval removes: all of ASCII except `'`, and the Chinese punctuation."""

MARK_SCRIPTS: dict[str, tuple[int, int]] = {
    "an Indic script": (0x0900, 0x0DFF),
    "Thai": (0x0E00, 0x0E7F),
    "Lao": (0x0E80, 0x0EFF),
    "Tibetan": (0x0F00, 0x0FFF),
    "Burmese": (0x1000, 0x109F),
    "Khmer": (0x1780, 0x17FF),
}
"""Scripts whose vowels and tones are combining marks, which Whisper's basic normalizer deletes."""


@cache
def normalizer(name: str, *, keep_blanks: bool = True) -> Normalizer:
    """Return the normalizer with this name. It is loaded on first use.

    `keep_blanks` matters only for `zh`, which removes spaces for character error rates.
    Word error rates need the spaces.
    """
    if name == "none":
        return plain_text
    if name == "zh":
        return normalize_mixed if keep_blanks else normalize_chinese
    if name in ("whisper-en", "whisper-basic"):
        return _whisper(name)
    if name == "seed-tts-en":
        return _seed_tts
    raise UsageError(
        f"there is no transcript normalizer {name!r}", fix=f"one of {', '.join(NAMES)}"
    )


WHISPER = Requirement("whisper_normalizer", "whisper-normalizer", "assay[speech]")
REQUIRES: dict[str, tuple[Requirement, ...]] = {
    "whisper-en": (WHISPER,),
    "whisper-basic": (WHISPER,),
    "zh": (OPENCC, WETEXT),
}
"""The libraries of the normalizers."""


def check_normalizer(name: str, scorer: str) -> None:
    """Raise `UsageError` for the name of an unknown normalizer, without loading one."""
    if name not in NAMES:
        raise UsageError(
            f"scorer {scorer!r} has no normalizer {name!r}",
            fix=f"one of {', '.join(NAMES)}",
        )


def mark_script(text: str) -> str | None:
    """Return the script of a text if its vowels are combining marks, which a normalizer
    would delete; None for other scripts.
    """
    if text.isascii():
        return None
    for character in text:
        code = ord(character)
        if 0x0900 <= code <= 0x17FF:
            for script, (first, last) in MARK_SCRIPTS.items():
                if first <= code <= last:
                    return script
    return None


def check_script(
    name: str,
    reference: str,
    scorer: str,
) -> None:
    """Raise `UsageError` if the normalizer would delete letters of the reference's script."""
    if name == "whisper-basic" and (script := mark_script(reference)):
        raise UsageError(
            f"whisper-basic deletes the vowel signs of {script}: its error rate means nothing there",
            where=f"scorer {scorer!r}",
            fix="normalize: none, or any_script: true to reproduce a published number",
        )


def _seed_tts(text: str) -> str:
    return _SEED_MARKS.sub("", text).lower()


def _whisper(name: str) -> Normalizer:
    if name == "whisper-en":
        module = "english"
        kind = "English"
    else:
        module = "basic"
        kind = "Basic"
    package = WHISPER.library(f"whisper_normalizer.{module}", f"normalizer {name!r}")
    normalize: Normalizer = getattr(package, f"{kind}TextNormalizer")()
    return normalize
