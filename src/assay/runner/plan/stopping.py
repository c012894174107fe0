"""`--until`: end a run as soon as it has seen enough samples.

The rule uses confidence sequences, which stay valid however often they are checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...core import Result, UsageError, nearest, shorten
from ...store import RunReader
from ...summarizers.statistics import Estimate, StoppingRule
from ..options import RunOptions
from ..scoring.scoring import Scoring
from .planned_task import PlannedTask

CI, DECIDED = "ci", "decided"
NARROWEST = 0.002
"""Smallest half-width or margin that a rule may have.

For smaller ones, the grid of the confidence sequences is too coarse.
"""
FIX = "ci=0.02, or decided with --baseline RUN"


@dataclass(frozen=True, slots=True)
class Until:
    """The parsed value of `--until`, which defines when a run may end early."""

    text: str
    """The rule as the user typed it."""
    half_width: float | None = None
    """Stop when the value's interval is at most ± this; None for rules about a difference."""
    margin: float = 0.0
    """Two models count as equal if the interval of their difference is within ± this margin. 0: never."""

    @property
    def is_paired(self) -> bool:
        """True if the rule is about the difference from a baseline."""
        return self.half_width is None

    @property
    def schedule(self) -> StoppingRule:
        """How often the run is checked: after which numbers of samples."""
        return StoppingRule(self.half_width or self.margin)

    def ends(
        self,
        now: Estimate,
        count: int,
        seed: int,
    ) -> bool:
        """Return True if this estimate of a value or difference, from `count` samples, ends the run."""
        if self.is_paired:
            return self.verdict(now) != ""
        estimate = replace(now, n=count)
        return self.schedule.stops(estimate, shuffle_seed=seed)

    def verdict(self, now: Estimate) -> str:
        """Return the conclusion from the interval of a difference: `higher`, `lower`,
        `alike`, or empty if undecided.
        """
        if now.low is None or now.high is None:
            return ""
        if now.low > 0 or now.high < 0:
            return "higher" if now.low > 0 else "lower"
        if self.margin and -self.margin <= now.low and now.high <= self.margin:
            return "alike"
        return ""


def parse_until(text: str) -> Until:
    """Parse a rule typed as `ci=0.02`, `decided` or `decided=0.02`."""
    rule = str(text).strip()
    name, equals, value = rule.partition("=")
    if name not in (CI, DECIDED):
        close = nearest(name, (CI, DECIDED))
        if close:
            fix = f"did you mean {close}{equals}{value}?"
        else:
            fix = FIX
        problem = f"--until {shorten(text)} is not a rule"
        raise UsageError(problem, fix=fix)
    if name == DECIDED and not equals:
        return Until(DECIDED)
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not NARROWEST <= number < 0.5:
        raise UsageError(
            f"--until {text}: {shorten(value)} is not a number from {NARROWEST:g} to 0.5",
            fix=FIX,
        )
    if name == CI:
        return Until(f"{name}={value}", number)
    rule = f"{name}={value}"
    return Until(rule, None, number)


def prepare_until(
    options: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> None:
    """Raise if the rule cannot be applied to a task. Otherwise read the baseline for comparison."""
    if options.until is None:
        return
    rule = parse_until(options.until)
    where = f"--until {rule.text}"
    if options.predict_only:
        raise UsageError(
            "--predict_only scores nothing, so nothing can be judged",
            where=where,
            fix="leave one out",
        )
    if rule.is_paired and options.baseline is None:
        raise UsageError(
            "no earlier run to decide against",
            where=where,
            fix="--baseline RUN",
        )
    for planned in planned_tasks:
        scoring = watched_scoring(planned)
        fault = _unfit(planned, scoring)
        if fault:
            raise UsageError(
                f"task {planned.task.name!r}: {fault}",
                where=where,
                fix="--limit N",
            )
        assert scoring is not None  # otherwise `_unfit` reports it
        if options.baseline is not None:
            planned.earlier_values = _earlier_values(
                options.baseline,
                planned,
                scoring,
                where,
            )


def watched_scoring(planned: PlannedTask) -> Scoring | None:
    """Return the scorer whose values the rule uses, which is the first of the task."""
    if planned.scorings:
        return planned.scorings[0]
    return None


def _unfit(
    planned: PlannedTask,
    scoring: Scoring | None,
) -> str:
    """Return the reason why the rule cannot be applied to a task; empty if it can."""
    if planned.task.driver is not None or scoring is None:
        return "its driver asks and scores itself"
    if scoring.is_set_level or "mean" not in (
        planned.task.summarizers or scoring.summarizers
    ):
        return f"the number of {scoring.name!r} is not the mean of its samples"
    if scoring.scale.names:
        return f"the values of {scoring.name!r} have their own directions or bounds"
    if scoring.bounds is None:
        return f"scorer {scoring.name!r} does not declare the bounds of its scores (`bounds`)"
    first = planned.first_sample()
    if first is not None and first.weight is not None:
        return "its samples have weights, and the rule counts them alike"
    first_cluster = first is not None and first.cluster is not None
    if planned.task.cluster or (first_cluster):
        return "its samples go right or wrong together (`cluster`), and the rule needs independent ones"
    return ""


def _earlier_values(
    baseline: str,
    planned: PlannedTask,
    scoring: Scoring,
    where: str,
) -> Mapping[str, float]:
    """Return the value of each sample in the baseline run, by sample id. Used for `--until decided`."""
    reader = RunReader(Path(baseline).expanduser())
    rows = [
        row
        for row in reader.results
        if row.task == planned.task.name and _is_of(row, scoring)
    ]
    models = {row.model for row in rows}
    if planned.model_name in models:
        model = planned.model_name
    elif len(models) == 1:
        model = next(iter(models))
    else:
        model = None
    rows_of_model = (row for row in rows if row.model == model)
    baseline_row = next(rows_of_model, None)
    if baseline_row is None:
        if models:
            problem = "several models"
        else:
            name = scoring.name
            problem = f"no number of {name!r} for task {planned.task.name!r}"
        raise UsageError(
            f"the baseline {baseline} has {problem}",
            where=where,
            fix="give a finished run of this task",
        )
    values, _ = reader.sample_values(baseline_row)
    if not values:
        fix = f"assay score {baseline}"
        raise UsageError(
            f"the baseline {baseline} has no value for each sample",
            where=where,
            fix=fix,
        )
    return values


def _is_of(row: Result, scoring: Scoring) -> bool:
    """Return True if a row of the results table comes from this scorer, according to the name of its metric."""
    part_prefix = f"{scoring.name}."
    is_whole_number = row.metric == scoring.name
    return is_whole_number or row.metric.startswith(part_prefix)
