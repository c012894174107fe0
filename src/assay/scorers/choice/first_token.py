"""Multiple choice by the first token: which letter did the model hold most probable before it wrote anything?

All reported alternatives of the first token that spell a letter (`A`, ` A`, `(A`, `a`) count for that letter. Where
none of them does, the answer is unparsed: nothing is guessed from what the model wrote after it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...core import Outcome, Output, Sample, Score, Token
from ...registry import scorers
from ..answers import accepted, no_target
from .choice import LETTERS

AROUND = " \t\n▁Ġ().:*[]\"'"
"""What tokens carry beside a letter: blanks, marks of tokenizers, brackets and dots."""


@scorers.register("first_token")
@dataclass(frozen=True)
class FirstToken:
    """1 if the most probable letter at the first token is a target's; `mass` is what all letters together got."""

    reads: ClassVar[tuple[str, ...]] = ("logprobs", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.choices or not sample.targets:
            return no_target(sample, "choices" if sample.targets else "target")
        tokens = output.candidates[0].tokens if output.candidates else ()
        if not tokens:
            reason = "the model reported no log-probabilities for its first token"
            return Score(None, Outcome.MODEL_ERROR, details={"reason": reason})
        chances = letter_chances(tokens[0], LETTERS[: len(sample.choices)])
        if not chances:
            return Score(0.0, Outcome.UNPARSED, details={"first": tokens[0].text})
        # Of two letters held equally probable the first in the alphabet is taken: always the same answer.
        answer = max(sorted(chances), key=chances.__getitem__)
        golds = {target.strip().upper() for target in accepted(sample)}
        details = {"chances": chances, "mass": math.fsum(chances.values())}
        return Score(float(answer in golds), answer=answer, details=details)


def letter_chances(token: Token, letters: Sequence[str]) -> Mapping[str, float]:
    """The probability of each letter at one token, summed over the spellings that were reported."""
    alternatives = dict(token.top)
    alternatives.setdefault(token.text, token.logprob)
    chances: dict[str, float] = {}
    for text, logprob in alternatives.items():
        letter = text.strip(AROUND).upper()
        if len(letter) == 1 and letter in letters and not math.isnan(logprob):
            chances[letter] = chances.get(letter, 0.0) + math.exp(min(logprob, 0.0))
    return chances
