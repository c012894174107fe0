"""How sure a yes is: the verdict of `yes_no` with the probability of yes beside it, for metrics that rank answers.

The probability comes from the first token of the answer, where the backend reports its alternatives; without them the
verdict stands for it, 1 or 0.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from .yes_no import YesNo


@scorers.register("yes_probability")
@dataclass(frozen=True)
class YesProbability(YesNo):
    """1 if the answer says yes where the target does, or no where it does; `details["score"]` ranks it."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "auroc")

    def __call__(self, sample: Sample, output: Output) -> Score:
        verdict = super().__call__(sample, output)
        probability = probability_of_yes(output)
        if probability is None:
            return verdict
        return replace(verdict, details={**verdict.details, "score": probability})


def probability_of_yes(output: Output) -> float | None:
    """Yes against no among the alternatives of the first token; `None` where neither was reported."""
    tokens = output.candidates[0].tokens if output.candidates else ()
    if not tokens:
        return None
    first = tokens[0]
    weights = {"yes": 0.0, "no": 0.0}
    # Backends differ in whether the token that was taken is among its alternatives.
    for text, logprob in dict([(first.text, first.logprob), *first.top]).items():
        word = text.strip().lower()
        if word in weights:
            weights[word] += math.exp(logprob)
    total = weights["yes"] + weights["no"]
    return weights["yes"] / total if total else None
