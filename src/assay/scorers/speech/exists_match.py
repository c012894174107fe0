"""Exists-match for spoken answers: a reference must occur in what was said, word for word, wherever it stands.

Speech has no layout to extract an answer from. References may be alternatives (a tuple or list) or belong together
(`AllOf`), in any nesting.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from ...core import AllOf, Output, Sample, Score
from ...registry import scorers
from .._characters import CategoryTable
from ..answers import data_error, is_text, no_answer, no_target, without_nulls

_CJK = "\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")
_BETWEEN = "\x1f"


@scorers.register("exists_match")
@dataclass(frozen=True)
class ExistsMatch:
    """1 if a reference occurs in the answer as whole words; for `AllOf`, if each of its parts does."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.targets:
            return no_target(sample)
        targets = without_nulls(sample)
        if not _is_text(targets):
            return no_target(sample)
        if empty := _without_words(targets):
            return data_error(
                f"reference {empty!r} has no words, so it would occur in every answer"
            )
        if silence := no_answer(output):
            return silence
        found = _find(targets, _spaced(output.text))
        return Score(float(bool(found)), answer=" … ".join(found) or None)


def spoken_tokens(text: str) -> list[str]:
    """Lower-case words without punctuation; each Chinese, Japanese or Korean character and each sign stands alone."""
    return _TOKEN.findall(
        unicodedata.normalize("NFKC", text).lower().translate(_separators())
    )


def _find(wanted: Any, tokens: str) -> tuple[str, ...]:
    """The references that fulfil `wanted`; empty if they do not."""
    if isinstance(wanted, AllOf):
        parts = [_find(part, tokens) for part in wanted.parts]
        return tuple(one for part in parts for one in part) if all(parts) else ()
    if isinstance(wanted, (tuple, list)):
        return next((found for one in wanted if (found := _find(one, tokens))), ())
    reference = str(wanted)
    return (reference,) if _spaced_reference(reference) in tokens else ()


def _is_text(wanted: Any) -> bool:
    if isinstance(wanted, AllOf):
        return _is_text(wanted.parts)
    if isinstance(wanted, (tuple, list)):
        return all(map(_is_text, wanted))
    return is_text((wanted,))


def _without_words(wanted: Any) -> str | None:
    """The first reference of which tokenizing leaves nothing."""
    if isinstance(wanted, AllOf):
        return _without_words(wanted.parts)
    if isinstance(wanted, (tuple, list)):
        return next(
            (empty for one in wanted if (empty := _without_words(one)) is not None),
            None,
        )
    reference = str(wanted)
    return reference or "''" if _spaced_reference(reference) == _BETWEEN else None


def _spaced(text: str) -> str:
    """Tokens between separators, so that a run of whole tokens is a plain substring."""
    tokens = spoken_tokens(text)
    return _BETWEEN + "".join(token + _BETWEEN for token in tokens)


@lru_cache(maxsize=8192)
def _spaced_reference(text: str) -> str:
    return _spaced(text)


@cache
def _separators() -> CategoryTable:
    """Punctuation and invisible characters as blanks, signs (`$`, `+`) as tokens of their own."""

    def apart(character: str, category: str) -> str:
        if category[0] in "PZ" or category in ("Cc", "Cf"):
            return " "
        return f" {character} " if category[0] == "S" else character

    return CategoryTable(apart)
