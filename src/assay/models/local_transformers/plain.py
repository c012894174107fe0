"""The plain way: models whose attention cannot be shared, asked as transformers itself would.

Nothing is padded: sequences of one length go through together, so that a neighbour never changes an answer.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ...core import Likelihood, Meter
from .generate import Row, chosen
from .likelihood import Pair, Tally

T = TypeVar("T")


def weigh_plainly(model: Any, pairs: Sequence[Pair], batch: int, meter: Meter) -> list[Likelihood]:
    """The likelihood of each pair's continuation, equal sequences computed once."""
    import torch

    tally = Tally(pairs)
    alike: dict[tuple[int, ...], list[int]] = {}
    for row, pair in enumerate(pairs):
        alike.setdefault(pair.computed, []).append(row)
    device = model.get_input_embeddings().weight.device
    for some in _same_length([sequence for sequence in alike if sequence], len, batch):
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([list(s) for s in some], device=device), use_cache=False).logits
        for at, sequence in enumerate(some):
            for row in alike[sequence]:
                first = pairs[row].start - 1
                found = [(place, row, place) for place in range(first, len(sequence))]
                if found:
                    tally.add(logits[at], found)
        meter.advance(sum(len(alike[sequence]) for sequence in some) / len(pairs))
    return tally.results()


def write_plainly(model: Any, rows: Sequence[Row], batch: int, meter: Meter) -> None:
    """Writes the answer of every row, with the model's own cache."""
    import torch

    device = model.get_input_embeddings().weight.device
    for some in _same_length(rows, lambda row: len(row.prompt), batch):
        with torch.inference_mode():
            _write_together(model, some, device)
        meter.advance(len(some) / len(rows))


def _write_together(model: Any, rows: Sequence[Row], device: Any) -> None:
    import torch

    ids = torch.tensor([list(row.prompt) for row in rows], device=device)
    out = model(input_ids=ids, use_cache=True)
    done = [False] * len(rows)
    while True:
        logits = out.logits[:, -1]
        tokens = []
        for at, row in enumerate(rows):
            if done[at]:
                tokens.append(row.written[-1].token if row.written else 0)
                continue
            choice = chosen(logits[at : at + 1], [row])[0]
            done[at] = row.take(choice)
            tokens.append(0 if choice is None else choice.token)
        if all(done):
            return
        nxt = torch.tensor(tokens, device=device)[:, None]
        # Recurrent models keep their state under another name than attention does.
        cache = {name: out[name] for name in ("past_key_values", "cache_params") if name in out}
        out = model(input_ids=nxt, use_cache=True, **cache)


def _same_length(items: Sequence[T], length: Callable[[T], int], batch: int) -> Iterator[list[T]]:
    by_length: dict[int, list[T]] = {}
    for item in items:
        by_length.setdefault(length(item), []).append(item)
    for same in by_length.values():
        for start in range(0, len(same), batch):
            yield same[start : start + batch]
