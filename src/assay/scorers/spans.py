"""Find the words of an answer that a scorer has read, so that the viewer and `assay show` can highlight them.

The result is `details["span"]`, start and end in characters of `output.text`. Scorers
often read a converted form of the answer, without markup and with numbers in plain
digits. Then the words that they read are looked up in the original answer. If their
position is uncertain, the span is left out.
"""

from typing import Any

MARKUP_CHARACTERS = 12
"""Maximum number of markup characters between an answer and the words before it: 2 in `The answer is **B**`."""


def evidence_span(
    text: str,
    evidence: str,
    answer: str,
    *,
    comes_first: bool = False,
) -> list[int] | None:
    """Return the span of an answer within `evidence`, the words from which it was read; None if it is uncertain.

    The evidence may be quoted from the text without its markup. If the answer occurs
    several times in the evidence, the last occurrence is used, or the first with
    `comes_first`.
    """
    if not evidence:
        return None
    start = text.find(evidence)
    offset = word_offset(evidence, answer, comes_first=comes_first)
    if offset < 0:
        if start < 0:
            return None
        return _span(start, evidence)
    if start >= 0:
        return _span(start + offset, answer)
    # The evidence is not literally in the text: search the words before the answer, and then the answer after them.
    before = evidence[:offset].rstrip(" ([{\"'")
    if before or comes_first:
        start = text.find(before)
    else:
        start = -1
    if start < 0:
        return None
    start += len(before)
    end = start + len(answer) + MARKUP_CHARACTERS
    offset = word_offset(text[start:end], answer, comes_first=True)
    if offset < 0:
        return None
    return _span(start + offset, answer)


def _span(start: int, words: str) -> list[int]:
    return [start, start + len(words)]


def occurrence_span(
    text: str,
    plain: str,
    start: int,
    words: str,
) -> list[int] | None:
    """Convert a position in `plain`, a text without markup, to a span in the original `text`.

    `words` begin at `start` in `plain`. Return None if their position in `text` is
    uncertain.
    """
    if plain == text:
        return _span(start, words)
    if not words:
        return None
    if text.count(words) != plain.count(words):
        return None
    earlier = plain.count(words, 0, start)
    position = text.find(words)
    for _ in range(earlier):
        position = text.find(words, position + len(words))
    if position < 0:
        return None
    return _span(position, words)


def with_span(
    details: dict[str, Any],
    span: list[int] | None,
) -> dict[str, Any]:
    """Add the span, if there is one, to the details of a score, and return the details."""
    if span is not None:
        details["span"] = span
    return details


def word_offset(
    text: str,
    answer: str,
    *,
    comes_first: bool = False,
) -> int:
    """Return the last offset at which an answer is a separate word; -1 if there is none.

    With `comes_first`, return the first offset.
    """
    length = len(answer)
    if comes_first:
        offset = text.find(answer)
    else:
        offset = text.rfind(answer)
    while offset >= 0:
        end = offset + length
        before = text[max(0, offset - 1) : offset]
        after = text[end : end + 1]
        if not _continues_word(before) and not _continues_word(after):
            return offset
        if comes_first:
            offset = text.find(answer, offset + 1)
        else:
            offset = text.rfind(answer, 0, end - 1)
    return -1


def _continues_word(neighbour: str) -> bool:
    """Return True if a character next to a word belongs to it: a letter or a digit, but not a Chinese character."""
    return neighbour.isalnum() and neighbour < "\u2e80"
