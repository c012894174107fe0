"""Area under the ROC curve: how often a sample whose answer is yes is ranked above one whose answer is no.

The rank is `details["score"]` where a scorer gives one, else the verdict: 1 for yes, 0 for no, and the wrong one where
none could be read; of several answers to a sample it is the mean. Ties count half. The standard error is DeLong's;
samples are taken as independent.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..core import UNRESOLVED, Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .breakdown import interval_of
from .statistics import Estimate
from .units import failure_flags, lacking_flags

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Z_95 = 1.959963984540054


@summarizers.register("auroc")
@pools
def auroc(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """One result, 0 to 1; 0.5 is chance."""
    scores: dict[str, list[float]] = {}
    golds: dict[str, bool] = {}
    lacking = 0
    for record in records:
        pair = _ranked(record)
        if pair is not None:
            scores.setdefault(record.id, []).append(pair[0])
            golds[record.id] = pair[1]
        elif record.outcome not in UNRESOLVED:
            lacking += 1
    outcomes = Counter(record.outcome for record in records)
    unresolved = sum(outcomes[str(outcome)] for outcome in UNRESOLVED)
    ranks = [math.fsum(each) / len(each) for each in scores.values()]
    estimate = estimate_auroc(ranks, list(golds.values()))
    fields = {"value": None, "interval": "none: one class only"} if estimate is None else interval_of(estimate)
    yield Result(
        task=context.task,
        model=context.model,
        metric="auroc",
        protocol=context.protocol,
        n=len(ranks),
        n_expected=context.n_expected,
        outcomes=dict(outcomes),
        flags=(*failure_flags(unresolved / len(records) if records else 0.0), *lacking_flags(lacking)),
        **fields,
    )


def area_under_roc(scores: Sequence[float], golds: Sequence[bool]) -> float | None:
    """The area alone; `None` where all answers are the same."""
    estimate = estimate_auroc(scores, golds)
    return None if estimate is None else estimate.value


def estimate_auroc(scores: Sequence[float], golds: Sequence[bool]) -> Estimate | None:
    """The area with DeLong's standard error; `None` where all answers are the same."""
    import numpy as np

    values, is_yes = np.asarray(scores, float), np.asarray(golds, bool)
    yes, no = values[is_yes], values[~is_yes]
    if not len(yes) or not len(no):
        return None
    ranks = _midranks(values)
    # How much of the other class each sample is on the right side of.
    above = (ranks[is_yes] - _midranks(yes)) / len(no)
    below = 1 - (ranks[~is_yes] - _midranks(no)) / len(yes)
    value = float(above.mean())
    if len(yes) < 2 or len(no) < 2:
        return Estimate(value, None, None, None, len(values), None, "n/a: one sample of a class")
    error = math.sqrt(float(above.var(ddof=1)) / len(yes) + float(below.var(ddof=1)) / len(no))
    low, high = max(0.0, value - Z_95 * error), min(1.0, value + Z_95 * error)
    return Estimate(value, error, low, high, len(values), None, "DeLong")


def _midranks(values: "Floats") -> "Floats":
    """Ranks from 1; equal values share the mean of theirs."""
    import numpy as np

    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which], float)


def _ranked(record: ScoreRecord) -> tuple[float, bool] | None:
    """Score and gold of one record; `None` for one without a verdict to come."""
    gold = record.details.get("gold")
    if record.outcome in UNRESOLVED or gold not in ("yes", "no"):
        return None
    score = record.details.get("score")
    if score is None:
        said = record.answer if record.answer in ("yes", "no") else {"yes": "no", "no": "yes"}[gold]
        score = float(said == "yes")
    return float(score), gold == "yes"
