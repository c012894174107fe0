"""Corpus TER from the edits and lengths in the details of its scorer."""

from collections.abc import Iterator, Sequence

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import Recipe
from .statistics.estimate import Floats
from .translation_summary import signature


@summarizers.register("ter")
@pools
def ter(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """Yield the edits per hundred words of the references; lower is better."""
    details = {"signature": signature(records)}
    yield corpus_result(
        records,
        context,
        "ter",
        Recipe("ter", "stats"),
        details=details,
        higher_is_better=False,
    )


def corpus_ter_from(sums: "Floats") -> "Floats":
    """Return TER of each row of sums: edits, words of the references. Edits without any word are 100."""
    import numpy as np

    edits = sums[:, 0]
    words = sums[:, 1]
    return np.asarray(
        100 * np.where(words > 0, edits / np.where(words > 0, words, 1.0), edits > 0),
        float,
    )
