"""Accuracy, precision, recall, F1 on yes, and how often the model says yes: the numbers of POPE.

lmms-eval counts in another way: an answer with neither word is left out of recall and F1, and its yes-ratio is that of
the *targets*. `counting: lmms_eval` does the same.
"""

from collections.abc import Iterator, Mapping, Sequence

from ..core import Result, ScoreRecord, SummaryContext, UsageError
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import Recipe

Weights = tuple[int, int, int, int, int, int]
"""Weights of true yes, false yes, false no, true no, unread with gold yes, unread with gold no."""

SHARES: Mapping[str, tuple[Weights, Weights]] = {
    "accuracy": ((1, 0, 0, 1, 0, 0), (1, 1, 1, 1, 1, 1)),
    # Undefined for a model that never says yes.
    "precision": ((1, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0)),
    "recall": ((1, 0, 0, 0, 0, 0), (1, 0, 1, 0, 1, 0)),
    # The harmonic mean of both; 0 if there is no right yes.
    "f1": ((2, 0, 0, 0, 0, 0), (2, 1, 1, 0, 1, 0)),
    "yes_ratio": ((1, 1, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1)),
}
"""The counts of numerator and denominator of each number."""
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
    """Yield the numbers from the confusion counts of the scorer `yes_no`; an answer with neither word is wrong."""
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
