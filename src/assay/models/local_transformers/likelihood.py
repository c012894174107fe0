"""Likelihoods: how probable given continuations are after their contexts, and whole texts from their first token.

Contexts and their continuations of many requests are weighed together: what they have in common is computed once, and
logits only where a token of a continuation is predicted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Likelihood
from .attention import integers, sent
from .engine import Engine, in_order
from .prefix import Bush, Stretch, grow, lay_out, steps

LOGIT_CELLS = 16_000_000
"""Logits looked at in one piece."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A continuation to weigh: all tokens, and where it starts among them."""

    tokens: tuple[int, ...]
    start: int

    @property
    def computed(self) -> tuple[int, ...]:
        """What must go through the model: the last token is only predicted."""
        return self.tokens[:-1]


class Tally:
    """Sums of log-probabilities, one for each pair.

    What a pass found stays on its device until the results are asked for: to look at a number is to wait for the pass.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self._found: list[tuple[list[int], Any, Any]] = []
        """Pairs, and of each a log-probability and whether no token had a higher one."""

    def add(self, logits: Any, found: Sequence[tuple[int, int, int]]) -> None:
        """Logits of several places; `found` names (place, pair, position) of what each predicts."""
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
        """What was found of each pair; a pair nothing was added for has no tokens and is certain."""
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
    """The likelihood of each pair's continuation."""
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
    pending: list[Bush] = []
    size = 0
    root = grow(sequences)
    trunk = engine.kept(root, sequences, min(pair.start for pair in pairs) - 1)
    for step in steps(
        root, segment=engine.budget.segment, pack=engine.budget.pack, trunk=trunk
    ):
        if isinstance(step, Stretch):
            _weigh_trunk(engine, step, sequences, pairs, tally)
            continue
        if pending and size + step.size > engine.budget.pack:
            _weigh_segments(engine, in_order(pending), sequences, pairs, tally)
            pending, size = [], 0
        pending.append(step)
        size += step.size
    if pending:
        _weigh_segments(engine, in_order(pending), sequences, pairs, tally)


def _weigh_trunk(
    engine: Engine,
    stretch: Stretch,
    sequences: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    tally: Tally,
) -> None:
    found: list[tuple[int, int]] = []
    for row in stretch.rows:
        first = max(pairs[row].start - 1, stretch.start)
        found += [
            (row, at) for at in range(first, min(stretch.stop, len(sequences[row])))
        ]
    places = sorted({at - stretch.start for _, at in found})
    logits = engine.grow_trunk(stretch, sequences, places)
    if found:
        index = {place: i for i, place in enumerate(places)}
        tally.add(logits, [(index[at - stretch.start], row, at) for row, at in found])


def _weigh_segments(
    engine: Engine,
    bushes: Sequence[Bush],
    sequences: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    tally: Tally,
) -> None:
    layouts = [lay_out(bush, sequences) for bush in bushes]
    found: list[tuple[int, int, int]] = []
    offset = 0
    for bush, layout in zip(bushes, layouts, strict=True):
        for row in layout.paths:
            for at in range(max(pairs[row].start - 1, bush.start), len(sequences[row])):
                found.append((offset + layout.place(row, at), row, at))
        offset += len(layout.tokens)
    places = sorted({place for place, _, _ in found})
    index = {place: i for i, place in enumerate(places)}
    logits = engine.run_segments(bushes, layouts, places)
    engine.count.meter.advance(
        sum(len(layout.paths) for layout in layouts) / len(pairs)
    )
    tally.add(logits, [(index[place], row, at) for place, row, at in found])


def windows(tokens: Sequence[int], first: int, longest: int) -> list[Pair]:
    """A text as pieces to weigh: each token once, after as much of what came before as fits.

    The first token follows `first`. All pieces but the last are disjoint; the last one reaches back to fill the window.
    """
    pairs: list[Pair] = []
    done = 0
    while done < len(tokens):
        size = min(longest, len(tokens) - done)
        if done == 0:
            pairs.append(Pair((first, *tokens[:size]), 1))
        else:
            stop = done + size
            start = max(0, stop - longest - 1)
            pairs.append(Pair(tuple(tokens[start:stop]), done - start))
        done += size
    return pairs
