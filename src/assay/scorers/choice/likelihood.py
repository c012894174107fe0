"""Score multiple choice by log-probabilities: of whole options, or of the letters at the first token.

Each metric picks the option with the highest value. `acc` compares log-likelihoods,
`acc_norm` divides them by the number of characters of the option, and `acc_bytes` by
its number of UTF-8 bytes. `acc_pmi` subtracts the log-likelihood of the option without
the question. Letters have only `acc`, because all have the same length. The space
before an option is part of the scored text, but does not count for its length. If
several options have the same value, the first one is taken, as in other systems. `ties`
in the details records this, and the table shows how often it happened.

`first_token` picks the most probable letter at the first token. It adds up the
probabilities of all reported tokens that write a letter in different ways (`A`, ` A`,
`(A`, `a`). If there are none, the answer is unparsed: nothing is guessed from the text
after it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Outcome, Output, Sample, Score, Token
from ...registry import scorers
from ..answers import data_error, gold_letters, no_target
from ..scorer_options import check_option
from .choice import LETTERS


@scorers.register("choice_likelihood")
@dataclass(frozen=True)
class ChoiceLikelihood:
    """For each normalization (`acc`, `acc_norm`, …): 1 if the most likely option is right."""

    continuation: str = "text"
    """What was scored for each option: its `text` or its `letter`. The template's
    option of the same name must be equal.

    If the output's details have `continuations`, the lengths of these texts are used
    for normalization.
    """
    reads: ClassVar[tuple[str, ...]] = ("likelihood", "target")

    def __post_init__(self) -> None:
        check_option(
            "choice_likelihood",
            "continuation",
            self.continuation,
            ("text", "letter"),
        )

    def __call__(self, sample: Sample, output: Output) -> Score:
        choices = sample.choices
        if not choices or not sample.targets:
            return no_target(sample, "choices" if sample.targets else "target")
        letters = LETTERS[: len(choices)]
        golds = gold_letters(sample)
        if not golds <= set(letters) or len(choices) > len(LETTERS):
            return data_error(
                f"target {sample.target!r} is not a letter of {len(choices)} choices"
            )
        weights = [likelihood.logprob for likelihood in output.likelihoods]
        fault = _fault_of(weights, len(choices))
        if fault is not None:
            return fault
        columns = self._columns(choices, weights, output)
        picks = {name: _best(column) for name, column in columns.items()}
        values = {}
        picked_letters = {}
        ties = {}
        for name, (pick, tied) in picks.items():
            letter = LETTERS[pick]
            picked_letters[name] = letter
            values[name] = float(letter in golds)
            if tied:
                ties[name] = tied
        return Score(
            values,
            answer=picked_letters["acc"],
            details={
                "picks": picked_letters,
                "ties": ties,
                "logprobs": _plain(weights),
            },
        )

    def _columns(
        self,
        choices: Sequence[str],
        weights: Sequence[float],
        output: Output,
    ) -> dict[str, Sequence[float]]:
        """Return the values to compare for each normalization: one (length-normalized)
        log-likelihood for each option.
        """
        count = len(choices)
        option_weights = weights[:count]
        columns: dict[str, Sequence[float]] = {"acc": option_weights}
        if self.continuation == "text":
            # All letters have the same length, so dividing by it would change nothing.
            texts = self._weighed(choices, output)
            columns |= _normalized(option_weights, texts)
        alone = _unconditioned(output, weights[count:], count)
        if alone is not None:
            pairs = zip(option_weights, alone, strict=True)
            columns["acc_pmi"] = [weight - before for weight, before in pairs]
        return columns

    @staticmethod
    def _weighed(
        choices: Sequence[str],
        output: Output,
    ) -> Sequence[str]:
        """Return the texts that were scored, without their leading space."""
        continuations: Sequence[str] = output.details.get("continuations", ())
        if len(continuations) >= len(choices):
            return [text.removeprefix(" ") for text in continuations[: len(choices)]]
        return choices


def _fault_of(
    weights: Sequence[float],
    count: int,
) -> Score | None:
    """Return the `model_error` score of an output whose likelihoods cannot be compared; None if they can."""
    is_complete = len(weights) in (count, 2 * count)
    if not is_complete or not all(weight < math.inf for weight in weights):
        reason = f"{len(weights)} likelihoods for {count} choices, or one that is not a number"
        return Score(None, Outcome.MODEL_ERROR, details={"reason": reason})
    if any(math.isfinite(weight) for weight in weights[:count]):
        return None
    reason = "every option has probability 0, so none is the most probable"
    return Score(
        None,
        Outcome.MODEL_ERROR,
        details={"reason": reason, "logprobs": _plain(weights)},
    )


def _plain(weights: Sequence[float]) -> list[float | str]:
    """Replace `-inf` by the text "-inf" in log-likelihoods, because JSON has no infinity."""
    return [weight if math.isfinite(weight) else str(weight) for weight in weights]


def _normalized(
    weights: Sequence[float],
    texts: Sequence[str],
) -> dict[str, list[float]]:
    """Return the log-likelihoods per character (`acc_norm`) and per byte (`acc_bytes`) of their texts."""
    by_characters = []
    by_bytes = []
    for weight, text in zip(weights, texts, strict=True):
        encoded = text.encode("utf-8", "surrogatepass")
        # An empty option has no length to divide by; it keeps its plain likelihood.
        by_characters.append(weight / max(1, len(text)))
        by_bytes.append(weight / max(1, len(encoded)))
    return {"acc_norm": by_characters, "acc_bytes": by_bytes}


def _unconditioned(
    output: Output,
    extra: Sequence[float],
    count: int,
) -> Sequence[float] | None:
    """Return the log-likelihood of each option without the question; None if it was not computed.

    It is in the output's details, or in the values after those of the options
    (`extra`).
    """
    logprobs: Any = output.details.get("unconditioned", extra)
    if len(logprobs) != count:
        return None
    numbers = [float(number) for number in logprobs]
    if all(math.isfinite(number) for number in numbers):
        return numbers
    return None


def _best(column: Sequence[float]) -> tuple[int, int]:
    """Return the index of the highest value, and how many other values are equal to it.

    If several are equal, the index is that of the first.
    """
    top = max(column)
    others = sum(weight == top for weight in column) - 1
    return column.index(top), others


AROUND = " \t\n▁Ġ().:*[]\"'"
"""Characters that are removed around a letter in a token: spaces, tokenizer marks, brackets, dots and quotes."""


@scorers.register("first_token")
@dataclass(frozen=True)
class FirstToken:
    """1 if the most probable letter at the first token is right. `mass` is the total
    probability of all option letters.
    """

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


def letter_chances(
    token: Token,
    letters: Sequence[str],
) -> Mapping[str, float]:
    """Return the probability of each letter at the first token.

    The probabilities of all tokens that write the same letter (`A`, ` A`, `(A`) are
    added up.
    """
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
