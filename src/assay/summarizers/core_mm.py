"""CORE-MM's score in percent: grades from 0 to 1, with those of highly complex questions counted twice.

(sum of the moderate ones + 2 x sum of the high ones) / (number of moderate ones + 2 x number of high ones), overall
and for each kind of reasoning, as its paper defines it (arXiv 2311.11567).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .corpus import corpus_result
from .strata import Counting, OneEach, expected_of

WEIGHTS = {"moderate": 1.0, "high": 2.0}
SCALE = (0.0, 100.0)


@summarizers.register("core_mm")
def core_mm(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield the weighted mean in percent.

    A sample whose tag `complexity` has neither value counts once, and the details count such samples.
    """
    unknown = sum(_complexity(record) not in WEIGHTS for record in records)
    details = {"complexity_unknown": unknown} if unknown else {}
    one_each = OneEach(records, Counting.of(records, context), context)

    def weighted(record: ScoreRecord) -> Sequence[float] | None:
        counts = one_each(record)
        weight = WEIGHTS.get(_complexity(record), 1.0)
        if counts is None:
            return None
        return (100 * weight * counts[0], weight * counts[1])

    flags = one_each.flags
    yield corpus_result(
        records,
        context,
        "core_mm",
        weighted,
        details=details,
        ends=SCALE,
        flags=flags,
    )
    categories = sorted({record.tags.get("category", "") for record in records} - {""})
    for category in categories:
        members = [
            record for record in records if record.tags.get("category") == category
        ]
        result = corpus_result(
            members,
            context,
            f"core_mm.{category}",
            weighted,
            ends=SCALE,
            flags=flags,
        )
        yield replace(result, n_expected=expected_of(members, records, context))


def _complexity(record: ScoreRecord) -> str:
    return record.tags.get("complexity", "").strip().lower()
