"""Normalizers of short answers: SQuAD's, one for text in other scripts, and the VQA benchmark's.

The VQA normalizer changes punctuation, number words, articles and contractions.
Published values depend on its oddities, so they are kept. A punctuation mark next to a
space is deleted, and any other mark becomes a space. If the text has a comma between
digits, all marks are deleted. At most 32 periods are removed. VLMEvalKit's copy keeps a
period after a digit, so `2.` does not equal `2`.
"""

import re
import string
import unicodedata
from functools import cache, lru_cache

from ..plain_text import CategoryTable, plain_text

_PLAIN_WORDS = re.compile(r"[a-z0-9]+")
_LOWER = bytes.maketrans(
    string.ascii_uppercase.encode(), string.ascii_lowercase.encode()
)
_MARKS = string.punctuation.encode()
_LETTERS_AND_DIGITS = (
    bytes(code if chr(code).isalnum() else 32 for code in range(128))
    .ljust(256)
    .translate(_LOWER)
)
"""A table for `bytes.translate`: lower case for capital letters, a space for everything except letters and digits.

It is 10 times faster than a regular expression.
"""
_ASCII_PUNCTUATION = {ord(mark): None for mark in string.punctuation}
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ARTICLE_WORDS = frozenset({"a", "an", "the"})
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
_KANA = r"\u3040-\u30ff"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
_HANGUL = r"\uac00-\ud7af"
_RARE_HAN = r"\uf900-\ufaff\U00020000-\U0003ffff"
_CJK = _KANA + _HAN + _HANGUL + _RARE_HAN
# One character of such a script, or one word of any other.
_CJK_OR_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")


def ascii_words(text: str) -> list[str]:
    """Return the lower-case runs of ASCII letters and digits in a text, which the
    published ROUGE script treats as words.
    """
    if text.isascii():
        words_and_blanks = text.encode().translate(_LETTERS_AND_DIGITS)
        return words_and_blanks.decode().split()
    return _PLAIN_WORDS.findall(text.lower())


def squad_words(text: str) -> list[str]:
    """Return lower-case words without ASCII punctuation and English articles, as SQuAD's script compares them.

    Marks inside a number are deleted as well: `3.5` becomes `35`. Punctuation outside
    ASCII is kept.
    """
    if text.isascii():
        plain = text.encode().translate(_LOWER, _MARKS).decode()
        if _CONTROL.search(plain) is None:
            # Only spaces are left between words, so that articles are whole words.
            return [word for word in plain.split() if word not in _ARTICLE_WORDS]
    else:
        lower_case = plain_text(text).lower()
        plain = lower_case.translate(_ASCII_PUNCTUATION)
    return _ARTICLES.sub(" ", plain).split()


def cjk_words(text: str) -> list[str]:
    """Return lower-case tokens: each Chinese, Japanese or Korean character, and other words as a whole.

    Full-width and half-width forms are unified, and every Unicode punctuation mark ends
    a word. Articles are kept: removing `a`, `an` and `the` makes sense for English only.
    """
    narrow = unicodedata.normalize("NFKC", plain_text(text))
    plain = narrow.lower().translate(_unicode_punctuation())
    return _CJK_OR_WORD.findall(plain)


@cache
def _unicode_punctuation() -> CategoryTable:
    """Return the table that replaces all Unicode punctuation with spaces."""
    return CategoryTable(
        lambda character, category: " " if category[0] == "P" else character
    )


@lru_cache(maxsize=8192)
def squad_words_of_target(text: str) -> tuple[str, ...]:
    """Return `squad_words` of a target. Results are cached, because candidates, epochs and models share targets."""
    return tuple(squad_words(text))


@lru_cache(maxsize=8192)
def cjk_words_of_target(text: str) -> tuple[str, ...]:
    """Return `cjk_words` of a target from a cache."""
    return tuple(cjk_words(text))


_VQA_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_DIGIT_COMMA = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")
_PERIOD_OF_WORDS = re.compile(r"(?<!\d)\.(?!\d)")
_MAX_PERIODS = 32
_VQA_ARTICLES = frozenset({"a", "an", "the"})
_NUMBER_WORDS = {
    "none": "0",
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
} | {"six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10"}

_CONTRACTED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've
he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've needn't not've
o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've there're
there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's what've
when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't
wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've
"""


def _with_one_apostrophe_missing(form: str) -> list[str]:
    """Return the spellings of a contraction in which one apostrophe is missing."""
    return [
        form[:index] + form[index + 1 :]
        for index, letter in enumerate(form)
        if letter == "'"
    ]


CONTRACTIONS = {
    slip: form
    for form in _CONTRACTED.split()
    for slip in _with_one_apostrophe_missing(form)
} | {
    # The published table has this pair in the wrong order.
    "somebody'd": "somebodyd"
}
"""Maps a contraction that lacks one apostrophe to its correct form: `dont` -> `don't`."""


def flatten(text: str) -> str:
    """Return the text on one line, without whitespace at its ends."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def strip_marks(text: str, *, as_vlmeval: bool = False) -> str:
    """Return the text with punctuation deleted or replaced by spaces. Case and apostrophes are kept."""
    has_digit_comma = _DIGIT_COMMA.search(text) is not None
    plain = text
    for mark in _VQA_MARKS:
        if mark in plain:
            touches_blank = f"{mark} " in text or f" {mark}" in text
            plain = plain.replace(mark, "" if has_digit_comma or touches_blank else " ")
    return (_PERIOD_OF_WORDS if as_vlmeval else _PERIOD).sub(
        "",
        plain,
        count=_MAX_PERIODS,
    )


def plain_words(text: str) -> str:
    """Return a lower-case text without articles, with digits for number words and with
    missing apostrophes restored.
    """
    words = (_NUMBER_WORDS.get(word, word) for word in text.lower().split())
    return " ".join(
        CONTRACTIONS.get(word, word) for word in words if word not in _VQA_ARTICLES
    )


def vqa_normal(text: str, *, as_vlmeval: bool = False) -> str:
    """Return a short answer normalized for comparison, as in the VQA benchmark or in VLMEvalKit."""
    return plain_words(strip_marks(flatten(text), as_vlmeval=as_vlmeval))
