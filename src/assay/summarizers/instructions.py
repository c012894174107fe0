"""Accuracy over instructions: the verdicts of all prompts pooled, each instruction counting once.

A mean over prompts would count the only instruction of a prompt three times as much as one of three.
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
    """Yield `instruction_strict` and `instruction_loose`, with a line for each kind of instruction."""
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
    """Return the verdicts on each kind of instruction; of several answers to a prompt, the mean over them."""
    repeats: dict[tuple[str, str, int], list[float]] = {}
    for record in records:
        verdicts = record.details.get(f"each_{way}", ())
        for number, (kind, verdict) in enumerate(verdicts):
            instruction = kind, record.id, number
            if instruction not in repeats:
                repeats[instruction] = []
            repeats[instruction].append(float(verdict))
    means: dict[str, list[float]] = {}
    for (kind, _, _), numbers in repeats.items():
        mean = fsum(numbers) / len(numbers)
        if kind not in means:
            means[kind] = []
        means[kind].append(mean)
    return means


def _estimate(verdicts: Sequence[float]) -> dict[str, Any]:
    return interval_of(
        estimate_mean(
            verdicts, binary=all(v in (0.0, 1.0) for v in verdicts), ends=(0.0, 1.0)
        )
    )
