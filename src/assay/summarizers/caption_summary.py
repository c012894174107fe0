"""Caption metrics of a run: BLEU-1 to 4, ROUGE-L and CIDEr, computed as in coco-caption.

CIDEr is computed as CIDEr-D. N-grams have a higher weight if fewer images of the *run*
have them in a caption, counts are clipped, different lengths are penalized, and the
value is multiplied by 10. Because the weights come from the run, CIDEr on a part of a
dataset is not comparable with CIDEr on all of it. The interval treats the weights as
fixed.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import Recipe
from .statistics import POSITIVE
from .statistics.estimate import Floats

ORDERS = 4
SIGMA = 6.0
_TINY, _SMALL = 1e-15, 1e-9
"""Constants that coco-caption adds to avoid division by 0."""

Gram = tuple[str, ...]
Vector = tuple[list[dict[Gram, float]], list[float], int]
"""A caption as a vector: the weights of its n-grams by order, the norm of each order, and the number of bigrams."""


@summarizers.register("caption")
@pools
def caption(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield BLEU-1 to 4, ROUGE-L and CIDEr from the details of the scorer `caption`."""
    for order in range(1, ORDERS + 1):
        recipe = Recipe("caption_bleu", "bleu", options={"order": order})
        yield corpus_result(records, context, f"bleu{order}", recipe)
    yield corpus_result(records, context, "rouge_l", _rouge, ends=(0.0, 1.0))
    yield _cider_result(records, context)


def _cider_result(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Result:
    """Return the CIDEr of a run as a result. A run of one image gets no value."""
    captions = [record for record in records if "tokens" in record.details]
    images = {record.id: record.details["references"] for record in captions}
    if len(images) == 1:
        result = corpus_result(records, context, "cider", _rouge)
        why = "CIDEr of one image is always 0: it weighs words by how many images mention them; take two or more"
        return _without_value(result, why)
    weights = Idf(list(images.values()))

    def value(record: ScoreRecord) -> Sequence[float] | None:
        if "tokens" not in record.details:
            return None
        return cider(
            record.details["tokens"],
            record.details["references"],
            weights,
        ), 1.0

    details = {"document_frequencies": f"of the references of {len(images)} images"}
    return corpus_result(
        records,
        context,
        "cider",
        value,
        details=details,
        ends=POSITIVE,
    )


def _without_value(result: Result, why: str) -> Result:
    """Return a copy of a result without its value. The reason `why` becomes its interval note and a flag."""
    nothing: dict[str, Any] = {
        "value": None,
        "stderr": None,
        "ci": None,
        "n": 0,
        "groups": {},
        "clusters": None,
    }
    return replace(
        result,
        **nothing,
        interval=f"none: {why}",
        flags=(*result.flags, why),
    )


class Idf:
    """Inverse document frequency: the weight of an n-gram is lower if more images have it in a reference."""

    def __init__(self, images: Sequence[Sequence[str]]) -> None:
        frequency: Counter[Gram] = Counter()
        for references in images:
            frequency.update(
                {gram for reference in references for gram in count_ngrams(reference)}
            )
        self.most = math.log(len(images)) if images else 0.0
        self.frequency = frequency

    def __call__(self, gram: Gram) -> float:
        """Return log(images / images with the n-gram in a reference).

        An n-gram in no reference is treated as if it were in one.
        """
        return self.most - math.log(max(1, self.frequency[gram]))


def cider(
    caption: str,
    references: Sequence[str],
    weights: Idf,
) -> float:
    """Return CIDEr-D of one caption: the mean over references and orders, times 10."""
    vector = _vector(count_ngrams(caption), weights)
    total = sum(
        _similarity(vector, _vector(count_ngrams(reference), weights))
        for reference in references
    )
    return 10 * total / ORDERS / len(references)


def count_ngrams(text: str) -> Counter[Gram]:
    """Return each run of one to four tokens of a tokenized text with the number of times it occurs."""
    tokens = text.split()
    counts: Counter[Gram] = Counter()
    for n in range(1, ORDERS + 1):
        counts.update(zip(*(tokens[start:] for start in range(n)), strict=False))
    return counts


def _vector(
    counts: Mapping[Gram, int],
    weights: Idf,
) -> Vector:
    """Return the weighted n-grams of each order of a caption, the norms of these vectors, and the number of bigrams."""
    vectors: list[dict[Gram, float]] = []
    squares: list[float] = []
    for _ in range(ORDERS):
        vectors.append({})
        squares.append(0.0)
    bigrams = 0
    for gram, count in counts.items():
        order = len(gram) - 1
        weight = count * weights(gram)
        vectors[order][gram] = weight
        squares[order] += weight * weight
        if order == 1:
            bigrams += count
    norms = [math.sqrt(square) for square in squares]
    return vectors, norms, bigrams


def _similarity(caption: Vector, reference: Vector) -> float:
    """Return the sum of the clipped cosines over all orders, times the penalty for a
    difference in length (in bigrams).
    """
    penalty = math.exp(-((caption[2] - reference[2]) ** 2) / (2 * SIGMA**2))
    total = 0.0
    for weights, other, own_norm, other_norm in zip(
        caption[0],
        reference[0],
        caption[1],
        reference[1],
        strict=True,
    ):
        shared = sum(
            min(weight, other[gram]) * other[gram]
            for gram, weight in weights.items()
            if gram in other
        )
        norm = own_norm * other_norm
        total += shared / norm if norm else shared
    return penalty * total


def bleu_from(sums: "Floats", order: int = ORDERS) -> "Floats":
    """Return the BLEU of each row of sums: length, reference length, four totals, four matches."""
    import numpy as np

    length = sums[:, 0]
    reference_length = sums[:, 1]
    totals = sums[:, 2 : 2 + order]
    first_match = 2 + ORDERS
    matches = sums[:, first_match : first_match + order]
    precisions = (matches + _TINY) / (totals + _SMALL)
    product = np.prod(precisions, axis=1)
    mean_precision = product ** (1 / order)
    ratio = (length + _TINY) / (reference_length + _SMALL)
    with np.errstate(over="ignore"):
        brevity = np.exp(1 - 1 / ratio)
    penalty = np.where(ratio < 1, brevity, 1.0)
    return np.asarray(mean_precision * penalty, float)


def _rouge(record: ScoreRecord) -> Sequence[float] | None:
    # The runner puts the scorer's name before the names of its values.
    """Return the ROUGE-L of a record with weight 1; None if the record has no counts."""
    value = next(
        (
            number
            for name, number in record.values.items()
            if name.rpartition(".")[2] == "rouge_l"
        ),
        None,
    )
    if value is None or "tokens" not in record.details:
        return None
    return (value, 1.0)
