"""The chance level of multiple choice: the expected score of guessing, shown next to the score."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core import BadSample, Result, Sample
from ...core.record import FLOOR
from ..scoring.scoring import Scoring

CHANCE = "chance"
CHOICE_SCORERS = "assay.scorers.choice"
"""The package with the scorers for multiple choice with one right option."""


@dataclass(slots=True)
class ChanceLevel:
    """Sums up the options of a run's samples for the chance level."""

    guesses: float = 0.0
    """The sum over samples of the expected score of a guess."""
    count: int = 0
    has_others: bool = False
    """True if some sample has no options, or more than one right option. The task then has no chance level."""

    def add(self, item: Sample | BadSample) -> None:
        """Add the options of one sample to the sums."""
        if isinstance(item, BadSample):
            return
        if len(item.choices) < 2 or len(item.targets) != 1:
            self.has_others = True
            return
        share = 1 / len(item.choices)
        self.guesses += share
        self.count += 1

    @property
    def value(self) -> float | None:
        """The expected share of right answers by guessing; None if the task has no chance level."""
        if self.has_others or not self.count:
            return None
        return self.guesses / self.count


def with_chance(
    results: Iterable[Result],
    level: ChanceLevel,
    scorings: Sequence[Scoring],
) -> list[Result]:
    """Return the results with the chance level added to each that is a share of right choices."""
    results = list(results)
    value = level.value
    if value is None:
        return results
    names = {s.name for s in scorings if _is_choice(s.scorer)}
    rounded = round(value, 6)
    floor: dict[str, Any] = {"value": rounded, "agent": CHANCE}
    rows = []
    for result in results:
        is_mean = result.reducer == "mean"
        if result.metric in names and is_mean:
            details = {**result.details, FLOOR: floor}
            row = replace(result, details=details)
        else:
            row = result
        rows.append(row)
    return rows


def _is_choice(scorer: object) -> bool:
    """Return True if a scorer comes with assay and detects which option an answer chose."""
    if isinstance(scorer, type) or callable(scorer):
        kind = scorer
    else:
        kind = type(scorer)
    own_module = getattr(kind, "__module__", "")
    modules = (own_module, type(scorer).__module__)
    matches = (str(module).startswith(CHOICE_SCORERS) for module in modules)
    return any(matches)
