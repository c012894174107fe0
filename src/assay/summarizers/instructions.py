"""Accuracy over instructions: the verdicts of all prompts pooled, with each instruction counting once.

A mean over prompts would count the only instruction of a prompt three times as much as one of three.
"""

from collections import defaultdict
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

_Instruction = tuple[str, str, int]
"""The kind of an instruction, the id of its prompt, and its number in the prompt."""


@summarizers.register("instructions")
@pools
def instructions(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield `instruction_strict` and `instruction_loose`, with a line for each kind of instruction."""
    for way in ("strict", "loose"):
        metric = f"{context.scorer}.instruction_{way}"
        results = Pooled(
            numerator=way,
            denominator="asked",
            metric=metric,
            bounds=(0.0, 1.0),
        )(records, context)
        for result in results:
            kinds = {}
            for kind, verdicts in sorted(_by_kind(records, way).items()):
                kinds[kind] = Result(
                    context.task,
                    context.model,
                    metric,
                    n=len(verdicts),
                    n_expected=None,
                    protocol=context.protocol,
                    **_estimate(verdicts),
                )
            yield replace(result, groups={**result.groups, "instruction": kinds})


def _by_kind(records: Sequence[ScoreRecord], way: str) -> dict[str, list[float]]:
    """Return the verdicts on each kind of instruction; of several answers to a prompt, the mean over them."""
    repeats: defaultdict[_Instruction, list[float]] = defaultdict(list)
    field = f"each_{way}"
    for record in records:
        verdicts = record.details.get(field, ())
        for number, (kind, verdict) in enumerate(verdicts):
            instruction = (kind, record.id, number)
            numbers = repeats[instruction]
            numbers.append(float(verdict))

    means: defaultdict[str, list[float]] = defaultdict(list)
    for instruction, numbers in repeats.items():
        kind = instruction[0]
        mean = fsum(numbers) / len(numbers)
        means[kind].append(mean)
    return means


def _estimate(verdicts: Sequence[float]) -> dict[str, Any]:
    estimate = estimate_mean(
        verdicts,
        binary=all(v in (0.0, 1.0) for v in verdicts),
        ends=(0.0, 1.0),
    )
    return interval_of(estimate)
