"""Ratios of sums over a run: of counts in `details`, and of verdicts on instructions.

Accuracy over instructions pools the verdicts of all prompts, so that all instructions
have the same weight. In a mean over prompts, the only instruction of a prompt would have
three times the weight of one of three.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar

from ..core import Result, ScoreRecord, SummaryContext
from ..registry import summarizers
from .attempts import pools
from .breakdown import interval_of
from .corpus import Pool
from .recipes import Recipe
from .statistics import POSITIVE, estimate_mean
from .statistics.estimate import Ends
from .units import result_names

Names = str | Sequence[str]


@summarizers.register("pooled")
@dataclass(frozen=True, slots=True)
class Pooled:
    """The sum of some counts divided by the sum of other counts, with an interval over clusters.

    Example: `Pooled(numerator=("substitutions", "deletions", "insertions"),
    denominator="reference_words")`
    """

    numerator: Names
    denominator: Names
    metric: str | None = None
    """The name of the metric; by default the scorer's."""
    bounds: Ends | None = None
    """The lowest and the highest value of the ratio: 0 and 1 for a share, None if it has no limit."""
    pools: ClassVar[bool] = True

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield one result. Its details also have the mean of the ratios of the individual samples."""
        names = (_names(self.numerator), _names(self.denominator))
        formula = "ratio" if self.bounds is None else "share"
        recipe = Recipe(formula, names)
        pool = Pool.of(records, recipe.read)
        above = pool.counts[0::2]
        below = pool.counts[1::2]
        pairs = zip(above, below, strict=True)
        ratios = [a / b for a, b in pairs if b]
        # If each sample has 0 or 1 of 1, the number is a share of samples, which is at most 1.
        are_shares = all(
            b == 1.0 and a in (0.0, 1.0) for a, b in zip(above, below, strict=True)
        )
        metric = self.metric or context.scorer
        common = result_names(context, metric)
        yield Result(
            **common,
            **pool.result(
                common,
                recipe,
                self.bounds or ((0.0, 1.0) if are_shares else POSITIVE),
            ),
            n_expected=context.n_expected,
            outcomes=dict(pool.outcomes),
            parsed_value=pool.ratio(pool.scored),
            details={
                "numerator": math.fsum(above),
                "denominator": math.fsum(below),
                "mean_of_samples": math.fsum(ratios) / len(ratios) if ratios else None,
                "recipe": recipe.to_plain(),
            },
        )


def _names(names: Names) -> tuple[str, ...]:
    """Return the names as a tuple. A single name may be a text."""
    if isinstance(names, str):
        return (names,)
    return tuple(names)


_Instruction = tuple[str, str, int]
"""An instruction: its type, the id of its prompt, and its index in the prompt."""


@summarizers.register("instructions")
@pools
def instructions(
    records: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[Result]:
    """Yield `instruction_strict` and `instruction_loose`, each with the accuracy for each type of instruction."""
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


def _by_kind(
    records: Sequence[ScoreRecord],
    way: str,
) -> dict[str, list[float]]:
    """Return the verdicts by type of instruction. Several answers to one prompt are averaged."""
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
