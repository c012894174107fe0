"""A user's own engine: what the documents name of it, and nothing else (`tokenizer.encode`, `model.forward_batch`)."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...core import Likelihood

END_OF_TEXT = 0


def weigh_tokens(
    engine: Any,
    contexts: Sequence[str],
    targets: Sequence[str],
    *,
    pad_eod: bool = True,
) -> Iterator[Likelihood]:
    """How probable each target is after its context, token by token, by the logits of one batch."""
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
        for place, token in enumerate(more):
            chances = _plain(out[len(ids) - 1 + place])
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
