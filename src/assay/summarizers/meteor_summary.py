"""Corpus METEOR 1.5 from the counts of its segments, by the formula and the English parameters of its program."""

from collections.abc import Iterator, Sequence

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .corpus import corpus_result
from .recipes import Recipe
from .statistics.estimate import Floats

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
STAGES = (1.0, 0.6, 0.8, 0.6)
"""The weights of an exact match, a stem, a synonym and a paraphrase."""


@summarizers.register("meteor")
@pools
def meteor(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """Yield METEOR over all segments, 0 to 1."""
    yield corpus_result(records, context, "meteor", Recipe("meteor", "stats"))


def corpus_meteor_from(sums: "Floats") -> "Floats":
    """Return METEOR of each row of sums.

    A row has the words and the function words of both sides; for each of four stages the content words and the
    function words matched on both sides; the number of chunks; the words matched on both sides.
    """
    import numpy as np

    length, reference_length, answer_function, reference_function = sums[:, :4].T
    matched = sums[:, 4:20].reshape(len(sums), len(STAGES), 4)
    worth = np.asarray(STAGES)
    precision = _share(
        matched[:, :, 0] @ worth,
        matched[:, :, 2] @ worth,
        length - answer_function,
        answer_function,
    )
    recall = _share(
        matched[:, :, 1] @ worth,
        matched[:, :, 3] @ worth,
        reference_length - reference_function,
        reference_function,
    )
    below = ALPHA * precision + (1 - ALPHA) * recall
    mean = np.where(
        below > 0,
        precision * recall / np.where(below > 0, below, 1.0),
        0.0,
    )
    words = (sums[:, 21] + sums[:, 22]) / 2
    broken = np.where(words > 0, sums[:, 20] / np.where(words > 0, words, 1.0), 0.0)
    return np.asarray(mean * (1 - GAMMA * broken**BETA), float)


def meteor_of(rows: "Floats") -> float:
    """Return METEOR of some segments together, for fixtures."""
    return float(corpus_meteor_from(rows.sum(axis=0, keepdims=True))[0])


def _share(
    content: "Floats",
    function: "Floats",
    all_content: "Floats",
    all_function: "Floats",
) -> "Floats":
    import numpy as np

    below = DELTA * all_content + (1 - DELTA) * all_function
    return np.asarray(
        (DELTA * content + (1 - DELTA) * function) / np.where(below > 0, below, 1.0),
        float,
    )
