"""Intervals for runs that may stop early. They stay valid however often the run checked its scores.

If a run may stop after any check, an ordinary interval for a fixed n misses the true
value more often than stated. It is replaced with the betting confidence sequence over
the samples in the order in which they were sent. If that is not possible, the row gets
a flag that its interval ignores early stopping.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core import Result, ScoreRecord
from ...summarizers.attempts import Attempts
from ...summarizers.statistics import BettingSequence, Estimate
from ...summarizers.units import ValueOf, value_reader, values_by_sample
from ..plan.planned_task import PlannedTask
from ..plan.stopping import Until, parse_until, watched_scoring
from ..scoring.scoring import Scoring

METHOD = "anytime: betting confidence sequence"
FIXED = "interval does not allow for --until"
ROUNDING = 1e-6


def reads(
    scoring: Scoring,
    metric: str,
) -> ValueOf:
    """Return a function that reads the value of a metric from a score record. An
    unreadable answer gets the worst value.
    """
    bounds = scoring.bounds or (0.0, 1.0)
    return value_reader(metric, bounds[0] if scoring.higher_is_better else bounds[1])


def sequence_of(
    scoring: Scoring,
    *,
    is_paired: bool,
) -> BettingSequence:
    """Return an empty confidence sequence with the bounds of a scorer's values, or of differences if `is_paired`."""
    low, high = scoring.bounds or (0.0, 1.0)
    if is_paired:
        low, high = low - high, high - low
    return BettingSequence(minimum=low, maximum=high)


def anytime_results(
    results: Sequence[Result],
    records: Sequence[ScoreRecord],
    planned: PlannedTask,
    scoring: Scoring,
) -> list[Result]:
    """Return the results of one scorer, with intervals that remain valid if the run stops early.

    `records` are in the order of the samples.
    """
    assert planned.run.until is not None
    rule = parse_until(planned.run.until)
    return [_relabelled(result, records, planned, scoring, rule) for result in results]


def _relabelled(
    result: Result,
    records: Sequence[ScoreRecord],
    planned: PlannedTask,
    scoring: Scoring,
    rule: Until,
) -> Result:
    """Return a result with an interval that is valid after early stopping. If there is none, add a flag."""
    has_stopped = planned.counted_rows is not None
    stopped = (f"stopped early by --until {rule.text}",) if has_stopped else ()
    values = _values(result, records, planned, scoring)
    try:
        now = _estimate(values.values(), scoring, rule, is_paired=False)
    except ValueError:
        now = None  # a score outside of the scale
    is_mean = (
        now is not None
        and result.value is not None
        and abs(now.value - result.value) <= ROUNDING
    )
    if now is None or not is_mean or result.clusters is not None:
        return replace(result, flags=(*result.flags, FIXED, *stopped))
    details: dict[str, Any] = {
        "rule": rule.text,
        "stopped": has_stopped,
        "seed": planned.run.seed or 0,
        "first_look": rule.schedule.first_look,
        "look_every": rule.schedule.look_every,
        "fixed_n_ci": None if result.ci is None else list(result.ci),
    }
    flags = [*result.flags, *stopped]
    if planned.earlier_values is not None and scoring is watched_scoring(planned):
        try:
            details["difference"] = difference_of(values, planned, scoring, rule)
        except ValueError as error:  # a baseline value outside of the scale
            details["difference"] = {"n": 0, "decision": "not decided"}
            flags.append(f"no difference from {planned.run.baseline}: {error}")
    if now.low is None or now.high is None:
        ci = None
    else:
        ci = (now.low, now.high)
    return replace(
        result,
        ci=ci,
        interval=METHOD,
        flags=tuple(flags),
        details={**result.details, "until": details},
    )


def difference_of(
    values: Mapping[str, float],
    planned: PlannedTask,
    scoring: Scoring,
    rule: Until,
) -> dict[str, Any]:
    """Return the mean difference from the baseline, taken sample by sample, with its interval and the decision."""
    before = planned.earlier_values or {}
    gaps = [value - before[id] for id, value in values.items() if id in before]
    now = _estimate(gaps, scoring, rule, is_paired=True)
    if now is None or now.low is None or now.high is None:
        return {"n": 0, "decision": "not decided"}
    return {
        "baseline": planned.run.baseline,
        "value": now.value,
        "ci": [now.low, now.high],
        "n": now.n,
        "decision": decision_of(rule.verdict(now), scoring),
    }


def decision_of(
    verdict: str,
    scoring: Scoring,
) -> str:
    """Convert a verdict such as `higher` to `better`, `worse`, `alike` or `not decided`.

    Whether higher is better depends on the scorer.
    """
    if verdict in ("higher", "lower"):
        if (verdict == "higher") == scoring.higher_is_better:
            return "better"
        return "worse"
    return verdict or "not decided"


def decided_lines(results: Sequence[Result]) -> list[str]:
    """Return a line for each result that a run with `--until` and `--baseline` compared with the baseline."""
    lines = []
    for result in results:
        if isinstance(result.details, Mapping):
            difference = result.details.get("until", {}).get("difference")
        else:
            difference = None
        if difference and difference.get("ci"):
            low, high = difference["ci"]
            decision = difference["decision"]
            if decision in ("better", "worse"):
                against = "than"
            else:
                against = "against"
            baseline = difference["baseline"]
            value = difference["value"]
            count = difference["n"]
            line = (
                f"{result.task}.{result.metric}: {decision} {against} {baseline}: {value:+.3f}, "
                f"anytime interval [{low:+.3f}, {high:+.3f}], {count} samples"
            )
            lines.append(line)
    return lines


def _values(
    result: Result,
    records: Sequence[ScoreRecord],
    planned: PlannedTask,
    scoring: Scoring,
) -> dict[str, float]:
    """Return the value of each sample for one result, by sample id; empty if the values cannot be read."""
    if scoring.whole_output:
        candidates = 1
    else:
        candidates = planned.options.n
    try:
        return values_by_sample(
            Attempts(records, candidates),
            reads(scoring, result.metric),
            planned.task.reducer,
        )[0]
    except ValueError:
        return {}


def _estimate(
    values: Collection[float],
    scoring: Scoring,
    rule: Until,
    *,
    is_paired: bool,
) -> Estimate | None:
    """Return the mean of values with a confidence sequence that was checked as often
    as the run did; None if impossible.
    """
    if not values or scoring.bounds is None:
        return None
    sequence = sequence_of(scoring, is_paired=is_paired)
    for count, value in enumerate(values, 1):
        sequence.add(value)
        if rule.schedule.looks_at(count):
            sequence.look()  # an interval never widens again after a check
    return sequence.look()
