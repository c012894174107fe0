"""Corpus BLEU and chrF from the n-gram counts in the details of their scorers, always with sacreBLEU's signature."""

from collections.abc import Iterator, Sequence

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import Recipe
from .statistics.estimate import Floats

_ORDERS = 4


@summarizers.register("bleu")
@pools
def bleu(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """Yield corpus BLEU, 0 to 100."""
    recipe = Recipe("bleu", "stats")
    yield corpus_result(
        records,
        context,
        "bleu",
        recipe,
        details={"signature": signature(records)},
    )


@summarizers.register("chrf")
@pools
def chrf(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """Yield corpus chrF, 0 to 100. Its name has beta, and `++` if words count as well."""
    beta = int(next((r.details["beta"] for r in records if "beta" in r.details), 2))
    line = signature(records)
    name = f"chrf{beta}" + ("++" if "|nw:2|" in line else "")
    recipe = Recipe("chrf", "stats", options={"beta": beta})
    yield corpus_result(records, context, name, recipe, details={"signature": line})


def corpus_bleu_from(sums: "Floats") -> "Floats":
    """Return BLEU of each row of sums: hypothesis length, reference length, four matches, four totals.

    An order without a match gets the exponential smoothing of sacreBLEU: 1/2, 1/4, … of a match. Without any match, or
    without a single n-gram of the highest order, the score is 0 by definition.
    """
    import numpy as np

    hypothesis = sums[:, 0]
    reference = sums[:, 1]
    matches = sums[:, 2 : 2 + _ORDERS]
    totals = sums[:, 2 + _ORDERS : 2 + 2 * _ORDERS]
    is_missing = matches == 0
    smoothing = 0.5 ** np.cumsum(is_missing, axis=1)
    smoothed = np.where(is_missing, smoothing, matches)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        precisions = smoothed / np.maximum(totals, 1)
        logs = np.where(totals > 0, np.log(precisions), -np.inf)
        excess = 1 - reference / np.maximum(hypothesis, 1e-300)
        penalty = np.where(hypothesis < reference, np.exp(excess), 1.0)
        scores = 100 * penalty * np.exp(logs.mean(axis=1))
    has_match = matches.any(axis=1)
    return np.asarray(np.where(has_match, scores, 0.0), float)


def corpus_chrf_from(sums: "Floats", beta: int = 2) -> "Floats":
    """Return chrF of each row of sums: hypothesis, reference and shared n-grams of every order in turn."""
    import numpy as np

    by_order = sums.reshape(len(sums), -1, 3)
    hypothesis = by_order[:, :, 0]
    reference = by_order[:, :, 1]
    shared = by_order[:, :, 2]
    is_used = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(is_used.sum(axis=1), 1)

    def mean_share(totals: "Floats") -> "Floats":
        """Return the mean over the orders of the n-grams that are shared."""
        shares = np.where(is_used, shared / np.maximum(totals, 1), 0.0)
        return np.asarray(shares.sum(axis=1) / orders, float)

    precision = mean_share(hypothesis)
    recall = mean_share(reference)
    weight = beta**2
    above = 100 * (1 + weight) * precision * recall
    below = weight * precision + recall
    return np.asarray(above / np.where(below > 0, below, 1.0), float)


def signature(records: Sequence[ScoreRecord]) -> str:
    """Return the signature that sacreBLEU would print; `nrefs:var` if samples differ in their number of references."""
    lines = set()
    counts = set()
    for record in records:
        if "signature" in record.details:
            lines.add(str(record.details["signature"]))
            counts.add(record.details["references"])
    if len(lines) > 1:
        raise ValueError(
            f"scores were made with different settings and cannot be pooled: {sorted(lines)}"
        )
    if not lines:
        return ""
    references = counts.pop() if len(counts) == 1 else "var"
    return f"nrefs:{references}|{lines.pop()}"
