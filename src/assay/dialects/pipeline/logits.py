"""Likelihoods for evaluators that compute them from logits, for a model of assay or a user's own engine.

No model of assay returns logits of its whole vocabulary. But evaluators need only the probability of each following
token. A row of logits therefore has the exact log-probability of the following token, and the rest of the
probability elsewhere: spread over all tokens if the following token is the model's first choice, or else on the end
of the text. Rows are computed on access.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from ...core import Likelihood, ModalityMismatch

END_OF_TEXT = 0


def weigh_tokens(
    engine: Any,
    contexts: Sequence[str],
    targets: Sequence[str],
    *,
    pad_eod: bool = True,
) -> Iterator[Likelihood]:
    """Yield the likelihood of each target after its context, token by token, from the logits of one batch."""
    start = [END_OF_TEXT] if pad_eod else []
    before = [[*start, *engine.tokenizer.encode(context)] for context in contexts]
    after = [list(engine.tokenizer.encode(target)) for target in targets]
    state = engine.model.generate_zero_state(len(before))
    rows = engine.model.forward_batch(
        [ids + more for ids, more in zip(before, after, strict=True)],
        state,
        full_output=True,
    )
    for out, ids, more in zip(rows, before, after, strict=True):
        logprob, greedy = 0.0, True
        for number, token in enumerate(more):
            chances = _plain(out[len(ids) - 1 + number])
            highest = max(chances)
            logprob += (
                chances[token]
                - highest
                - math.log(sum(math.exp(value - highest) for value in chances))
            )
            greedy = greedy and chances.index(highest) == token
        yield Likelihood(logprob, greedy, len(more))


def _plain(row: Any) -> list[float]:
    numbers: list[float] = row.tolist() if hasattr(row, "tolist") else list(row)
    return numbers


if TYPE_CHECKING:
    from .pipeline_engine import Engine

LARGEST_VOCABULARY = 65536


class WeighedModel:
    """The object `engine.model`, with the methods that evaluators of likelihoods call."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    def generate_zero_state(self, bsz: int) -> list[None]:
        """Return an unused state: every request carries its whole context."""
        return [None] * bsz

    def forward_batch(
        self,
        tokens: Sequence[Sequence[int]],
        state: object = None,
        full_output: bool = False,
    ) -> Any:
        """Return rows of logits `(length, vocabulary)` for each list of ids."""
        problem = "forward_batch: this model cannot weigh given tokens"
        self._engine.check_likelihood(problem, "an evaluator that only generates")
        if not full_output:
            raise ModalityMismatch(
                "forward_batch(full_output=False) asks for the logits of the next token, which no model of assay gives",
                fix="generate with generate_batch, or weigh given tokens with full_output=True",
            )
        return [self._engine.logits(list(ids)) for ids in tokens]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the model of the pipeline dialect has no {name!r}")


class Logits(Sequence[Any]):
    """Rows of logits, one after each given token. The row after the last token is unknown."""

    def __init__(
        self,
        engine: "Engine",
        tokens: Sequence[int],
    ) -> None:
        self._engine = engine
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._tokens)

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> list[Any]: ...
    def __getitem__(self, position: int | slice) -> Any:
        if isinstance(position, slice):
            return [self[index] for index in range(*position.indices(len(self)))]
        if position < 0:
            index = position + len(self)
        else:
            index = position
        if not 0 <= index < len(self):
            raise IndexError(position)
        if index == len(self) - 1:
            raise ModalityMismatch(
                "forward_batch: the logits after the last token are not known, only those of given tokens",
                fix="generate with generate_batch",
            )
        return self._row(index)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def _row(self, place: int) -> Any:
        tokens = self._tokens
        following = int(tokens[place + 1])
        tokenizer = self._engine.tokenizer
        padding = (0, tokenizer.end)
        start = 0
        while start < len(tokens) and tokens[start] in padding:
            start += 1
        if start == len(tokens):
            start = place + 1

        context = tokenizer.decode(tokens[start : place + 1])
        continued = tokenizer.decode(tokens[start : place + 2])
        piece = continued[len(context) :]
        if not piece:
            # A token that only begins a character produces no text yet: the token that ends it carries all of it.
            certain = Likelihood(0.0, True)
            return self._as_torch(_spread(certain, following))
        [weighed] = self._engine.weigh([context], [piece], [context])
        if weighed is None:
            raise ModalityMismatch("forward_batch: the model gave no answer")
        return self._as_torch(_spread(weighed, following))

    @staticmethod
    def _as_torch(row: object) -> Any:
        torch = sys.modules.get("torch")  # code that imported torch expects tensors
        if torch is None:
            return row
        return torch.from_numpy(row)


def _spread(weighed: Likelihood, token: int) -> Any:
    """Return logits whose softmax gives the token its probability, with their maximum there only if it is greedy."""
    import numpy

    share = math.exp(weighed.logprob)
    if share <= 0:
        others = 1.0
    else:
        others = (1.0 - share) / share + 1.0
    if weighed.greedy:
        size = int(min(max(token + 2, others + 2), LARGEST_VOCABULARY))
    else:
        size = token + 2
    rest = max(1.0 - share, 0.0)
    row = numpy.full(size, -numpy.inf, dtype=numpy.float64)
    if weighed.greedy:
        row[:] = math.log(rest / (size - 1)) if rest > 0 else -numpy.inf
    else:
        row[0] = math.log(rest) if rest > 0 else -numpy.inf
    row[token] = weighed.logprob
    return row
