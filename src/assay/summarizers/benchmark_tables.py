"""Tables as their benchmarks publish them: MM-Vet, CORE-MM and DPG-Bench.

CORE-MM's score is in percent. Grades are from 0 to 1, and highly complex questions
have weight 2: the score is (sum of moderate + 2 x sum of high) / (number of moderate + 2
x number of high), overall and for each kind of reasoning, as its paper defines it
(arXiv 2311.11567).

DPG-Bench is summarized by image, by question, and by category of question. The
benchmark defines its score as the mean over images; some systems report the mean over
all questions under the same name. Both are computed. Categories count answers without
considering parents, as in the official script.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .corpus import corpus_result
from .mean import Mean
from .statistics.estimate import Ends
from .strata import Counting, OneEach, expected_of

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")


@summarizers.register("mmvet")
@dataclass(frozen=True)
class MmVet:
    """The overall mean in percent, with a breakdown by capability and by combination of capabilities."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        (overall, *_) = Mean()(
            [replace(record, tags={}) for record in records], context
        )
        groups: dict[str, dict[str, Result]] = {"capability": {}, "combination": {}}
        for capability in CAPABILITIES:
            members = [
                record
                for record in records
                if capability in record.tags.get("category", "")
            ]
            if members:
                groups["capability"][capability] = _mean_of(members, context)
        combinations = sorted({record.tags.get("category", "") for record in records})
        for combination in combinations:
            members = [
                record
                for record in records
                if record.tags.get("category", "") == combination
            ]
            groups["combination"][combination] = _mean_of(members, context)
        yield replace(
            _percent(overall),
            metric="mmvet",
            groups=groups,
        )


def _mean_of(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Result:
    (result, *_) = Mean()([replace(record, tags={}) for record in records], context)
    return replace(_percent(result), n_expected=len(records))


def _percent(result: Result) -> Result:
    """Return a copy of the result with value, error and interval in percent."""
    return replace(
        result,
        value=_times_100(result.value),
        stderr=_times_100(result.stderr),
        ci=_ends_times_100(result.ci),
        bounds=_ends_times_100(result.bounds),
        parsed_value=_times_100(result.parsed_value),
    )


def _times_100(number: float | None) -> float | None:
    return None if number is None else 100 * number


def _ends_times_100(ends: Ends | None) -> Ends | None:
    return None if ends is None else (100 * ends[0], 100 * ends[1])


WEIGHTS = {"moderate": 1.0, "high": 2.0}
SCALE = (0.0, 100.0)


@summarizers.register("core_mm")
def core_mm(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield CORE-MM's weighted mean in percent.

    A sample whose tag `complexity` is neither moderate nor high has weight 1; the
    details have the number of such samples.
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


@summarizers.register("dpg")
def dpg(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield `dpg`, the mean over images with its categories, and `dpg_questions`, the
    mean over questions, both 0 to 1.
    """
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
    """Return a list with 1 for each fulfilled proposition and 0 for each other; None if the scorer had no answers."""
    return record.details.get("fulfilled")


def _categories(records: Sequence[ScoreRecord]) -> dict[str, dict[str, Any]]:
    """Return the share of fulfilled propositions in each category, and the number of its propositions."""
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
