"""Corpus BLEU and chrF from the n-gram counts their scorers stored, always with sacreBLEU's signature."""

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
    """Corpus BLEU, 0 to 100."""
    recipe = Recipe("bleu", "stats")
    yield corpus_result(
        records, context, "bleu", recipe, details={"signature": signature(records)}
    )


@summarizers.register("chrf")
@pools
def chrf(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """Corpus chrF, 0 to 100; its name says beta, and `++` where words count too."""
    beta = int(next((r.details["beta"] for r in records if "beta" in r.details), 2))
    line = signature(records)
    name = f"chrf{beta}" + ("++" if "|nw:2|" in line else "")
    recipe = Recipe("chrf", "stats", options={"beta": beta})
    yield corpus_result(records, context, name, recipe, details={"signature": line})


def corpus_bleu_from(sums: "Floats") -> "Floats":
    """BLEU of each row of sums: hypothesis length, reference length, four matches, four totals.

    An order without a match gets the exponential smoothing of sacreBLEU: 1/2, 1/4, … of a match.
    """
    import numpy as np

    hypothesis, reference = sums[:, 0], sums[:, 1]
    matches, totals = sums[:, 2 : 2 + _ORDERS], sums[:, 2 + _ORDERS : 2 + 2 * _ORDERS]
    missing = np.cumsum(matches == 0, axis=1)
    smoothed = np.where(matches == 0, 0.5**missing, matches)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Without any match, or without a single n-gram of the highest order, the score is 0 by definition.
        logs = np.where(totals > 0, np.log(smoothed / np.maximum(totals, 1)), -np.inf)
        penalty = np.where(
            hypothesis < reference,
            np.exp(1 - reference / np.maximum(hypothesis, 1e-300)),
            1.0,
        )
        values = 100 * penalty * np.exp(logs.mean(axis=1))
    return np.asarray(np.where(matches.any(axis=1), values, 0.0), float)


def corpus_chrf_from(sums: "Floats", beta: int = 2) -> "Floats":
    """chrF of each row of sums: hypothesis, reference and shared n-grams of every order in turn."""
    import numpy as np

    counted = sums.reshape(len(sums), -1, 3)
    hypothesis, wanted, shared = counted[:, :, 0], counted[:, :, 1], counted[:, :, 2]
    used = (hypothesis > 0) & (wanted > 0)
    orders = np.maximum(used.sum(axis=1), 1)
    precision = (
        np.where(used, shared / np.maximum(hypothesis, 1), 0.0).sum(axis=1) / orders
    )
    recall = np.where(used, shared / np.maximum(wanted, 1), 0.0).sum(axis=1) / orders
    below = beta**2 * precision + recall
    return np.asarray(
        100 * (1 + beta**2) * precision * recall / np.where(below > 0, below, 1.0),
        float,
    )


def signature(records: Sequence[ScoreRecord]) -> str:
    """What sacreBLEU would print; `nrefs:var` where samples differ in their number of references."""
    with_counts = [
        record.details for record in records if "signature" in record.details
    ]
    counts = {details["references"] for details in with_counts}
    references = str(next(iter(counts))) if len(counts) == 1 else "var"
    lines = {str(details["signature"]) for details in with_counts}
    if len(lines) > 1:
        raise ValueError(
            f"scores were made with different settings and cannot be pooled: {sorted(lines)}"
        )
    return f"nrefs:{references}|{lines.pop()}" if lines else ""
