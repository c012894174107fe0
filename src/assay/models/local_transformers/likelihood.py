"""Likelihoods of continuations after their contexts, and of whole texts from their first token.

Contexts and continuations of many requests are computed together: common prefixes once, and logits only at
positions that predict a token of a continuation.
"""

import math
from collections.abc import Sequence
from typing import Any

from ...core import Likelihood
from ..prompting.pairs import Pair
from .attention import integers, sent
from .engine import Engine, in_order
from .prefix import PrefixSpan, Subtree, grow, lay_out, steps

LOGIT_CELLS = 16_000_000
"""Number of logits to evaluate in one piece."""


class Tally:
    """Sums of log-probabilities, one for each pair.

    The results of a pass stay on its device until they are read, because reading waits for the pass.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self._found: list[tuple[list[int], Any, Any]] = []
        """Pairs, each with log-probabilities and whether no token had a higher one."""

    def add(self, logits: Any, found: Sequence[tuple[int, int, int]]) -> None:
        """Add the logits of several positions.

        `found` names (position in the logits, pair, token index) of each prediction.
        """
        import torch

        step = max(1, LOGIT_CELLS // max(1, logits.shape[-1]))
        for start in range(0, len(logits), step):
            inside = [entry for entry in found if start <= entry[0] < start + step]
            if not inside:
                continue
            # Rounded as torch rounds it, in single precision: over hundreds of tokens, other ways drift apart from what
            # other harnesses report.
            piece = torch.log_softmax(logits[start : start + step].float(), -1)
            places = sent(
                integers([place - start for place, _, _ in inside]), logits.device
            )
            wanted = [
                self.pairs[row].tokens[position + 1] for _, row, position in inside
            ]
            values = piece[places, sent(integers(wanted), logits.device)]
            self._found.append(
                (
                    [row for _, row, _ in inside],
                    values,
                    values >= piece.amax(-1)[places],
                )
            )

    def results(self) -> list[Likelihood]:
        """Return the sums of each pair. A pair without tokens has likelihood 1."""
        parts: list[list[float]] = [[] for _ in self.pairs]
        greedy = [True] * len(self.pairs)
        for rows, values, right in self._found:
            for row, value, hit in zip(
                rows, values.tolist(), right.tolist(), strict=True
            ):
                parts[row].append(value)
                greedy[row] &= hit
        return [
            Likelihood(math.fsum(logprobs), best, len(logprobs))
            for logprobs, best in zip(parts, greedy, strict=True)
        ]


def weigh(engine: Engine, pairs: Sequence[Pair]) -> list[Likelihood]:
    """Return the likelihood of each pair's continuation."""
    # A continuation without tokens is certain: it needs no pass.
    places = [row for row, pair in enumerate(pairs) if pair.start < len(pair.tokens)]
    found = [Likelihood(0.0, True, 0) for _ in pairs]
    if places:
        some = [pairs[row] for row in places]
        tally = Tally(some)
        _weigh_all(engine, some, tally)
        for row, likelihood in zip(places, tally.results(), strict=True):
            found[row] = likelihood
    return found


def _weigh_all(engine: Engine, pairs: Sequence[Pair], tally: Tally) -> None:
    sequences = [pair.computed for pair in pairs]
    pending: list[Subtree] = []
    size = 0
    root = grow(sequences)
    prefix = engine.kept(root, sequences, min(pair.start for pair in pairs) - 1)
    for step in steps(
        root, segment=engine.budget.segment, pack=engine.budget.pack, prefix=prefix
    ):
        if isinstance(step, PrefixSpan):
            _weigh_prefix(engine, step, sequences, pairs, tally)
            continue
        if pending and size + step.size > engine.budget.pack:
            _weigh_segments(engine, in_order(pending), sequences, pairs, tally)
            pending, size = [], 0
        pending.append(step)
        size += step.size
    if pending:
        _weigh_segments(engine, in_order(pending), sequences, pairs, tally)


def _weigh_prefix(
    engine: Engine,
    prefix_span: PrefixSpan,
    sequences: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    tally: Tally,
) -> None:
    found: list[tuple[int, int]] = []
    for row in prefix_span.rows:
        first = max(pairs[row].start - 1, prefix_span.start)
        found += [
            (row, at) for at in range(first, min(prefix_span.stop, len(sequences[row])))
        ]
    places = sorted({at - prefix_span.start for _, at in found})
    logits = engine.compute_prefix(prefix_span, sequences, places)
    if found:
        index = {place: i for i, place in enumerate(places)}
        tally.add(
            logits, [(index[at - prefix_span.start], row, at) for row, at in found]
        )


def _weigh_segments(
    engine: Engine,
    subtrees: Sequence[Subtree],
    sequences: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    tally: Tally,
) -> None:
    layouts = [lay_out(subtree, sequences) for subtree in subtrees]
    found: list[tuple[int, int, int]] = []
    offset = 0
    for subtree, layout in zip(subtrees, layouts, strict=True):
        for row in layout.paths:
            for at in range(
                max(pairs[row].start - 1, subtree.start), len(sequences[row])
            ):
                found.append((offset + layout.place(row, at), row, at))
        offset += len(layout.tokens)
    places = sorted({place for place, _, _ in found})
    index = {place: i for i, place in enumerate(places)}
    logits = engine.run_segments(subtrees, layouts, places)
    engine.count.meter.advance(
        sum(len(layout.paths) for layout in layouts) / len(pairs)
    )
    tally.add(logits, [(index[place], row, at) for place, row, at in found])
