"""Score MMLU-Pro with assay's rules, or with those of the official script.

The official script takes the first "answer is (X)", else the last "Answer: X" of the first line that has one, else the
last single capital from A to J, and guesses otherwise. Here nothing is guessed unless `guess` is set.
"""

import random
import re
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import gold_letters, last_of
from .choice import Choice

_DECLARED = re.compile(r"answer is \(?([A-J])\)?")
_ANSWER_LINE = re.compile(r"[aA]nswer:\s*([A-J])")
_ALONE = re.compile(r"\b[A-J]\b")
_LETTERS = "ABCDEFGHIJ"
_GUESS_SEED = 12345


@scorers.register("mmlu_pro")
@dataclass(frozen=True)
class MmluPro:
    """`acc` by the rules of scorer `choice`, and `official` as the published script reads the same answer."""

    guess: bool = False
    """Guess if nothing can be read, as upstream. The guess is always the same letter, since the seed is fixed."""
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
    """Return the letter the official script reads, None where it would guess."""
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
