"""Similar texts: the cosine of weighted character trigrams.

Trigrams need no word boundaries, so the same measure serves every language. A trigram found in few texts weighs more:
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
    """Finds the texts most like a given one; the index is built when it is first asked."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._postings: dict[str, tuple[Any, Any]] = {}
        self._rarity: dict[str, float] = {}

    def nearest(self, text: str) -> Iterator[int]:
        """The positions of all texts, the most similar first; equal ones in their own order."""
        import numpy as np

        if not self._postings:
            self._build()
        scores = np.zeros(len(self._texts))
        for gram, weight in sorted(self._weights(trigrams(text)).items()):
            if gram in self._postings:
                places, weights = self._postings[gram]
                scores[places] += weight * weights
        for place in np.argsort(-scores.round(DECIMALS), kind="stable"):
            yield int(place)

    def _build(self) -> None:
        import numpy as np

        counts = [trigrams(text) for text in self._texts]
        spread = Counter(gram for count in counts for gram in count)
        self._rarity = {
            gram: 1 + log((1 + len(counts)) / (1 + found))
            for gram, found in spread.items()
        }
        lists: dict[str, tuple[list[int], list[float]]] = {}
        for place, count in enumerate(counts):
            for gram, weight in self._weights(count).items():
                places, weights = lists.setdefault(gram, ([], []))
                places.append(place)
                weights.append(weight)
        self._postings = {
            gram: (np.array(places), np.array(weights))
            for gram, (places, weights) in lists.items()
        }

    def _weights(self, count: Counter[str]) -> dict[str, float]:
        """Weights scaled to length one; a trigram no text has would weigh nothing in the product, so it is left out."""
        rarity = self._rarity
        weights = {
            gram: n * rarity[gram] for gram, n in count.items() if gram in rarity
        }
        length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {gram: weight / length for gram, weight in weights.items()}


def trigrams(text: str) -> Counter[str]:
    """How often each run of three characters occurs, case and runs of blanks aside; the text's ends count as blanks."""
    folded = f" {' '.join(text.casefold().split())} "
    return Counter(
        folded[start : start + TRIGRAM]
        for start in range(max(1, len(folded) - TRIGRAM + 1))
    )
