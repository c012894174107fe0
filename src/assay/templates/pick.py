"""Pick solved examples: an order of the pool for each question.

Every way of picking returns an *order*; the `k` shots are its first `k` allowed members. The shots for a smaller
number are therefore the first of those for a larger one, and nothing depends on earlier questions or on the worker.
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence

from ..core import Sample, UsageError, nearest
from .similar import SimilarTexts

Order = Callable[[Sample], Iterator[int]]
"""Indexes in the pool, the best first."""


def in_order(pool: Sequence[Sample], pick: str, *, seed: int) -> Order:
    """Return the order of a named way of picking."""
    size = len(pool)
    if pick == "first":
        return lambda sample: iter(range(size))
    if pick == "random":
        return lambda sample: shuffled(size, seed, sample.id)
    if pick == "sequential":
        return _sequential_order(pool, seed)
    texts = SimilarTexts([plain_text(candidate) for candidate in pool])
    return lambda sample: texts.nearest(plain_text(sample))


def _sequential_order(pool: Sequence[Sample], seed: int) -> Order:
    """Return the order that starts after the question itself."""
    starts: dict[str, int] = {}
    for index, candidate in enumerate(pool):
        starts[candidate.id] = index + 1

    def order(sample: Sample) -> Iterator[int]:
        start = starts.get(sample.id)
        return _window(len(pool), start, seed, sample.id)

    return order


PICKS = ("first", "random", "sequential", "similar")


def check_pick(pick: object, where: str) -> None:
    """Raise if a way of picking does not exist."""
    if callable(pick) or pick in PICKS:
        return
    close = nearest(str(pick), PICKS)
    hint = f"did you mean {close!r}? " if close else ""
    fix = f"{hint}known: {', '.join(PICKS)}, or a function (sample, pool, num, rng)"
    raise UsageError(f"unknown way to pick shots {pick!r}", where=where, fix=fix)


def shuffled(size: int, seed: int, name: str) -> Iterator[int]:
    """Yield the numbers below `size` in an order that depends only on seed and name.

    The draws come from sha256, so that they are the same in every version of Python.
    """
    moved: dict[int, int] = {}
    for index in range(size):
        other = index + _draw(seed, name, index) % (size - index)
        yield moved.get(other, other)
        moved[other] = moved.get(index, index)


def generator_for(seed: int, name: str) -> random.Random:
    """Return a random generator for one question, for a user's own way of picking."""
    return random.Random(_draw(seed, name, -1))


def _draw(seed: int, name: str, place: int) -> int:
    text = f"{seed}\x00{name}\x00{place}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def _window(size: int, start: int | None, seed: int, name: str) -> Iterator[int]:
    """Yield all indexes from `start` on, wrapping around. Without a start, the id decides where to begin."""
    if not size:
        return
    first = _draw(seed, name, 0) if start is None else start
    for step in range(size):
        yield (first + step) % size


def plain_text(sample: Sample) -> str:
    """Return the text used to find similar samples: the question, else all text of the row."""
    if isinstance(sample.input, str):
        return sample.input or " ".join(
            value for value in sample.fields.values() if isinstance(value, str)
        )
    return "\n".join(message.text for message in sample.input)
