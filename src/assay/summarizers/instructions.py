"""Accuracy over instructions: the verdicts of all prompts pooled, each instruction counting once.

A mean over prompts would count an instruction that stands alone three times as much as one of three.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .breakdown import interval_of
from .pooled import Pooled
from .statistics import estimate_mean


@summarizers.register("instructions")
def instructions(records: Sequence[ScoreRecord], context: SummaryContext) -> Iterator[Result]:
    """`instruction_strict` and `instruction_loose`, with a line for each kind of instruction."""
    for way in ("strict", "loose"):
        metric = f"{context.scorer}.instruction_{way}"
        for result in Pooled(numerator=way, denominator="asked", metric=metric)(records, context):
            kinds = {
                kind: Result(context.task, context.model, metric, n=len(verdicts), n_expected=None,
                             protocol=context.protocol, **interval_of(estimate_mean(verdicts, binary=True)))
                for kind, verdicts in sorted(_by_kind(records, way).items())
            }  # fmt: skip
            yield replace(result, groups={**result.groups, "instruction": kinds})


def _by_kind(records: Sequence[ScoreRecord], way: str) -> dict[str, list[float]]:
    """The verdicts on each kind of instruction."""
    found: dict[str, list[float]] = {}
    for record in records:
        for kind, verdict in record.details.get(f"each_{way}", ()):
            found.setdefault(kind, []).append(float(verdict))
    return found
