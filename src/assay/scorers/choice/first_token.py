"""Score multiple choice by the most probable letter at the first token.

All reported alternatives of the first token that spell a letter (`A`, ` A`, `(A`, `a`) count for that letter. If
none does, the answer is unparsed: nothing is guessed from the text after it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...core import Outcome, Output, Sample, Score, Token
from ...registry import scorers
from ..answers import gold_letters, no_target
from .choice import LETTERS

AROUND = " \t\n▁Ġ().:*[]\"'"
"""Characters around a letter in tokens: blanks, marks of tokenizers, brackets and dots."""


@scorers.register("first_token")
@dataclass(frozen=True)
class FirstToken:
    """1 if the most probable letter at the first token is a target's; `mass` is the probability of all letters."""

    reads: ClassVar[tuple[str, ...]] = ("logprobs", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.choices or not sample.targets:
            return no_target(sample, "choices" if sample.targets else "target")
        if not output.candidates or not output.candidates[0].tokens:
            reason = "the model reported no log-probabilities for its first token"
            return Score(None, Outcome.MODEL_ERROR, details={"reason": reason})
        tokens = output.candidates[0].answer_tokens
        if not tokens:
            reason = (
                "the tokens of the reasoning are not followed by those of an answer"
            )
            return Score(0.0, Outcome.UNPARSED, details={"reason": reason})
        first = tokens[0]
        letters = LETTERS[: len(sample.choices)]
        chances = letter_chances(first, letters)
        if not chances:
            return Score(0.0, Outcome.UNPARSED, details={"first": first.text})
        # Of two equally probable letters the first in the alphabet is taken, so that the answer is always the same.
        answer = max(sorted(chances), key=chances.__getitem__)
        is_right = answer in gold_letters(sample)
        mass = math.fsum(chances.values())
        return Score(
            float(is_right),
            answer=answer,
            details={"chances": chances, "mass": mass},
        )


def letter_chances(token: Token, letters: Sequence[str]) -> Mapping[str, float]:
    """Return the probability of each letter at one token, summed over the spellings that were reported."""
    alternatives = dict(token.top)
    alternatives.setdefault(token.text, token.logprob)
    chances: dict[str, float] = {}
    for text, logprob in alternatives.items():
        letter = text.strip(AROUND).upper()
        if len(letter) != 1 or letter not in letters:
            continue
        if math.isnan(logprob):
            continue
        chance = math.exp(min(logprob, 0.0))
        earlier = chances.get(letter, 0.0)
        chances[letter] = earlier + chance
    return chances
