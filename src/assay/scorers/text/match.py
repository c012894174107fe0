"""Matching: does the answer equal, contain or fit what was expected?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ...core import AllOf, Outcome, Output, Sample, Score, UsageError
from ...registry import scorers
from ..answers import (
    AgainstTargets,
    accepted,
    in_every_answer,
    last_of,
    no_answer,
    no_target,
    without_nulls,
)
from ..options import check_option
from .normalize_text import (
    cjk_words,
    cjk_words_of_target,
    squad_words,
    squad_words_of_target,
)
from .whole_words import has_words


@scorers.register("exact_match")
@dataclass(frozen=True)
class ExactMatch:
    """1 if the answer equals a target, blanks at the ends aside; else 0."""

    ignore_case: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        answer = output.text.strip()
        if not answer and (silence := no_answer(output)):
            return silence
        if len(targets) == 1 and not self.ignore_case:
            return Score(
                1.0 if answer == targets[0].strip() else 0.0, Outcome.SCORED, answer
            )
        if self.ignore_case:
            folded = answer.casefold()
            return Score(
                float(any(folded == target.strip().casefold() for target in targets)),
                answer=answer,
            )
        return Score(
            float(any(answer == target.strip() for target in targets)), answer=answer
        )


@scorers.register("quasi_exact")
@dataclass(frozen=True)
class QuasiExactMatch(AgainstTargets):
    """1 if answer and target have the same words: case, punctuation and English articles aside, as in SQuAD."""

    tokens: str = "words"
    """`words` is SQuAD's normalizer; `cjk` strips all Unicode punctuation and compares CJK text by character."""

    def __post_init__(self) -> None:
        check_option("quasi_exact", "tokens", self.tokens, ("words", "cjk"))

    def compare(self, output: Output, targets: tuple[str, ...]) -> Score:
        """The score of an answer against the best target."""
        is_cjk = self.tokens == "cjk"
        words = tuple(cjk_words(output.text) if is_cjk else squad_words(output.text))
        expected = cjk_words_of_target if is_cjk else squad_words_of_target
        return Score(
            float(any(words == expected(target) for target in targets)),
            answer=" ".join(words),
        )


@scorers.register("includes")
@dataclass(frozen=True)
class Includes:
    """1 if a target stands in the answer as words of its own; for `AllOf`, if each of its parts does.

    `4` is not in `42`. Where a script has no blanks between words, as in Chinese, it may stand anywhere.
    """

    ignore_case: bool = True
    substring: bool = False
    """A target within longer words counts as well: `Rome` in `Jerome`."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not accepted(sample):
            return no_target(sample)
        empty = next(
            (
                one
                for target in without_nulls(sample)
                for one in _texts(target)
                if not one.strip()
            ),
            None,
        )
        if empty is not None:
            return in_every_answer(empty)
        if silence := no_answer(output):
            return silence
        text = output.text.casefold() if self.ignore_case else output.text
        for target in without_nulls(sample):
            parts = target.parts if isinstance(target, AllOf) else (str(target),)
            if all(self._has(text, part) for part in parts):
                return Score(
                    1.0,
                    answer=" … ".join(p if isinstance(p, str) else p[0] for p in parts),
                )
        return Score(0.0)

    def _has(self, text: str, part: str | tuple[str, ...]) -> bool:
        wanted = (part,) if isinstance(part, str) else part
        folded = (one.casefold() if self.ignore_case else one for one in wanted)
        return any(
            one in text if self.substring else has_words(text, one) for one in folded
        )


def _texts(target: object) -> Iterator[str]:
    """Every text that a target wants, those of its parts included."""
    for part in target.parts if isinstance(target, AllOf) else (str(target),):
        yield from (part,) if isinstance(part, str) else part


@scorers.register("regex")
@dataclass(frozen=True)
class Regex:
    """1 if what a pattern captures equals a target; without a target, if the pattern is found at all.

    The pattern is the task author's own: a slow one is slow on every long answer.
    """

    pattern: str
    group: int | str = 0
    """What is compared: the number or name of a group; 0 is all that matched."""
    match: str = "last"
    """Which match counts: `first` or `last`."""
    ignore_case: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __post_init__(self) -> None:
        try:
            compiled = _compile(self.pattern, self.ignore_case)
        except re.error as error:
            raise UsageError(
                f"scorer 'regex' cannot read its pattern {self.pattern!r}: {error}",
                fix="correct the pattern",
            ) from error
        groups = {*range(compiled.groups + 1), *compiled.groupindex}
        if self.group not in groups:
            raise UsageError(
                f"scorer 'regex' has no group {self.group!r} in its pattern",
                fix=f"one of {sorted(map(str, groups))}",
            )
        check_option("regex", "match", self.match, ("first", "last"))

    def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.targets and not accepted(sample):
            return no_target(sample)
        matches = _compile(self.pattern, self.ignore_case).finditer(output.text)
        found = next(matches, None) if self.match == "first" else last_of(matches)
        if found is None or found[self.group] is None:
            return no_answer(output) or Score(
                0.0, Outcome.UNPARSED if sample.targets else Outcome.SCORED
            )
        group = found[self.group]
        answer = group.strip()
        start = found.start(self.group) + len(group) - len(group.lstrip())
        details = {"span": [start, start + len(answer)]}
        if not sample.targets:
            return Score(1.0, answer=answer, details=details)
        fold = str.casefold if self.ignore_case else str
        is_right = any(fold(answer) == fold(t.strip()) for t in accepted(sample))
        return Score(float(is_right), answer=answer, details=details)


@lru_cache(maxsize=256)
def _compile(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
