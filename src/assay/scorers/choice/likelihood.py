"""Multiple choice by likelihood: which option would the model rather have written?

`acc` takes the most probable continuation, `acc_norm` divides by the characters of the option, `acc_bytes` by its
UTF-8 bytes, `acc_pmi` subtracts what the option is worth without the question. Letters have `acc` alone, since all are
of one length. The blank before an option belongs
to the continuation and is not counted as its length. Of options that are equally probable the first is taken, as other
systems do; `ties` in the details says so, and the table counts them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Outcome, Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, data_error, no_target
from ..options import check_option
from .choice import LETTERS


@scorers.register("choice_likelihood")
@dataclass(frozen=True)
class ChoiceLikelihood:
    """1 under each normalization whose best option is a target's letter."""

    continuation: str = "text"
    """What was weighed, as the template of the same name says: each option's `text`, or its `letter`.

    Where the output's details name the `continuations` that were weighed, the lengths of those texts count.
    """
    reads: ClassVar[tuple[str, ...]] = ("likelihood", "target")

    def __post_init__(self) -> None:
        check_option(
            "choice_likelihood", "continuation", self.continuation, ("text", "letter")
        )

    def __call__(self, sample: Sample, output: Output) -> Score:
        choices = sample.choices
        if not choices or not sample.targets:
            return no_target(sample, "choices" if sample.targets else "target")
        letters = {
            letter: place for place, letter in enumerate(LETTERS[: len(choices)])
        }
        golds = {letters.get(target.strip().upper()) for target in accepted(sample)}
        if None in golds or len(choices) > len(LETTERS):
            return data_error(
                f"target {sample.target!r} is not a letter of {len(choices)} choices"
            )
        weights = [likelihood.logprob for likelihood in output.likelihoods]
        if len(weights) not in (len(choices), 2 * len(choices)) or any(
            not w < math.inf for w in weights
        ):
            reason = f"{len(weights)} likelihoods for {len(choices)} choices, or one that is not a number"
            return Score(None, Outcome.MODEL_ERROR, details={"reason": reason})
        option_weights = weights[: len(choices)]
        if not any(math.isfinite(weight) for weight in option_weights):
            reason = "every option has probability 0, so none is the most probable"
            return Score(
                None,
                Outcome.MODEL_ERROR,
                details={"reason": reason, "logprobs": _plain(weights)},
            )
        columns = {"acc": option_weights}
        if self.continuation == "text":
            # Letters are all of one length: dividing by it says nothing new.
            columns |= _normalized(option_weights, self._weighed(choices, output))
        alone = _unconditioned(output, weights[len(choices) :], len(choices))
        if alone is not None:
            columns["acc_pmi"] = [
                weight - before
                for weight, before in zip(option_weights, alone, strict=True)
            ]
        picks = {name: _best(column) for name, column in columns.items()}
        return Score(
            {name: float(pick in golds) for name, (pick, _) in picks.items()},
            answer=LETTERS[picks["acc"][0]],
            details={
                "picks": {name: LETTERS[pick] for name, (pick, _) in picks.items()},
                "ties": {name: tied for name, (_, tied) in picks.items() if tied},
                "logprobs": _plain(weights),
            },
        )

    @staticmethod
    def _weighed(choices: Sequence[str], output: Output) -> Sequence[str]:
        continuations: Sequence[str] = output.details.get("continuations", ())
        if len(continuations) >= len(choices):
            return [text.removeprefix(" ") for text in continuations[: len(choices)]]
        return choices


def _plain(weights: Sequence[float]) -> list[float | str]:
    """JSON has no infinities: `-inf` is written as text, as in the record of the answer."""
    return [weight if math.isfinite(weight) else str(weight) for weight in weights]


def _normalized(
    weights: Sequence[float], texts: Sequence[str]
) -> dict[str, list[float]]:
    # An empty option has no length to divide by; it keeps its plain likelihood.
    chars = [max(1, len(text)) for text in texts]
    sizes = [max(1, len(text.encode("utf-8", "surrogatepass"))) for text in texts]
    return {
        "acc_norm": [
            weight / length for weight, length in zip(weights, chars, strict=True)
        ],
        "acc_bytes": [
            weight / size for weight, size in zip(weights, sizes, strict=True)
        ],
    }


def _unconditioned(
    output: Output, extra: Sequence[float], count: int
) -> Sequence[float] | None:
    """What each option is worth without the question: weighed as further continuations, or told in the details."""
    logprobs: Any = output.details.get("unconditioned", extra)
    if len(logprobs) != count:
        return None
    numbers = [float(number) for number in logprobs]
    return numbers if all(math.isfinite(number) for number in numbers) else None


def _best(column: Sequence[float]) -> tuple[int, int]:
    """The first of the highest, and how many others are as high."""
    top = max(column)
    return column.index(top), sum(1 for weight in column if weight == top) - 1
