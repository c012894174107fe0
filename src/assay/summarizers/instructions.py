"""Accuracy over instructions: the verdicts of all prompts pooled, each instruction counting once.

A mean over prompts would count an instruction that stands alone three times as much as one of three.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .corpus import corpus_result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@summarizers.register("instructions")
def instructions(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """`instruction_strict` and `instruction_loose`, with a line for each kind of instruction."""
    for way in ("strict", "loose"):
        metric = f"{context.scorer}.instruction_{way}"
        result = corpus_result(records, context, metric, _followed(way), _share)
        yield replace(result, groups={**result.groups, **_by_kind(records, way)})


def _followed(way: str) -> Callable[[ScoreRecord], Sequence[float] | None]:
    def counts(record: ScoreRecord) -> Sequence[float] | None:
        verdicts = record.details.get(way)
        return (sum(map(bool, verdicts)), len(verdicts)) if verdicts else None

    return counts


def _share(sums: "Floats") -> "Floats":
    import numpy as np

    return np.asarray(sums[:, 0] / sums[:, 1], float)


def _by_kind(records: Sequence[ScoreRecord], way: str) -> dict[str, dict[str, float | int]]:
    followed: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for record in records:
        for name, verdict in zip(record.details.get("instructions", ()), record.details.get(way, ()), strict=False):
            asked[name] += 1
            followed[name] += bool(verdict)
    return {f"instruction={name}": {"value": followed[name] / asked[name], "n": asked[name]} for name in sorted(asked)}
