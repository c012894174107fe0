"""Similar texts: the cosine of weighted character trigrams.

Trigrams need no word boundaries, so the same measure works for every language. A trigram found in
few texts weighs more:
its weight is `count * (1 + ln((1 + N) / (1 + texts that have it)))`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log, sqrt
from typing import Any

TRIGRAM = 3
DECIMALS = 9
"""Scores are compared to this many decimals, so that a rounding error does not decide between equal texts."""


class SimilarTexts:
    """Finds the texts most similar to a given one. The index is built on first use."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._postings: dict[str, tuple[Any, Any]] = {}
        self._rarity: dict[str, float] = {}

    def nearest(self, text: str) -> Iterator[int]:
        """Yield the indexes of all texts, the most similar first; equal ones in their own order."""
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
        """Return weights scaled to length one, without trigrams that no text has, because they contribute nothing."""
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
    """Return a weight for each trigram, which is larger the fewer texts have it."""
    texts_with: Counter[str] = Counter()
    for count in counts:
        texts_with.update(count.keys())
    rarity = {}
    for gram, number in texts_with.items():
        ratio = (1 + len(counts)) / (1 + number)
        rarity[gram] = 1 + log(ratio)
    return rarity


def trigrams(text: str) -> Counter[str]:
    """Count each run of three characters, ignoring case and repeated white space; the text's ends count as spaces."""
    words = text.casefold().split()
    folded = f" {' '.join(words)} "
    starts = range(max(1, len(folded) - TRIGRAM + 1))
    return Counter(folded[start : start + TRIGRAM] for start in starts)
