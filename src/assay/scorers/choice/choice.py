"""Score multiple choice from generated text.

The rules that read the answer are in `choice_rules`. The rule that was used is stored
with every score. With `extractor: judge`, a model reads the answer instead
(`read_by_judge`).

The scorer for MMLU-Pro also has the metric of the official MMLU-Pro script. This script
takes the first "answer is (X)". If there is none, it takes the last "Answer: X" of the
first line that has one, or the last single capital from A to J. If nothing matches, it
guesses. Here nothing is guessed unless `guess` is set.
"""

import random
import re
import string
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...core import (
    Outcome,
    Output,
    Sample,
    Score,
    UsageError,
    without_letters,
)
from ...registry import scorers
from ..answers import gold_letters, last_of, no_answer, no_target
from ..spans import evidence_span, with_span
from ..text.match import Includes
from .choice_answer import BEFORE_LETTER, Extraction
from .choice_rules import extract_choice

LETTERS = string.ascii_uppercase
SHORT_ANSWER = 8
"""Maximum length of an answer whose letter is not highlighted. In so short an answer
the reader sees the letter anyway.
"""


@scorers.register("choice")
@dataclass(frozen=True)
class Choice:
    """1 if the answer chooses the option that the target names; the outcome is `unparsed` if no choice can be read."""

    letters: str = ""
    """The option letters, such as `ABCD`, for questions whose text lists the options."""
    extractor: str = "rules"
    """How the answer is read: by `rules`, or by `judge`, the model given with `--judge`."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __new__(
        cls,
        letters: str = "",
        extractor: str = "rules",
        **_options: object,
    ) -> "Choice":
        """Return a `JudgedChoice` if a model reads the answers, because such a scorer is asynchronous."""
        from .read_by_judge import JudgedChoice

        if extractor not in ("rules", "judge"):
            raise UsageError(
                f"scorer 'choice' has no extractor {extractor!r}", fix="rules or judge"
            )
        return super().__new__(JudgedChoice if extractor == "judge" else cls)

    def __call__(self, sample: Sample, output: Output) -> Score:
        options = self.options_of(sample)
        if isinstance(options, Score):
            return options
        is_cut = output.stop_reason == "length"
        extraction = extract_choice(output.text, options, is_cut=is_cut)
        return self.score(sample, output, extraction)

    def options_of(self, sample: Sample) -> dict[str, str] | Score:
        """Return the texts of the options by letter, or the `data_error` score of a sample that cannot be judged."""
        if not sample.targets:
            return no_target(sample)
        options = dict(zip(LETTERS, without_letters(sample.choices), strict=False))
        if not options:
            options = dict.fromkeys(self.letters, "")
        if not options:
            return no_target(sample, "choices")
        golds = gold_letters(sample)
        has_letters = len(sample.choices) <= len(LETTERS)
        if has_letters and golds <= options.keys():
            return options
        targets = "/".join(sorted(golds))
        letters = "/".join(options)
        reason = f"target {targets} is not among the letters {letters}"
        return Score(None, Outcome.DATA_ERROR, details={"reason": reason})

    def score(
        self,
        sample: Sample,
        output: Output,
        extraction: Extraction,
    ) -> Score:
        """Return the score for the letter that was read from an answer.

        If none was read, the outcome gives the reason.
        """
        letter = extraction.answer
        details: dict[str, Any] = {
            "rule": extraction.rule,
            "evidence": extraction.evidence,
            "options": sum(map(bool, sample.choices)),
        }
        if letter is None:
            outcome = _outcome_without_letter(output, extraction)
            return Score(0.0, outcome, details=details)
        if len(output.text) > SHORT_ANSWER:
            _add_span(details, output.text, extraction, letter)
        is_right = letter in gold_letters(sample)
        return Score(
            float(is_right),
            answer=letter,
            details=details,
        )


def _outcome_without_letter(output: Output, extraction: Extraction) -> Outcome:
    if output.stop_reason == "length":
        return Outcome.TRUNCATED
    silence = no_answer(output)
    if silence:
        return silence.outcome
    return Outcome(extraction.outcome)


def _add_span(
    details: dict[str, Any],
    text: str,
    extraction: Extraction,
    letter: str,
) -> None:
    """Add the span of the letter that was read to the details of a score."""
    comes_first = extraction.rule not in BEFORE_LETTER
    span = evidence_span(text, extraction.evidence, letter, comes_first=comes_first)
    with_span(details, span)


@scorers.register("choice_or_match")
@dataclass(frozen=True)
class ChoiceOrMatch:
    """Score rows with options like `choice`, and other rows like `includes`.

    `details` names the scorer that was used.
    """

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        scored_as = "choice" if sample.choices else "includes"
        scorer = _CHOICE if sample.choices else _INCLUDES
        score = scorer(sample, output)
        return replace(score, details={**score.details, "scored_as": scored_as})


_CHOICE, _INCLUDES = Choice(), Includes()


_DECLARED = re.compile(r"answer is \(?([A-J])\)?")
_ANSWER_LINE = re.compile(r"[aA]nswer:\s*([A-J])")
_ALONE = re.compile(r"\b[A-J]\b")
_LETTERS = "ABCDEFGHIJ"
_GUESS_SEED = 12345


@scorers.register("mmlu_pro")
@dataclass(frozen=True)
class MmluPro:
    """Two metrics: `acc` by the rules of scorer `choice`, and `official` by the rules
    of MMLU-Pro's published script.
    """

    guess: bool = False
    """Whether to guess if nothing can be read, as in MMLU-Pro's script.

    The seed is fixed, so the guess is always the same letter.
    """
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        ours = Choice()(sample, output)
        if not isinstance(ours.value, float):
            return ours
        letter = official_letter(output.text) or (
            guessed_letter() if self.guess else None
        )
        is_right = letter is not None and letter in gold_letters(sample)
        return Score(
            {"acc": ours.value, "official": float(is_right)},
            ours.outcome,
            ours.answer,
            {**ours.details, "official": letter},
        )


def official_letter(text: str) -> str | None:
    """Return the letter that MMLU-Pro's official script reads; None if it would guess."""
    declared = _DECLARED.search(text) or _last_of_first_line(text)
    if declared:
        return declared[1]
    alone = last_of(_ALONE.finditer(text))
    return alone[0] if alone else None


def _last_of_first_line(text: str) -> re.Match[str] | None:
    first = _ANSWER_LINE.search(text)
    if first is None:
        return None
    end = text.find("\n", first.start())
    on_line = (
        m
        for m in _ANSWER_LINE.finditer(text, first.start())
        if end < 0 or m.start() < end
    )
    return last_of(on_line)


def guessed_letter() -> str:
    """Return the letter that the official script guesses.

    It is always the same, because the script sets its seed each time.
    """
    return random.Random(_GUESS_SEED).choice(_LETTERS)
