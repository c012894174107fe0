"""Perplexity: how improbable a text is for a model. A score has the log-likelihood, and
the counts of tokens, words and bytes.

The value of one text is its bits per byte, which can be compared across tokenizers. The
perplexity of a corpus is computed from all its texts together. It is never the mean of
the perplexities of the texts.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Likelihood, Outcome, Output, Sample, Score
from ...registry import scorers
from ..answers import no_target


@scorers.register("perplexity")
@dataclass(frozen=True)
class Perplexity:
    """Bits per byte of one text. `details` has the counts for perplexity per token, per word and per byte."""

    column: str | None = None
    """The column whose text the model scored; the question by default."""
    reads: ClassVar[tuple[str, ...]] = ("likelihood",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None
    summarizers: ClassVar[tuple[str, ...]] = ("perplexity",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        text = _weighed_text(sample, self.column)
        if not text:
            return no_target(
                sample,
                f"text in column {self.column!r}" if self.column else "text to score",
            )
        likelihood = _only_likelihood(output)
        if likelihood is None:
            return _not_weighed(output)
        size = len(text.encode("utf-8", "surrogatepass"))
        details = {
            "logprob": likelihood.logprob,
            "tokens": likelihood.tokens,
            # lm-evaluation-harness counts an empty word for a space at the beginning or the end.
            "words": len(re.split(r"\s+", text)),
            "bytes": size,
        }
        return Score(-likelihood.logprob / (size * math.log(2)), details=details)


@scorers.register("last_word")
@dataclass(frozen=True)
class LastWord:
    """LAMBADA: 1 if greedy decoding produces the last word. `details` has its log-likelihood for the perplexity."""

    reads: ClassVar[tuple[str, ...]] = ("likelihood",)
    summarizers: ClassVar[tuple[str, ...]] = ("mean", "item_perplexity")

    def __call__(self, sample: Sample, output: Output) -> Score:
        likelihood = _only_likelihood(output)
        if likelihood is None:
            return _not_weighed(output)
        details = {"logprob": likelihood.logprob, "tokens": likelihood.tokens}
        return Score(float(likelihood.greedy), details=details)


def _weighed_text(
    sample: Sample,
    column: str | None,
) -> str:
    """Return the text that the model scored: the column's text, or the question if no column is set.

    Return an empty text if the column contains no text.
    """
    if column is not None:
        value: Any = sample.fields.get(column)
        return value if isinstance(value, str) else ""
    if isinstance(sample.input, str):
        return sample.input
    return "".join(message.text for message in sample.input)


def _only_likelihood(output: Output) -> Likelihood | None:
    """Return the log-likelihood of an output; None unless there is exactly one and it is finite."""
    if len(output.likelihoods) != 1 or not math.isfinite(output.likelihoods[0].logprob):
        return None
    return output.likelihoods[0]


def _not_weighed(output: Output) -> Score:
    """Return the `model_error` score of an output without exactly one finite log-likelihood."""
    logprobs = [likelihood.logprob for likelihood in output.likelihoods]
    reason = f"expected one finite log-likelihood, got {logprobs[:3]}"
    return Score(None, Outcome.MODEL_ERROR, details={"reason": reason})
