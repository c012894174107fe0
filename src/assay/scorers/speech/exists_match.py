"""Exists-match for spoken answers: the words of a reference must occur anywhere in the transcript.

Speech has no layout from which an answer could be extracted. References may be
alternatives (a tuple or list), or all required (`AllOf`), nested to any depth.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar

from ...core import AllOf, Output, Sample, Score
from ...registry import scorers
from ..answers import data_error, is_text, no_answer, no_target, without_nulls
from ..plain_text import CategoryTable

_CJK = "\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")
_BETWEEN = "\x1f"


@scorers.register("exists_match")
@dataclass(frozen=True)
class ExistsMatch:
    """1 if a reference occurs in the answer as whole words; for `AllOf`, if every part occurs."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.targets:
            return no_target(sample)
        targets = without_nulls(sample)
        if not _is_text(targets):
            return no_target(sample)
        empty = _without_words(targets)
        if empty:
            return data_error(
                f"reference {empty!r} has no words, so it would occur in every answer"
            )
        silence = no_answer(output)
        if silence:
            return silence
        matches = _find(targets, _spaced(output.text))
        return Score(float(bool(matches)), answer=" … ".join(matches) or None)


def spoken_tokens(text: str) -> list[str]:
    """Return the lower-case words of a text without punctuation.

    Each Chinese, Japanese or Korean character and each symbol, such as `$`, is a separate
    token.
    """
    return _TOKEN.findall(
        unicodedata.normalize("NFKC", text).lower().translate(_separators())
    )


def _find(references: object, tokens: str) -> tuple[str, ...]:
    """Return the references that occur in the tokens, if they satisfy the target; otherwise an empty tuple.

    Any one of several alternatives is enough. Of an `AllOf`, every part must occur.
    """
    if isinstance(references, AllOf):
        matches: list[str] = []
        for part in references.parts:
            match = _find(part, tokens)
            if not match:
                return ()
            matches += match
        return tuple(matches)
    if isinstance(references, (tuple, list)):
        for alternative in references:
            match = _find(alternative, tokens)
            if match:
                return match
        return ()
    reference = str(references)
    if _spaced_reference(reference) in tokens:
        return (reference,)
    return ()


def _is_text(references: object) -> bool:
    """Return True if every reference is a text or a number."""
    if isinstance(references, AllOf):
        return _is_text(references.parts)
    if isinstance(references, (tuple, list)):
        return all(map(_is_text, references))
    return is_text((references,))


def _without_words(references: object) -> str | None:
    """Return the first reference without a token, or None."""
    if isinstance(references, AllOf):
        return _without_words(references.parts)
    if isinstance(references, (tuple, list)):
        for alternative in references:
            empty = _without_words(alternative)
            if empty is not None:
                return empty
        return None
    reference = str(references)
    if _spaced_reference(reference) != _BETWEEN:
        return None
    return reference or "''"


def _spaced(text: str) -> str:
    """Return tokens as one text with separators, in which a sequence of whole tokens can be found as a substring."""
    tokens = spoken_tokens(text)
    return _BETWEEN + "".join(token + _BETWEEN for token in tokens)


@lru_cache(maxsize=8192)
def _spaced_reference(text: str) -> str:
    return _spaced(text)


@cache
def _separators() -> CategoryTable:
    """Return a table for `str.translate`: punctuation becomes spaces, and symbols (`$`, `+`) get spaces around them."""

    def apart(character: str, category: str) -> str:
        if category[0] in "PZ" or category in ("Cc", "Cf"):
            return " "
        if category[0] == "S":
            return f" {character} "
        return character

    return CategoryTable(apart)
