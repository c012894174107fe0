"""Scorers that check whether an answer equals, contains or matches the target, or whether there is an answer at all.

A target must occur as separate words, not within longer ones. `4` is not in `42`,
`4.5`, `4,000` or `-4`, `Rome` not in `Jerome`, `can` not in `can't`, `C` not in `C++`.
But `4` is in `4.`, `4.0` and `$4`, and `Rome` in `Rome's`. In scripts that write words
without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan), a target may
occur anywhere. The same is true for Korean, whose particles follow a word without a
space.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
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
    whole_spellings,
    without_nulls,
)
from ..plain_text import plain_text
from ..scorer_options import check_option
from .normalize_text import (
    cjk_words,
    cjk_words_of_target,
    squad_words,
    squad_words_of_target,
)


@scorers.register("answered")
def answered(sample: Sample, output: Output) -> Score:
    """Return 1 if the output has text, media, JSON or likelihoods; 0 if it is empty."""
    has_answer = (
        output.likelihoods
        or output.media
        or output.text.strip()
        or output.json is not None
    )
    return Score(float(bool(has_answer)), answer=output.text or None)


answered.reads = ()  # type: ignore[attr-defined]


_NO_BREAKS = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Hangul, kana and Han."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0966-\u0dff"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u200c\u200d"
)
"""Accents and vowel signs: parts of a word that Python does not classify as letters."""
_ANY_LETTER = f"(?:[^\\W{_NO_BREAKS}]|[{_MARKS}])"
PLACES = 50
"""How many occurrences of a target are checked one by one. If there are more, a compiled pattern is faster."""
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})
_SIGNED = re.compile(r"[+-]\.?\d")
_THREE_DIGITS = re.compile(r"\d{3}(?!\d)")


def has_words(text: str, words: str) -> bool:
    """Return True if `words` occurs in `text` as whole words and numbers. Spaces around `words` are ignored."""
    is_ascii = text.isascii()
    words, before, after = _edges(words, is_ascii)
    if not is_ascii:
        text = text.translate(_MINUS)
    offset = text.find(words)
    for _ in range(PLACES):
        if offset < 0:
            return False
        if before.match(text, offset) and after.match(text, offset + len(words)):
            return True
        offset = text.find(words, offset + 1)
    return (
        re.search(f"{before.pattern}{re.escape(words)}{after.pattern}", text)
        is not None
    )


@lru_cache(maxsize=8192)
def _edges(
    words: str,
    is_ascii: bool,
) -> "tuple[str, re.Pattern[str], re.Pattern[str]]":
    """Return a stripped target with plain minus signs, and the patterns that must not match just before and after it.

    Results are cached, because every model is scored against the same targets.
    """
    words = (words.strip() or words).translate(_MINUS)
    start = _kind_of_start(words, is_ascii)
    end = _kind_of_end(words, is_ascii)
    return words, _before(start, is_ascii), _after(end, is_ascii)


def _kind_of_start(wanted: str, is_ascii: bool) -> str:
    """Classify a text's first character (letter, digit, …), which decides which characters may precede the text."""
    if not wanted:
        return "other"
    if _SIGNED.match(wanted):
        return "sign"
    if wanted[0].isdecimal():
        return "thousand" if _THREE_DIGITS.match(wanted) else "digit"
    if _is_letter(wanted[0], is_ascii):
        return "letter"
    return "other"


def _kind_of_end(wanted: str, is_ascii: bool) -> str:
    """Classify a text's last character (letter, digit, …), which decides which characters may follow the text."""
    if not wanted:
        return "other"
    last = wanted[-1]
    if last.isdecimal():
        return "digit"
    if _is_letter(last, is_ascii):
        return "letter"
    return "other"


def _is_letter(character: str, is_ascii: bool) -> bool:
    return re.match(_letter(is_ascii), character) is not None


def _letter(is_ascii: bool) -> str:
    # The long pattern takes a while to compile, and most texts do not need it.
    return r"\w" if is_ascii else _ANY_LETTER


@cache
def _before(kind: str, is_ascii: bool) -> "re.Pattern[str]":
    """Return a pattern of the characters that must not precede a text whose first character is of this kind."""
    letter = _letter(is_ascii)
    if kind == "sign":
        # Otherwise the character is a minus between two numbers.
        return re.compile(rf"(?<!{letter})(?<![)\]])")
    number = r"(?<!\d\.)(?<!\s\.)(?<!\A\.)(?<![\s(=:]-)(?<!\A-)"
    edges = {"letter": "", "digit": number, "thousand": rf"{number}(?<!\d,)"}
    return re.compile(rf"(?<!{letter}){edges[kind]}" if kind in edges else "")


@cache
def _after(kind: str, is_ascii: bool) -> "re.Pattern[str]":
    """Return a pattern of the characters that must not follow a text whose last character is of this kind."""
    letter = _letter(is_ascii)
    edges = {
        "digit": r"(?!\.\d*[1-9])(?!,\d{3}(?!\d))",
        "letter": rf"(?!['\u2019](?!s(?!{letter})){letter})",
    }
    return re.compile(
        rf"(?!{letter})(?![+#]+(?!{letter})){edges[kind]}" if kind in edges else ""
    )


@scorers.register("exact_match")
@dataclass(frozen=True)
class ExactMatch:
    """1 if the answer equals a target, except for surrounding whitespace; otherwise 0."""

    ignore_case: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    compares_text: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        answer = plain_text(output.text).strip()
        if not answer and (silence := no_answer(output)):
            return silence
        is_right = any(self._are_equal(answer, target) for target in targets)
        return Score(1.0 if is_right else 0.0, Outcome.SCORED, answer)

    def _are_equal(self, answer: str, target: str) -> bool:
        target = plain_text(target).strip()
        if self.ignore_case:
            return answer.casefold() == target.casefold()
        return answer == target


@scorers.register("quasi_exact")
@dataclass(frozen=True)
class QuasiExactMatch(AgainstTargets):
    """1 if answer and target have the same words, except for case, punctuation and English articles, as in SQuAD."""

    tokens: str = "words"
    """How words are compared. `words` is SQuAD's normalizer. `cjk` removes all
    punctuation, and compares Chinese, Japanese and Korean text character by character.
    """

    def __post_init__(self) -> None:
        check_option("quasi_exact", "tokens", self.tokens, ("words", "cjk"))

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return the score of an answer against the target that fits best."""
        if self.tokens == "cjk":
            words = tuple(cjk_words(output.text))
            words_of_target = cjk_words_of_target
        else:
            words = tuple(squad_words(output.text))
            words_of_target = squad_words_of_target
        is_right = any(words == words_of_target(target) for target in targets)
        return Score(float(is_right), answer=" ".join(words))


@scorers.register("includes")
@dataclass(frozen=True)
class Includes:
    """1 if a target occurs in the answer as separate words; for an `AllOf` target, if every part does.

    `4` is not in `42`. In a script without spaces between words, such as Chinese, a
    target may occur anywhere.
    """

    ignore_case: bool = True
    substring: bool = False
    """Whether a target may also occur within a longer word: `Rome` in `Jerome`."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    compares_text: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not accepted(sample):
            return no_target(sample)
        targets = without_nulls(sample)
        for target in targets:
            for target_text in _texts(target):
                if not target_text.strip():
                    return in_every_answer(target_text)
        silence = no_answer(output)
        if silence:
            return silence
        text = self._comparable(output.text)
        for target in (*targets, *whole_spellings(targets)):
            if isinstance(target, AllOf):
                parts = target.parts
            else:
                parts = (str(target),)
            if all(self._has(text, part) for part in parts):
                return Score(
                    1.0,
                    answer=" … ".join(p if isinstance(p, str) else p[0] for p in parts),
                )
        return Score(0.0)

    def _has(
        self,
        text: str,
        part: str | tuple[str, ...],
    ) -> bool:
        spellings = (part,) if isinstance(part, str) else part
        comparable = [self._comparable(spelling) for spelling in spellings]
        if self.substring:
            return any(spelling in text for spelling in comparable)
        return any(has_words(text, spelling) for spelling in comparable)

    def _comparable(self, text: str) -> str:
        plain = plain_text(text)
        return plain.casefold() if self.ignore_case else plain


def _texts(target: object) -> Iterator[str]:
    """Yield all texts of a target, including the parts of an `AllOf`."""
    if isinstance(target, AllOf):
        parts = target.parts
    else:
        parts = (str(target),)
    for part in parts:
        yield from (part,) if isinstance(part, str) else part


@scorers.register("regex")
@dataclass(frozen=True)
class Regex:
    """1 if the text captured by a pattern equals a target; without a target, 1 if the pattern matches at all.

    The task author writes the pattern. A slow pattern is slow on every long answer.
    """

    pattern: str
    group: int | str | None = None
    """The number or name of the pattern's capture group that is compared with the target; 0 is the whole match.

    By default it is the pattern's only group. If the pattern has none or several, it is
    the whole match.
    """
    match: str = "last"
    """Whether the `first` or the `last` match is used."""
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
        if self.group is not None and self.group not in groups:
            raise UsageError(
                f"scorer 'regex' has no group {self.group!r} in its pattern",
                fix=f"one of {sorted(map(str, groups))}",
            )
        check_option("regex", "match", self.match, ("first", "last"))

    def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.targets and not accepted(sample):
            return no_target(sample)
        match = self._find(output.text)
        if match is None:
            silence = no_answer(output)
            if silence is not None:
                return silence
            return Score(0.0, Outcome.UNPARSED if sample.targets else Outcome.SCORED)
        group = match[self._compared]
        answer = group.strip()
        blanks = len(group) - len(group.lstrip())
        start = match.start(self._compared) + blanks
        details = {"span": [start, start + len(answer)]}
        if not sample.targets:
            return Score(1.0, answer=answer, details=details)
        targets = [self._comparable(target) for target in accepted(sample)]
        is_right = self._comparable(answer) in targets
        return Score(
            float(is_right),
            answer=answer,
            details=details,
        )

    def _find(self, text: str) -> re.Match[str] | None:
        """Return the first or last match of the pattern.

        Return None if nothing matches, or if the match does not include the capture
        group.
        """
        matches = _compile(self.pattern, self.ignore_case).finditer(text)
        if self.match == "first":
            match = next(matches, None)
        else:
            match = last_of(matches)
        if match is None or match[self._compared] is None:
            return None
        return match

    @property
    def _compared(self) -> int | str:
        """The number or name of the capture group whose text is compared with the target."""
        if self.group is not None:
            return self.group
        is_only_one = _compile(self.pattern, self.ignore_case).groups == 1
        return 1 if is_only_one else 0

    def _comparable(self, text: str) -> str:
        """Return a text as it is compared: in its plain form (`plain_text`) and
        stripped. With `ignore_case`, also case-folded.
        """
        plain = plain_text(text).strip()
        return plain.casefold() if self.ignore_case else plain


@lru_cache(maxsize=256)
def _compile(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
