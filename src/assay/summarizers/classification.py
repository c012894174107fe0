"""Summaries of yes/no questions: accuracy, precision, recall, F1, and the area under the ROC curve.

POPE reports accuracy, precision, recall and F1 of yes, and the share of yes answers
(yes-ratio). lmms-eval counts differently: it excludes answers with neither word from
recall and F1, and its yes-ratio counts the *targets*. `counting: lmms_eval` does the
same.

The area under the ROC curve is the probability that a positive sample is ranked above a
negative one. Ties count as one half. A sample is ranked by `details["score"]` if a
scorer sets it. Otherwise its rank follows from the answer: 1 for yes, 0 for no, and the
wrong one of these if the answer could not be read. If a sample has several answers,
their mean is used. If no answer could be read, the result has no value. The standard
error is DeLong's; samples are assumed to be independent.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core import UNRESOLVED, Result, ScoreRecord, SummaryContext, UsageError
from ..registry import summarizers
from .attempts import pools
from .breakdown import interval_of
from .corpus import corpus_result
from .recipes import Recipe
from .statistics import Estimate, Spread
from .statistics.estimate import Floats
from .statistics.intervals import is_constant, without_spread
from .statistics.spreads import limits, seen_units
from .units import lacking_flags, result_names, unresolved_flags

Weights = tuple[int, int, int, int, int, int]
"""Weights of six counts: true yes, false yes, false no, true no, and unread answers
with target yes and with target no.
"""

SHARES: Mapping[str, tuple[Weights, Weights]] = {
    "accuracy": ((1, 0, 0, 1, 0, 0), (1, 1, 1, 1, 1, 1)),
    # Undefined for a model that never answers yes.
    "precision": ((1, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0)),
    "recall": ((1, 0, 0, 0, 0, 0), (1, 0, 1, 0, 1, 0)),
    # The harmonic mean of both; 0 if there is no right yes.
    "f1": ((2, 0, 0, 0, 0, 0), (2, 1, 1, 0, 1, 0)),
    "yes_ratio": ((1, 1, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1)),
}
"""For each metric, the weights of the six counts: first in the numerator, then in the denominator."""
LMMS_EVAL: Mapping[str, tuple[Weights, Weights]] = {
    **SHARES,
    "recall": ((1, 0, 0, 0, 0, 0), (1, 0, 1, 0, 0, 0)),
    "f1": ((2, 0, 0, 0, 0, 0), (2, 1, 1, 0, 0, 0)),
    "yes_ratio": ((1, 0, 1, 0, 1, 0), (1, 1, 1, 1, 1, 1)),
}


@summarizers.register("yes_no")
@pools
def yes_no(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
    counting: str = "all",
) -> Iterator[Result]:
    """Yield accuracy, precision, recall, F1 and yes-ratio from the counts of the scorer `yes_no`."""
    if counting not in ("all", "lmms_eval"):
        raise UsageError(
            f"summarizer 'yes_no' has no counting {counting!r}",
            fix="counting: all, or lmms_eval",
        )
    for name, weights in (LMMS_EVAL if counting == "lmms_eval" else SHARES).items():
        yield corpus_result(
            records,
            context,
            name,
            Recipe("share", "confusion", weights),
        )


@summarizers.register("auroc")
@pools
def auroc(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield the area under the ROC curve, from 0 to 1; 0.5 is chance."""
    scores: dict[str, list[float]] = {}
    golds: dict[str, bool] = {}
    lacking = 0
    for record in records:
        pair = _rank_and_target(record)
        if pair is not None:
            scores.setdefault(record.id, []).append(pair[0])
            golds[record.id] = pair[1]
        elif record.outcome not in UNRESOLVED:
            lacking += 1
    outcomes = Counter(record.outcome for record in records)
    ranks = [math.fsum(each) / len(each) for each in scores.values()]
    estimate = estimate_auroc(ranks, list(golds.values()))
    flags = (*unresolved_flags(outcomes), *lacking_flags(lacking))
    fields: dict[str, Any] = {"value": None, "flags": flags}
    if estimate is None:
        fields["interval"] = "none: one class only"
    elif not any(map(_has_rank, records)):
        # All answers would be treated as wrong, and the area would be 0 although no answer was read.
        fields["interval"] = "none: no answer could be read"
    else:
        fields = interval_of(estimate, flags)
    common = result_names(context, "auroc", higher_is_better=True)
    yield Result(
        **common,
        n=len(ranks),
        n_expected=context.n_expected,
        outcomes=dict(outcomes),
        **fields,
    )


def area_under_roc(
    scores: Sequence[float],
    golds: Sequence[bool],
) -> float | None:
    """Return the area under the ROC curve without an interval; `None` if all targets are the same."""
    estimate = estimate_auroc(scores, golds)
    return None if estimate is None else estimate.value


def estimate_auroc(
    scores: Sequence[float],
    golds: Sequence[bool],
) -> Estimate | None:
    """Return the area under the ROC curve with DeLong's standard error; `None` if all targets are the same."""
    import numpy as np

    values = np.asarray(scores, float)
    is_yes = np.asarray(golds, bool)
    yes = values[is_yes]
    no = values[~is_yes]
    if not len(yes) or not len(no):
        return None
    ranks = _midranks(values)
    # For each sample, the share of the other class that it is ranked correctly against.
    above = (ranks[is_yes] - _midranks(yes)) / len(no)
    below = 1 - (ranks[~is_yes] - _midranks(no)) / len(yes)
    value = float(above.mean())
    if len(yes) < 2 or len(no) < 2:
        return Estimate(
            value,
            None,
            None,
            None,
            len(values),
            None,
            "n/a: one sample of a class",
        )
    parts = [
        (float(placements.var(ddof=1)) / len(placements), placements)
        for placements in (above, below)
    ]
    variance = math.fsum(part for part, _ in parts)
    fewer = min(len(yes), len(no))
    if is_constant(1.0, 1.0 + math.sqrt(variance)):
        # No sample is on the wrong side, or all are: count as many trials as the smaller class has.
        return replace(
            without_spread(value, fewer, None, (0.0, 1.0), 0.95), n=len(values)
        )
    effective_units = [
        seen_units(((placements - placements.mean()) ** 2).tolist()) or 1.0
        for _, placements in parts
    ]
    base = 1 / (1 / len(yes) + 1 / len(no))
    units_seen = variance**2 / math.fsum(
        part**2 / units for (part, _), units in zip(parts, effective_units, strict=True)
    )
    spread = Spread(
        variance,
        base=base,
        seen=units_seen,
        df=variance**2
        / math.fsum(part**2 / (len(placements) - 1) for part, placements in parts),
    )
    low, high = limits(value, spread, (0.0, 1.0), 0.95)
    return Estimate(
        value,
        math.sqrt(variance),
        low,
        high,
        len(values),
        None,
        "DeLong score",
        (0.0, 1.0),
        spread,
    )


def _midranks(values: "Floats") -> "Floats":
    """Return ranks from 1. Equal values share the mean of their ranks."""
    import numpy as np

    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which], float)


def _has_rank(record: ScoreRecord) -> bool:
    """Return True if a record has a score to rank it by (`details["score"]`) or a readable answer."""
    return record.details.get("score") is not None or record.answer in ("yes", "no")


def _rank_and_target(record: ScoreRecord) -> tuple[float, bool] | None:
    """Return the score to rank a record by, and its target; None if it lacks a verdict or a target."""
    gold = record.details.get("gold")
    if record.outcome in UNRESOLVED or gold not in ("yes", "no"):
        return None
    score = record.details.get("score")
    if score is None:
        if record.answer in ("yes", "no"):
            answer = record.answer
        else:
            answer = {"yes": "no", "no": "yes"}[gold]
        score = float(answer == "yes")
    return float(score), gold == "yes"
