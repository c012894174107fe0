"""Texts cut into words as the Penn Treebank does: punctuation, and endings such as `'s` and `n't`, are words too.

Enough of it for short answers of models; no corpus is needed. A slash, a hyphen or a dot inside a word stays in it.
"""

import re

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
    """The words of a text, in order."""
    for pattern, spaced in _STEPS:
        text = pattern.sub(spaced, text)
    return text.split()
