"""Logits for evaluators that compute likelihoods themselves, made from what a model says of given texts.

No model of assay hands out its vocabulary. What is asked for is known, though: the probability of each token that
follows. A row of logits therefore has the exact log-probability of the following token in its place, and the rest of
the probability elsewhere: spread thin where the token is the model's first choice, on the end of the text where it is
not. Rows are computed when they are looked at.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from ...core import Likelihood, ModalityMismatch

if TYPE_CHECKING:
    from .engine import Engine

LARGEST_VOCABULARY = 65536


class WeighedModel:
    """`engine.model`: the part of a model that evaluators of likelihood call."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    def generate_zero_state(self, bsz: int) -> list[None]:
        """A state nobody reads: every request carries its whole context."""
        return [None] * bsz

    def forward_batch(
        self,
        tokens: Sequence[Sequence[int]],
        state: Any = None,
        full_output: bool = False,
    ) -> Any:
        """For each list of ids, rows of logits `(length, vocabulary)`."""
        what = "forward_batch: this model cannot weigh given tokens"
        self._engine.check_likelihood(what, "an evaluator that only generates")
        if not full_output:
            raise ModalityMismatch(
                "forward_batch(full_output=False) asks for the logits of the next token, which no model of assay gives",
                fix="generate with generate_batch, or weigh given tokens with full_output=True",
            )
        return [self._engine.logits(list(ids)) for ids in tokens]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the model of the pipeline dialect has no {name!r}")


class Logits(Sequence[Any]):
    """Rows of logits, one after each given token; the row after the last one is not known."""

    def __init__(self, engine: "Engine", tokens: Sequence[int]) -> None:
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
            return [self[place] for place in range(*position.indices(len(self)))]
        place = position + len(self) if position < 0 else position
        if not 0 <= place < len(self):
            raise IndexError(position)
        if place == len(self) - 1:
            raise ModalityMismatch(
                "forward_batch: the logits after the last token are not known, only those of given tokens",
                fix="generate with generate_batch",
            )
        return self._row(place)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def _row(self, place: int) -> Any:
        following = int(self._tokens[place + 1])
        tokenizer = self._engine.tokenizer
        start = next(
            (
                at
                for at, token in enumerate(self._tokens)
                if token not in (0, tokenizer.end)
            ),
            place + 1,
        )
        context = tokenizer.decode(self._tokens[start : place + 1])
        # A token that only begins a character writes nothing yet: the one that ends it carries the whole of it.
        piece = tokenizer.decode(self._tokens[start : place + 2])[len(context) :]
        if not piece:
            return self._as_torch(_spread(Likelihood(0.0, True), following))
        [weighed] = self._engine.weigh([context], [piece], [context])
        if weighed is None:
            raise ModalityMismatch("forward_batch: the model gave no answer")
        return self._as_torch(_spread(weighed, following))

    @staticmethod
    def _as_torch(row: Any) -> Any:
        torch = sys.modules.get("torch")  # whoever imported it expects its tensors
        return row if torch is None else torch.from_numpy(row)


def _spread(weighed: Likelihood, token: int) -> Any:
    """Logits whose softmax gives the token its probability, and which are largest there exactly if it is greedy."""
    import numpy

    share = math.exp(weighed.logprob)
    others = 1.0 if share <= 0 else (1.0 - share) / share + 1.0
    size = (
        int(min(max(token + 2, others + 2), LARGEST_VOCABULARY))
        if weighed.greedy
        else token + 2
    )
    rest = max(1.0 - share, 0.0)
    row = numpy.full(size, -numpy.inf, dtype=numpy.float64)
    if weighed.greedy:
        row[:] = math.log(rest / (size - 1)) if rest > 0 else -numpy.inf
    else:
        row[0] = math.log(rest) if rest > 0 else -numpy.inf
    row[token] = weighed.logprob
    return row
