"""Accuracy, precision, recall, F1 on yes, and how often the model says yes: the numbers of POPE.

lmms-eval counts otherwise: an answer with neither word is left out of recall and F1, and its yes-ratio is that of the
*targets*. `counting: lmms_eval` does the same.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..core import Result, ScoreRecord, SummaryContext, UsageError
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@summarizers.register("yes_no")
@pools
def yes_no(records: Sequence[ScoreRecord], context: SummaryContext, counting: str = "all") -> Iterator[Result]:
    """From the confusion counts of the scorer `yes_no`; an answer with neither is wrong, and a yes that was missed."""
    if counting not in ("all", "lmms_eval"):
        raise UsageError(f"summarizer 'yes_no' has no counting {counting!r}", fix="counting: all, or lmms_eval")
    drops_unread = counting == "lmms_eval"
    for name, formula in (
        ("accuracy", accuracy_from),
        ("precision", precision_from),
        ("recall", recall_of_read if drops_unread else recall_from),
        ("f1", f1_of_read if drops_unread else f1_from),
        ("yes_ratio", yes_ratio_of_targets if drops_unread else yes_ratio_from),
    ):
        yield corpus_result(records, context, name, _confusion, formula)


def accuracy_from(sums: "Floats") -> "Floats":
    """Right answers of all answers."""
    return _ratio(sums[:, 0] + sums[:, 3], sums.sum(axis=1))


def precision_from(sums: "Floats") -> "Floats":
    """Right yes of all yes; undefined for a model that never says yes."""
    return _ratio(sums[:, 0], sums[:, 0] + sums[:, 1])


def recall_from(sums: "Floats") -> "Floats":
    """Right yes of all that should have been yes, unread answers among them."""
    return _ratio(sums[:, 0], sums[:, 0] + sums[:, 2] + sums[:, 4])


def f1_from(sums: "Floats") -> "Floats":
    """The harmonic mean of both; 0 where there is no right yes."""
    return _ratio(2 * sums[:, 0], 2 * sums[:, 0] + sums[:, 1] + sums[:, 2] + sums[:, 4])


def yes_ratio_from(sums: "Floats") -> "Floats":
    """The share of answers that are yes, right or wrong."""
    return _ratio(sums[:, 0] + sums[:, 1], sums.sum(axis=1))


def recall_of_read(sums: "Floats") -> "Floats":
    """Right yes of those that should have been yes and were read as either."""
    return _ratio(sums[:, 0], sums[:, 0] + sums[:, 2])


def f1_of_read(sums: "Floats") -> "Floats":
    """The harmonic mean of precision and that recall."""
    return _ratio(2 * sums[:, 0], 2 * sums[:, 0] + sums[:, 1] + sums[:, 2])


def yes_ratio_of_targets(sums: "Floats") -> "Floats":
    """The share of questions whose answer is yes, whatever the model said."""
    return _ratio(sums[:, 0] + sums[:, 2] + sums[:, 4], sums.sum(axis=1))


def _ratio(above: "Floats", below: "Floats") -> "Floats":
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below, float)


def _confusion(record: ScoreRecord) -> Sequence[float] | None:
    return record.details.get("confusion")
