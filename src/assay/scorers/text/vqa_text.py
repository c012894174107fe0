"""The answer normalizer of the VQA benchmark: punctuation, number words, articles, contractions.

Its oddities stay because published numbers depend on them. A mark next to a blank is deleted and any other becomes
a blank. If the text has a comma between digits, every mark is deleted. At most 32 periods are removed. VLMEvalKit's
copy differs in one point: a period after a digit stays, so that `2.` does not equal `2`.
"""

import re

_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_DIGIT_COMMA = re.compile(r"\d,\d")
_PERIOD = re.compile(r"\.(?!\d)")
_PERIOD_OF_WORDS = re.compile(r"(?<!\d)\.(?!\d)")
_MAX_PERIODS = 32
_ARTICLES = frozenset({"a", "an", "the"})
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
    # The published table has this one the wrong way round.
    "somebody'd": "somebodyd"
}
"""Misspellings without one of their apostrophes: `dont` is `don't`."""


def flatten(text: str) -> str:
    """Return the text on one line, without blanks at its ends."""
    return text.replace("\n", " ").replace("\t", " ").strip()


def strip_marks(text: str, *, as_vlmeval: bool = False) -> str:
    """Return the text with punctuation deleted or turned to blanks. Case and apostrophes stay."""
    has_digit_comma = _DIGIT_COMMA.search(text) is not None
    plain = text
    for mark in _MARKS:
        if mark in plain:
            touches_blank = f"{mark} " in text or f" {mark}" in text
            plain = plain.replace(mark, "" if has_digit_comma or touches_blank else " ")
    return (_PERIOD_OF_WORDS if as_vlmeval else _PERIOD).sub(
        "",
        plain,
        count=_MAX_PERIODS,
    )


def plain_words(text: str) -> str:
    """Return lower-case words, with digits for number words, without articles, and with apostrophes put back."""
    words = (_NUMBER_WORDS.get(word, word) for word in text.lower().split())
    return " ".join(
        CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES
    )


def vqa_normal(text: str, *, as_vlmeval: bool = False) -> str:
    """Return a short answer in the form that the VQA benchmark, or VLMEvalKit, compares."""
    return plain_words(strip_marks(flatten(text), as_vlmeval=as_vlmeval))
