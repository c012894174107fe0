"""Which solved examples a question is shown: an order of the pool for each question.

Every way of picking gives an *order*; `k` shots are its first `k` allowed members. So the shots for a smaller number
are the first of those for a larger one, and nothing depends on which question came before or on which worker asks.
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core import Sample, UsageError, nearest
from .similar import SimilarTexts

Order = Callable[[Sample], Iterator[int]]
"""Positions in the pool, the best first."""


def in_order(pool: Sequence[Sample], pick: str, *, seed: int) -> Order:
    """The order a named way of picking gives."""
    size = len(pool)
    if pick == "first":
        return lambda sample: iter(range(size))
    if pick == "random":
        return lambda sample: shuffled(size, seed, sample.id)
    if pick == "sequential":
        places = {candidate.id: place + 1 for place, candidate in enumerate(pool)}
        return lambda sample: _window(size, places.get(sample.id), seed, sample.id)
    texts = SimilarTexts([plain_text(candidate) for candidate in pool])
    return lambda sample: texts.nearest(plain_text(sample))


PICKS = ("first", "random", "sequential", "similar")


def check_pick(pick: Any, where: str) -> None:
    """Raises for a way of picking that does not exist."""
    if callable(pick) or pick in PICKS:
        return
    close = nearest(str(pick), PICKS)
    hint = f"did you mean {close!r}? " if close else ""
    fix = f"{hint}known: {', '.join(PICKS)}, or a function (sample, pool, num, rng)"
    raise UsageError(f"unknown way to pick shots {pick!r}", where=where, fix=fix)


def shuffled(size: int, seed: int, name: str) -> Iterator[int]:
    """The numbers below `size` in an order that depends on seed and name alone, drawn as they are asked for.

    The draws come from sha256, so that they are the same in every version of Python.
    """
    moved: dict[int, int] = {}
    for place in range(size):
        other = place + _draw(seed, name, place) % (size - place)
        yield moved.get(other, other)
        moved[other] = moved.get(place, place)


def generator_for(seed: int, name: str) -> random.Random:
    """A generator of random numbers for one question, for a user's own way of picking."""
    return random.Random(_draw(seed, name, -1))


def _draw(seed: int, name: str, place: int) -> int:
    text = f"{seed}\x00{name}\x00{place}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def _window(size: int, start: int | None, seed: int, name: str) -> Iterator[int]:
    """From `start` on, round the end; a question whose place is unknown starts where its id says."""
    if not size:
        return
    first = _draw(seed, name, 0) if start is None else start
    for step in range(size):
        yield (first + step) % size


def plain_text(sample: Sample) -> str:
    """What of a sample is compared when similar ones are sought: the question, else all text of the row."""
    if isinstance(sample.input, str):
        return sample.input or " ".join(
            value for value in sample.fields.values() if isinstance(value, str)
        )
    return "\n".join(message.text for message in sample.input)
