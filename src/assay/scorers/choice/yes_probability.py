"""Score yes or no, with the probability of yes for metrics that rank answers.

The probability comes from the first token of the answer, if the backend reports its alternatives. Otherwise it is 1 or
0, by the verdict.
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
    """1 if the answer says what the target says, yes or no; `details["score"]` ranks it."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "auroc")

    def __call__(self, sample: Sample, output: Output) -> Score:
        verdict = super().__call__(sample, output)
        probability = probability_of_yes(output)
        if probability is None:
            return verdict
        return replace(verdict, details={**verdict.details, "score": probability})


def probability_of_yes(output: Output) -> float | None:
    """Return the share of yes among yes and no at the first token; None if neither was reported."""
    tokens = output.candidates[0].answer_tokens if output.candidates else ()
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
