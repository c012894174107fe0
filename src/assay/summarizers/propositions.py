"""DPG-Bench over a run: by image, by question, and by category of question.

The benchmark's own number is the mean over images; some systems report the mean over all questions under the same
name. Both are computed. Categories count answers without considering parents, as in the official script.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .corpus import corpus_result
from .strata import Counting, OneEach


@summarizers.register("dpg")
def dpg(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """Yield `dpg` over images and `dpg_questions` over questions, 0 to 1; the first has the categories."""
    details = {"categories": _categories(records)}
    counting = Counting.of(records, context)
    by_image = OneEach(records, counting, context)
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
        records,
        context,
        "dpg_questions",
        _by_question,
        ends=(0.0, 1.0),
        flags=pooled,
    )


def _by_question(record: ScoreRecord) -> Sequence[float] | None:
    """Return which propositions the image fulfils, if the scorer read them."""
    return record.details.get("fulfilled")


def _categories(records: Sequence[ScoreRecord]) -> dict[str, dict[str, Any]]:
    """Return the share of fulfilled propositions of each category, and their number."""
    fulfilled: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for record in records:
        categories = record.details.get("categories", {})
        for name, (yes, count) in categories.items():
            fulfilled[name] += yes
            total[name] += count
    shares = {}
    for name in sorted(total):
        share = fulfilled[name] / total[name]
        shares[name] = {"value": share, "n": total[name]}
    return shares
