"""Where in an answer something was read: `details["span"]`, start and end in characters of `output.text`.

Pages and `assay show` mark the place. Rules often read a plainer form of the answer, without markup and with one
spelling of numbers; the place is then looked for in the answer itself, and left out where it is in doubt.
"""

from typing import Any

MARKUP_CHARACTERS = 12
"""As far behind its words an answer may stand: `The answer is **B**`."""


def evidence_span(
    text: str, evidence: str, answer: str, *, comes_first: bool = False
) -> list[int] | None:
    """Where an answer stands among the words it was read by; these words come from a plainer form of the text.

    Of several places it is the last one, or the first where the answer `comes_first` and reasons follow.
    """
    if not evidence:
        return None
    at, place = (
        text.find(evidence),
        own_place(evidence, answer, comes_first=comes_first),
    )
    if place < 0:
        return None if at < 0 else [at, at + len(evidence)]
    if at >= 0:
        return [at + place, at + place + len(answer)]
    before = evidence[:place].rstrip(" ([{\"'")
    at = text.find(before) if before or comes_first else -1
    if at < 0:
        return None
    start = at + len(before)
    place = own_place(
        text[start : start + len(answer) + MARKUP_CHARACTERS], answer, comes_first=True
    )
    return None if place < 0 else [start + place, start + place + len(answer)]


def occurrence_span(text: str, plain: str, start: int, words: str) -> list[int] | None:
    """Where `words`, found at `start` of a plainer form of the text, stand in the text itself."""
    if plain == text:
        return [start, start + len(words)]
    if not words or text.count(words) != plain.count(words):
        return None
    at = -1
    for _ in range(plain.count(words, 0, start) + 1):
        at = text.find(words, at + 1 if at < 0 else at + len(words))
    return None if at < 0 else [at, at + len(words)]


def with_span(details: dict[str, Any], span: list[int] | None) -> dict[str, Any]:
    """Details with a span, where there is one."""
    if span is not None:
        details["span"] = span
    return details


def own_place(text: str, answer: str, *, comes_first: bool = False) -> int:
    """The first or last place of an answer in a text where it is a word of its own; -1 where there is none."""
    length = len(answer)
    at = text.find(answer) if comes_first else text.rfind(answer)
    while at >= 0:
        if not _is_word(text[max(0, at - 1) : at]) and not _is_word(
            text[at + length : at + length + 1]
        ):
            return at
        at = (
            text.find(answer, at + 1)
            if comes_first
            else text.rfind(answer, 0, at + length - 1)
        )
    return -1


def _is_word(neighbour: str) -> bool:
    """Whether a character goes on with a word: Chinese ones do not with a letter."""
    return neighbour.isalnum() and neighbour < "\u2e80"
