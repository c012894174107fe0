"""Split short texts into words, as in the Penn Treebank, and find the stems of words. No corpus is needed.

Punctuation and endings such as `'s` and `n't` are also words. Slashes, hyphens and dots
inside a word do not split it.
"""

import re
import tomllib
from pathlib import Path

_STEPS = (
    (re.compile(r"(^|[ (\[{<])\""), r"\1 `` "),
    (re.compile(r"\""), r" '' "),
    (re.compile(r"([,:])(?=\D|$)"), r" \1 "),
    (re.compile(r"\.\.\."), r" ... "),
    (re.compile(r"[;@#$%&?!\[\](){}<>]"), r" \g<0> "),
    (re.compile(r"--"), r" -- "),
    (re.compile(r"(?<=[^.\s])\.(?=[\s'\")\]]|$)"), r" . "),
    (re.compile(r"(?<=[^'\s])'(?=\s)"), r" ' "),
    (re.compile(r"(?i)(?<=[^'\s])('(?:s|m|d|ll|re|ve))(?=\W|$)"), r" \1 "),
    (re.compile(r"(?i)(?<=[^'\s])(n't)(?=\W|$)"), r" \1 "),
    (re.compile(r"(?i)\b(can)(not)\b"), r" \1 \2 "),
)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    for pattern, spaced in _STEPS:
        text = pattern.sub(spaced, text)
    return text.split()


_VOWELS = "aeiou"
_STEMS = tomllib.loads(
    Path(__file__).with_name("stems.toml").read_text(encoding="utf-8")
)
_KNOWN: dict[str, str] = _STEMS["known"]
_UNCHANGED = frozenset(_STEMS["unchanged"].split())


def stemmed(text: str) -> str:
    """Return the stems of a text's words, joined by spaces: `men's shirts` becomes `man 's shirt`."""
    return " ".join(stem(word) for word in words_of(text))


def stem(word: str) -> str:
    """Return the stem of a word: `riding` becomes `ride`, `dogs` becomes `dog`, `yes` is unchanged."""
    low = word.lower()
    if low in _UNCHANGED or not low.isalpha():
        return word
    if low in _KNOWN:
        return _KNOWN[low]
    if low.endswith("ing") and len(low) > 4:
        return _verb(word[:-3], word)
    if low.endswith("s") and len(low) > 3:
        return _singular(word)
    return word


def _singular(word: str) -> str:
    low = word.lower()
    if low.endswith(("ss", "us", "is", "'s")):
        return word
    if low.endswith("ies") and len(low) > 4:
        return f"{word[:-3]}y"
    if low.endswith(("sses", "xes", "zzes", "ches", "shes", "oes")):
        return word[:-2]
    return word[:-1]


def _verb(base: str, word: str) -> str:
    """Return the infinitive of a word such as `riding`. `base` is the word without `-ing`.

    If `base` has no vowel, as in `thing`, return the word unchanged.
    """
    low = base.lower()
    if not any(letter in "aeiouy" for letter in low):
        return word
    if len(low) > 2 and low[-1] == low[-2] and low[-1] not in "lsz" + _VOWELS:
        return base[:-1]
    groups = len(re.findall(r"[aeiouy]+", low))
    ends_short = (
        len(low) > 2
        and low[-1] not in "aeiouwxy"
        and low[-2] in _VOWELS
        and low[-3] not in _VOWELS
    )
    if (
        low[-1] in "cvuz"
        or (groups == 1 and ends_short)
        or (groups > 1 and low[-1] in "sg" and ends_short)
    ):
        return f"{base}e"
    return base
