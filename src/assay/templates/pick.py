"""Choose the solved examples for each question: the first, in sequence, at random, or the most similar ones.

Every rule returns an *order* of the examples. A question gets the first `k` examples of
this order that are allowed. So a larger `k` only adds examples, and nothing depends on
earlier questions or on the worker.

The similarity of two texts is the cosine of their weighted character trigrams. Trigrams
need no word boundaries, so this works for every language. A trigram has a higher weight
if few texts contain it: `count * (1 + ln((1 + N) / (1 + n)))` for n of N texts.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log, sqrt
from typing import Any

from ..core import Sample, UsageError, nearest

TRIGRAM = 3
DECIMALS = 9
"""Similarities are compared to this many decimals. Otherwise rounding errors would decide between equal texts."""


class SimilarTexts:
    """Finds the texts most similar to a given one. The index is built on first use."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._postings: dict[str, tuple[Any, Any]] = {}
        self._rarity: dict[str, float] = {}

    def nearest(self, text: str) -> Iterator[int]:
        """Yield the indexes of all texts, the most similar first. Equally similar texts keep their order."""
        import numpy as np

        if not self._postings:
            self._build()
        scores = np.zeros(len(self._texts))
        own_weights = self._weights(trigrams(text))
        for gram, weight in sorted(own_weights.items()):
            if gram in self._postings:
                indexes, weights = self._postings[gram]
                scores[indexes] += weight * weights
        for index in np.argsort(-scores.round(DECIMALS), kind="stable"):
            yield int(index)

    def _build(self) -> None:
        import numpy as np

        counts = [trigrams(text) for text in self._texts]
        self._rarity = _rarity(counts)
        lists: dict[str, tuple[list[int], list[float]]] = {}
        for index, count in enumerate(counts):
            own_weights = self._weights(count)
            for gram, weight in own_weights.items():
                indexes, weights = lists.setdefault(gram, ([], []))
                indexes.append(index)
                weights.append(weight)
        for gram, (indexes, weights) in lists.items():
            posting = (np.array(indexes), np.array(weights))
            self._postings[gram] = posting

    def _weights(self, count: Counter[str]) -> dict[str, float]:
        """Return the weights of a text's trigrams, scaled to a vector of length one.

        Trigrams that occur in no text of the index are left out, because they do not affect similarity.
        """
        weights = {}
        for gram, number in count.items():
            rarity = self._rarity.get(gram)
            if rarity is not None:
                weights[gram] = number * rarity
        squares = sum(weight * weight for weight in weights.values())
        length = sqrt(squares) or 1.0
        for gram in weights:
            weights[gram] /= length
        return weights


def _rarity(counts: Sequence[Counter[str]]) -> dict[str, float]:
    """Return a weight for each trigram. It is higher if fewer texts contain the trigram."""
    texts_with: Counter[str] = Counter()
    for count in counts:
        texts_with.update(count.keys())
    rarity = {}
    for gram, number in texts_with.items():
        ratio = (1 + len(counts)) / (1 + number)
        rarity[gram] = 1 + log(ratio)
    return rarity


def trigrams(text: str) -> Counter[str]:
    """Count each run of three characters, ignoring case and repeated white space.

    A text begins and ends with a space.
    """
    words = text.casefold().split()
    folded = f" {' '.join(words)} "
    starts = range(max(1, len(folded) - TRIGRAM + 1))
    return Counter(folded[start : start + TRIGRAM] for start in starts)


Order = Callable[[Sample], Iterator[int]]
"""A function that yields the indexes of a pool's examples for a question, the best first."""


def in_order(
    pool: Sequence[Sample],
    pick: str,
    *,
    seed: int,
) -> Order:
    """Return the function that orders examples by a rule: `first`, `random`, `sequential` or `similar`."""
    size = len(pool)
    if pick == "first":
        return lambda sample: iter(range(size))
    if pick == "random":
        return lambda sample: shuffled(size, seed, sample.id)
    if pick == "sequential":
        return _sequential_order(pool, seed)
    texts = SimilarTexts([plain_text(candidate) for candidate in pool])
    return lambda sample: texts.nearest(plain_text(sample))


def _sequential_order(
    pool: Sequence[Sample],
    seed: int,
) -> Order:
    """Return the order that starts with the example after the question in the pool, if
    the question is from the pool.
    """
    starts: dict[str, int] = {}
    for index, candidate in enumerate(pool):
        starts[candidate.id] = index + 1

    def order(sample: Sample) -> Iterator[int]:
        start = starts.get(sample.id)
        return _window(len(pool), start, seed, sample.id)

    return order


PICKS = ("first", "random", "sequential", "similar")


def check_pick(pick: object, where: str) -> None:
    """Raise if `pick` is neither a function nor the name of a rule for picking examples."""
    if callable(pick) or pick in PICKS:
        return
    close = nearest(str(pick), PICKS)
    hint = f"did you mean {close!r}? " if close else ""
    fix = f"{hint}known: {', '.join(PICKS)}, or a function (sample, pool, num, rng)"
    raise UsageError(
        f"unknown way to pick shots {pick!r}",
        where=where,
        fix=fix,
    )


def shuffled(
    size: int,
    seed: int,
    name: str,
) -> Iterator[int]:
    """Yield the numbers below `size` in a random order that is fixed by the seed and the name.

    The random numbers are computed with sha256, so that every version of Python gives
    the same order.
    """
    moved: dict[int, int] = {}
    for index in range(size):
        other = index + _draw(seed, name, index) % (size - index)
        yield moved.get(other, other)
        moved[other] = moved.get(index, index)


def generator_for(seed: int, name: str) -> random.Random:
    """Return a random number generator for one question, for a user's own function that picks examples."""
    return random.Random(_draw(seed, name, -1))


def _draw(
    seed: int,
    name: str,
    place: int,
) -> int:
    text = f"{seed}\x00{name}\x00{place}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def _window(
    size: int,
    start: int | None,
    seed: int,
    name: str,
) -> Iterator[int]:
    """Yield all indexes below `size`, from `start` to the end and then from 0.

    If `start` is None, the seed and `name` determine the first index.
    """
    if not size:
        return
    if start is None:
        first = _draw(seed, name, 0)
    else:
        first = start
    for step in range(size):
        yield (first + step) % size


def plain_text(sample: Sample) -> str:
    """Return the text by which similar samples are found: the question or, if it is empty, all text of the row."""
    if isinstance(sample.input, str):
        return sample.input or " ".join(
            value for value in sample.fields.values() if isinstance(value, str)
        )
    return "\n".join(message.text for message in sample.input)
