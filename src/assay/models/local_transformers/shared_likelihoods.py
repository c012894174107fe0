"""Score continuations after their contexts, and whole texts from their first token.

The continuations of many requests are computed together. Common prefixes are computed
once, and logits only where they predict a token of a continuation.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import Likelihood
from ..prompting.pairs import Pair
from .attention import integers, sent
from .engine import Engine, in_order
from .prefix import PrefixSpan, Subtree, grow, lay_out, steps

if TYPE_CHECKING:
    from torch import Tensor

LOGIT_CELLS = 16_000_000
"""Maximum number of logits to convert to log-probabilities at once, to limit memory."""


class Tally:
    """Adds up the log-probabilities of each continuation's tokens.

    The sums stay on the device until `results` is called, because reading them waits
    for the forward pass.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self._computed: list[tuple[list[int], Any, Any]] = []
        """For each part of the logits: pair indices, log-probabilities, whether greedy."""

    def add(
        self,
        logits: "Tensor",
        predictions: Sequence[tuple[int, int, int]],
    ) -> None:
        """Add the log-probabilities of some tokens.

        Each prediction is (row of `logits`, pair index, index in the pair of the token
        before the predicted one).
        """
        import torch

        device = logits.device
        step = max(1, LOGIT_CELLS // max(1, logits.shape[-1]))
        for start in range(0, len(logits), step):
            pairs: list[int] = []
            offsets: list[int] = []
            targets: list[int] = []
            for offset, pair, index in predictions:
                if start <= offset < start + step:
                    pairs.append(pair)
                    offsets.append(offset - start)
                    targets.append(self.pairs[pair].tokens[index + 1])
            if not pairs:
                continue
            # Use torch's float32 log-softmax as other harnesses do: other rounding would
            # add up to different totals over hundreds of tokens.
            logprobs = torch.log_softmax(logits[start : start + step].float(), -1)
            lines = sent(integers(offsets), device)
            values = logprobs[lines, sent(integers(targets), device)]
            is_greedy = values >= logprobs.amax(-1)[lines]
            self._computed.append((pairs, values, is_greedy))

    def results(self) -> list[Likelihood]:
        """Return the total log-probability of each continuation; 0 for one without tokens."""
        logprobs: list[list[float]] = [[] for _ in self.pairs]
        greedy = [True] * len(self.pairs)
        for pairs, values, is_greedy in self._computed:
            predictions = zip(pairs, values.tolist(), is_greedy.tolist(), strict=True)
            for pair, value, is_best in predictions:
                logprobs[pair].append(value)
                greedy[pair] &= is_best
        likelihoods = []
        for pair, parts in enumerate(logprobs):
            total = math.fsum(parts)
            likelihood = Likelihood(total, greedy[pair], len(parts))
            likelihoods.append(likelihood)
        return likelihoods


def weigh(
    engine: Engine,
    pairs: Sequence[Pair],
) -> list[Likelihood]:
    """Return the likelihood of the continuation of each pair."""
    # A continuation without tokens has likelihood 1, and needs no forward pass.
    likelihoods = [Likelihood(0.0, True, 0) for _ in pairs]
    rows = [row for row, pair in enumerate(pairs) if pair.start < len(pair.tokens)]
    if rows:
        tally = Tally([pairs[row] for row in rows])
        _weigh_all(engine, tally.pairs, tally)
        for row, likelihood in zip(rows, tally.results(), strict=True):
            likelihoods[row] = likelihood
    return likelihoods


def _weigh_all(
    engine: Engine,
    pairs: Sequence[Pair],
    tally: Tally,
) -> None:
    sequences = [pair.computed for pair in pairs]
    pending: list[Subtree] = []
    size = 0
    root = grow(sequences)
    before = min(pair.start for pair in pairs) - 1
    prefix = engine.cached_prefix(root, sequences, before)
    segment, pack = engine.budget.segment, engine.budget.pack
    for step in steps(
        root,
        segment=segment,
        pack=pack,
        prefix=prefix,
    ):
        if isinstance(step, PrefixSpan):
            _weigh_prefix(engine, step, sequences, pairs, tally)
            continue
        if pending and size + step.size > engine.budget.pack:
            _weigh_segments(engine, in_order(pending), sequences, pairs, tally)
            pending = []
            size = 0
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
    """Compute a prefix. If it predicts tokens of continuations, add their log-probabilities to the tally."""
    start = prefix_span.start
    predicted: list[tuple[int, int]] = []
    for row in prefix_span.rows:
        first = max(pairs[row].start - 1, start)
        stop = min(prefix_span.stop, len(sequences[row]))
        for position in range(first, stop):
            predicted.append((row, position))
    offsets = sorted({position - start for _, position in predicted})
    logits = engine.compute_prefix(prefix_span, sequences, offsets)
    if predicted:
        lines = {offset: line for line, offset in enumerate(offsets)}
        tally.add(
            logits,
            [(lines[position - start], row, position) for row, position in predicted],
        )


def _weigh_segments(
    engine: Engine,
    subtrees: Sequence[Subtree],
    sequences: Sequence[Sequence[int]],
    pairs: Sequence[Pair],
    tally: Tally,
) -> None:
    """Compute segments in one pass, and add the log-probabilities of predicted continuation tokens to the tally."""
    layouts = [lay_out(subtree, sequences) for subtree in subtrees]
    predicted: list[tuple[int, int, int]] = []
    start = 0
    for subtree, layout in zip(subtrees, layouts, strict=True):
        for row in layout.paths:
            first = max(pairs[row].start - 1, subtree.start)
            for position in range(first, len(sequences[row])):
                offset = start + layout.offset_of(row, position)
                predicted.append((offset, row, position))
        start += len(layout.tokens)
    offsets = sorted({offset for offset, _, _ in predicted})
    lines = {offset: line for line, offset in enumerate(offsets)}
    logits = engine.run_segments(subtrees, layouts, offsets)
    count = sum(len(layout.paths) for layout in layouts)
    engine.count.meter.advance(count / len(pairs))
    tally.add(
        logits,
        [(lines[offset], row, position) for offset, row, position in predicted],
    )
