"""Accuracy over instructions: the verdicts of all prompts pooled, each instruction counting once.

A mean over prompts would count an instruction that stands alone three times as much as one of three.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .breakdown import interval_of
from .pooled import Pooled
from .statistics import estimate_mean


@summarizers.register("instructions")
@pools
def instructions(
    records: Sequence[ScoreRecord], context: SummaryContext
) -> Iterator[Result]:
    """`instruction_strict` and `instruction_loose`, with a line for each kind of instruction."""
    for way in ("strict", "loose"):
        metric = f"{context.scorer}.instruction_{way}"
        for result in Pooled(
            numerator=way, denominator="asked", metric=metric, bounds=(0.0, 1.0)
        )(records, context):
            kinds = {
                kind: Result(
                    context.task,
                    context.model,
                    metric,
                    n=len(verdicts),
                    n_expected=None,
                    protocol=context.protocol,
                    **_estimate(verdicts),
                )
                for kind, verdicts in sorted(_by_kind(records, way).items())
            }
            yield replace(result, groups={**result.groups, "instruction": kinds})


def _by_kind(records: Sequence[ScoreRecord], way: str) -> dict[str, list[float]]:
    """The verdicts on each kind of instruction; of several answers to a prompt, the mean over them."""
    found: dict[str, dict[tuple[str, int], list[float]]] = {}
    for record in records:
        for place, (kind, verdict) in enumerate(record.details.get(f"each_{way}", ())):
            found.setdefault(kind, {}).setdefault((record.id, place), []).append(
                float(verdict)
            )
    return {
        kind: [fsum(each) / len(each) for each in units.values()]
        for kind, units in found.items()
    }


def _estimate(verdicts: Sequence[float]) -> dict[str, Any]:
    return interval_of(
        estimate_mean(
            verdicts, binary=all(v in (0.0, 1.0) for v in verdicts), ends=(0.0, 1.0)
        )
    )
