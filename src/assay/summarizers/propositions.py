"""DPG-Bench over a run: by image, by question, and by category of question.

The benchmark's own number is the mean over images; some systems print the mean over all questions under the same
name. Both are given. Categories count answers as given, without regard to parents, as the official script does.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .corpus import corpus_result
from .strata import Counting, OneEach


@summarizers.register("dpg")
def dpg(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """`dpg` over images and `dpg_questions` over questions, 0 to 1, with the categories beside the first."""
    details = {"categories": _categories(records)}
    by_image = OneEach(records, Counting.of(records, context), context)
    pooled = ("no reducer: every answer counts",) if by_image.flags else ()
    yield corpus_result(
        records,
        context,
        "dpg",
        by_image,
        details=details,
        ends=(0.0, 1.0),
        flags=by_image.flags,
    )
    yield corpus_result(
        records, context, "dpg_questions", _by_question, ends=(0.0, 1.0), flags=pooled
    )


def _by_question(record: ScoreRecord) -> Sequence[float] | None:
    return record.details.get("fulfilled")


def _categories(records: Sequence[ScoreRecord]) -> dict[str, dict[str, Any]]:
    sums: dict[str, list[int]] = {}
    for record in records:
        for name, (yes, count) in record.details.get("categories", {}).items():
            cell = sums.setdefault(name, [0, 0])
            cell[0] += yes
            cell[1] += count
    return {
        name: {"value": yes / count, "n": count}
        for name, (yes, count) in sorted(sums.items())
    }
