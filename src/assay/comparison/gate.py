"""The gate: decide by intervals whether a run passes its policy.

With `max_drop`, the interval of the paired difference from the baseline is compared
with the allowed drop. The run passes if the whole interval is above it (non-
inferiority), and fails if the whole interval is below it. Otherwise the result is
inconclusive, so a small run cannot pass by luck. The check then estimates how many
samples are needed. Limits on the value itself are decided by the interval of the value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import UNRESOLVED, AssayError, Result, UsageError, suggest
from ..core.record import FLOOR
from ..report import format_value
from ..store import RunReader
from ..store.imported import open_run
from ..summarizers.statistics.power_analysis import (
    Decision,
    decide,
    deciding_size,
    rounded_up,
)
from .comparing import changed_scorers, compare_runs
from .comparison_rows import Row
from .foreign_pairs import is_imported
from .policy import Policy, Rule

PASS: Decision = "pass"
FAIL: Decision = "fail"
INCONCLUSIVE: Decision = "inconclusive"
SHARES = ("wilson", "clopper-pearson", "exact")
"""Prefixes of interval methods that are only used for right-or-wrong scores."""


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one result of the run against one limit of the policy."""

    name: str
    """Task and metric of the result. If the run has several models, the model too."""
    kind: str
    """`max_drop`, `min_value`, `max_value` or `min_above_floor`."""
    bound: float
    """The limit as a number, such as 0.02."""
    decision: Decision
    value: float | None = None
    """The value of the run."""
    baseline_value: float | None = None
    """The value of the baseline on the common samples."""
    difference: float | None = None
    """Run minus baseline; None for a limit that needs no baseline."""
    ci: tuple[float, float] | None = None
    """The 95 % interval of the difference or the value. The decision is based on it."""
    n: int = 0
    is_anytime: bool = False
    """True if the run stopped early. The interval is then one that stays valid after repeated checks."""
    reason: str = ""
    """The reason why the limit could not be decided, and advice on how to decide it."""
    needed: int | None = None
    """The estimated number of samples that would decide the limit."""

    @property
    def limit(self) -> str:
        """The limit as text, such as `max_drop 0.02`."""
        return f"{self.kind} {self.bound:g}"

    @property
    def found(self) -> str:
        """The compared values as text: the difference, or the value with its interval."""
        if self.kind == "max_drop":
            return self._difference_text()
        if self.ci is None:
            return format_value(self.value)
        low, high = (format_value(end) for end in self.ci)
        return f"{format_value(self.value)} [{low}, {high}], n {self.n}"

    def _difference_text(self) -> str:
        if self.difference is None:
            return "not compared"
        text = f"{self.difference:+.3f}"
        if self.baseline_value is not None:
            before = format_value(self.baseline_value)
            after = format_value(self.value)
            text = f"{before} → {after}, {text}"
        if self.ci is None:
            return text
        when = " at any time" if self.is_anytime else ""
        return f"{text} [{self.ci[0]:+.3f}, {self.ci[1]:+.3f}]{when}, n {self.n}"

    def lines(self) -> list[str]:
        """Return the lines of the check for a terminal: decision and limit, compared values, reason."""
        lines = [f"{self.decision.upper():<12}  {self.name}  {self.limit}", self.found]
        if self.reason:
            lines.append(self.reason)
        return lines

    def to_plain(self) -> dict[str, Any]:
        """Return the check as JSON."""
        plain: dict[str, Any] = {
            "name": self.name,
            "decision": self.decision,
            "kind": self.kind,
            "limit": self.bound,
            "value": self.value,
            "baseline_value": self.baseline_value,
            "difference": self.difference,
            "ci": None if self.ci is None else list(self.ci),
            "n": self.n,
            "found": self.found,
        }
        if self.reason:
            plain["reason"] = self.reason
        if self.needed is not None:
            plain["needed"] = self.needed
        return plain


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a run, with its checks."""

    run: str
    baseline: str | None
    checks: Sequence[Check]
    notes: Sequence[str]

    @property
    def decision(self) -> Decision:
        """The decision on the run: it fails if one check fails, and passes if all checks pass."""
        decisions = {check.decision for check in self.checks}
        for decision in (FAIL, INCONCLUSIVE):
            if decision in decisions:
                return decision
        return PASS

    def headline(self) -> str:
        """Return the verdict in one line."""
        parts = []
        for kind in (PASS, FAIL, INCONCLUSIVE):
            count = sum(check.decision == kind for check in self.checks)
            if count:
                parts.append(f"{count} {kind}")
        if self.baseline:
            against = f" against {self.baseline}"
        else:
            against = ""
        return f"{self.decision.upper()}: {self.run}{against} ({', '.join(parts)})"

    def to_plain(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        return {
            "decision": self.decision,
            "run": self.run,
            "baseline": self.baseline,
            "checks": [check.to_plain() for check in self.checks],
            "notes": list(self.notes),
        }


def judge_run(
    policy: Policy,
    run: str | Path,
    baseline: str | Path | None = None,
) -> Verdict:
    """Decide whether a run passes. Raise `UsageError` if the run or its baseline cannot be used."""
    if policy.needs_baseline and baseline is None:
        raise UsageError(
            "the policy has max_drop, which needs an earlier run",
            where=policy.where,
            fix="--baseline RUN",
        )
    after = _sound_run(run, policy)
    chosen = list(_choose_results(policy, after.results, str(run)))
    tasks = {result.task for _, result in chosen}
    notes: list[str] = []
    rows: dict[tuple[str, str, str], Row] = {}
    if baseline is not None:
        before = _sound_run(baseline, policy)
        _refuse_changed(policy, before, after, tasks, str(baseline))
        comparison = compare_runs(before, after, force="data" in policy.allow_changed)
        rows = {(row.task, row.model, row.metric): row for row in comparison.rows}
        notes += comparison.notes
    checks = _checks(chosen, rows, after, str(baseline))
    others = {result.task for result in after.results} - tasks
    if others:
        names = ", ".join(sorted(others))
        notes.append(f"not checked, since the policy does not name them: {names}")
    return Verdict(str(run), None if baseline is None else str(baseline), checks, notes)


def _checks(
    chosen: Sequence[tuple[Rule, Result]],
    rows: Mapping[tuple[str, str, str], Row],
    after: RunReader,
    baseline: str,
) -> list[Check]:
    """Check every limit. With more limits, each failure needs stronger evidence, so that false alarms stay rare."""
    several_models = len({result.model for _, result in chosen}) > 1
    limits = [(rule, result, kind) for rule, result in chosen for kind in _kinds(rule)]
    together = len(limits)
    checks = []
    for rule, result, kind in limits:
        name = f"{result.task}.{result.metric}"
        if several_models:
            name += f" ({result.model})"
        if kind == "min_above_floor":
            checks.append(_above_floor(name, rule, result, together))
            continue
        if kind != "max_drop":
            checks.append(_floor(name, rule, result, together))
            continue
        early = _early_difference(result, after, baseline)
        if early is not None:
            checks.append(_early_drop(name, rule, result, early, together))
        else:
            row = rows.get((result.task, result.model, result.metric))
            checks.append(_drop(name, rule, result, row, together))
    return checks


def _kinds(rule: Rule) -> Iterator[str]:
    if rule.max_drop is not None:
        yield "max_drop"
    if rule.min_value is not None or rule.max_value is not None:
        yield "value"
    if rule.min_above_floor is not None:
        yield "min_above_floor"


def _choose_results(
    policy: Policy,
    results: Sequence[Result],
    where: str,
) -> Iterator[tuple[Rule, Result]]:
    """Yield the results to check, each with its rule. Raise for tasks and metrics that the run does not have."""
    by_task: dict[str, list[Result]] = {}
    for result in results:
        by_task.setdefault(result.task, []).append(result)
    if not by_task:
        raise UsageError(
            "the run has no numbers",
            where=where,
            fix="give a run that was scored",
        )
    for task in policy.tasks or by_task:
        rule = policy.tasks.get(task, policy.usual)
        if task not in by_task:
            fix = suggest(task, by_task, "its tasks:")
            raise UsageError(
                f"the run has no task {task!r}",
                where=policy.where,
                fix=fix,
            )
        metrics = dict.fromkeys(result.metric for result in by_task[task])
        metric = rule.metric or next(iter(metrics))
        if metric not in metrics:
            fix = suggest(metric, metrics, "its metrics:")
            raise UsageError(
                f"task {task!r} has no metric {metric!r}",
                where=policy.where,
                fix=fix,
            )
        for result in by_task[task]:
            if result.metric == metric:
                _check_direction(rule, result, policy.where)
                yield rule, result


def _check_direction(
    rule: Rule,
    result: Result,
    where: str,
) -> None:
    """Raise for a limit in the wrong direction: with a lower limit for a metric where
    low is good, the worst run would pass.
    """
    name = f"{result.task}.{result.metric}"
    if rule.min_value is not None and not result.higher_is_better:
        fix = f"max_value: {rule.min_value:g}"
        raise UsageError(
            f"{name} has min_value, but lower is better",
            where=where,
            fix=fix,
        )
    if rule.max_value is not None and result.higher_is_better:
        fix = f"min_value: {rule.max_value:g}"
        raise UsageError(
            f"{name} has max_value, but higher is better",
            where=where,
            fix=fix,
        )
    scale = result.details.get("scale") or (
        (0.0, 1.0) if result.interval.startswith(SHARES) else None
    )
    if rule.max_drop is not None and scale and rule.max_drop >= scale[1] - scale[0]:
        fix = f"max_drop is in the units of the metric: {rule.max_drop / 100:g} for {rule.max_drop:g} points of 100"
        raise UsageError(
            f"max_drop {rule.max_drop:g} allows {name} to lose everything",
            where=where,
            fix=fix,
        )


def _drop(
    name: str,
    rule: Rule,
    result: Result,
    row: Row | None,
    together: int,
) -> Check:
    """Check `max_drop`: the difference from the baseline."""
    limit = rule.max_drop or 0.0
    check = Check(name, "max_drop", limit, INCONCLUSIVE, value=result.value)
    if row is None or row.paired is None:
        reason = row.refused if row is not None else ""
        return replace(check, reason=reason or "the baseline does not have it")
    paired = row.paired
    difference = row.paired.difference
    check = replace(
        check,
        value=paired.mean_a,
        baseline_value=paired.mean_b,
        difference=difference.value,
        n=paired.n,
    )
    if difference.low is None or difference.high is None:
        return replace(check, reason=f"no interval ({difference.method})")
    check = replace(check, ci=(difference.low, difference.high))
    if difference.unreliable:
        return replace(check, reason=difference.unreliable)
    return _decide(check, difference.value, -limit, result, together, difference.stderr)


def _early_difference(
    result: Result,
    after: RunReader,
    baseline: str,
) -> Mapping[str, Any] | None:
    """Return the difference from the baseline that a run with `--until` recorded.

    Return an empty mapping if the run stopped early but recorded no difference from
    this baseline. Return None if the run had a fixed number of samples.
    """
    rule = result.details.get("until")
    if not isinstance(rule, Mapping):
        return None
    config = after.manifest.get("config")
    if isinstance(config, Mapping):
        earlier = config.get("baseline")
    else:
        earlier = None
    difference = None
    if earlier is not None:
        earlier_folder = Path(str(earlier)).expanduser().resolve()
        if earlier_folder == Path(baseline).expanduser().resolve():
            difference = rule.get("difference")
    if difference or rule.get("stopped"):
        return difference or {}
    return None


def _early_drop(
    name: str,
    rule: Rule,
    result: Result,
    early: Mapping[str, Any],
    together: int,
) -> Check:
    """Check `max_drop` for a run that stopped early, with the anytime interval that the run recorded."""
    limit = rule.max_drop or 0.0
    check = Check(
        name,
        "max_drop",
        limit,
        INCONCLUSIVE,
        value=result.value,
        n=result.n,
    )
    if not early.get("ci"):
        reason = "the run stopped early, and not by this baseline; fix: --until decided --baseline RUN"
        return replace(check, reason=reason)
    low, high = early["ci"]
    difference = float(early["value"])
    check = replace(
        check,
        difference=difference,
        ci=(low, high),
        n=early["n"],
        is_anytime=True,
    )
    return _decide(check, difference, -limit, result, together)


def _floor(
    name: str,
    rule: Rule,
    result: Result,
    together: int,
) -> Check:
    """Check `min_value` or `max_value`: the limit on the value itself."""
    if result.higher_is_better:
        kind = "min_value"
        bound = rule.min_value
    else:
        kind = "max_value"
        bound = rule.max_value
    assert bound is not None
    return _decide_value(name, kind, bound, result, together)


def _above_floor(
    name: str,
    rule: Rule,
    result: Result,
    together: int,
) -> Check:
    """Check `min_above_floor`: the distance of the value from its floor."""
    distance = rule.min_above_floor
    assert distance is not None
    floor = result.details.get(FLOOR)
    if not isinstance(floor, Mapping):
        check = Check(name, "min_above_floor", distance, INCONCLUSIVE)
        reason = "no floor was measured: run the task again without --floors off"
        return replace(
            check,
            value=result.value,
            n=result.n,
            reason=reason,
        )
    level = float(floor["value"])
    if result.higher_is_better:
        bound = level + distance
    else:
        bound = level - distance
    check = _decide_value(name, "min_above_floor", bound, result, together)
    reason = f"floor {format_value(level)} ({floor['agent']})"
    if check.reason:
        reason = f"{reason}; {check.reason}"
    return replace(check, bound=distance, reason=reason)


def _decide_value(
    name: str,
    kind: str,
    bound: float,
    result: Result,
    together: int,
) -> Check:
    """Check a result's value against the limit that it must reach."""
    check = Check(
        name,
        kind,
        bound,
        INCONCLUSIVE,
        value=result.value,
        n=result.n,
    )
    if result.value is None or result.ci is None:
        interval = result.interval or "none"
        return replace(check, reason=f"no interval ({interval})")
    low, high = result.ci
    check = replace(check, ci=(low, high))
    for flag in result.flags:
        if "unreliable" in flag:
            return replace(check, reason=flag)
    least = bound if result.higher_is_better else -bound
    return _decide(check, result.value, least, result, together, result.stderr)


def _decide(
    check: Check,
    value: float,
    least: float,
    result: Result,
    together: int,
    stderr: float | None = None,
) -> Check:
    """Decide a check by comparing the interval with `least`.

    If lower is better, values and interval are negated first, so that more is always
    better.
    """
    assert check.ci is not None
    low, high = check.ci
    if not result.higher_is_better:
        value, low, high = -value, -high, -low
    decision = decide(value, (low, high), least, together=together)
    if decision != INCONCLUSIVE:
        return replace(check, decision=decision)
    needed = deciding_size(check.n, value, (low, high), least, stderr)
    if needed is None:
        reason = "it is at the limit: more samples may never decide"
        return replace(check, reason=reason)
    about = rounded_up(needed)
    return replace(
        check,
        reason=f"about {about:,} samples would decide",
        needed=about,
    )


def _sound_run(
    folder: str | Path,
    policy: Policy,
) -> RunReader:
    """Return the reader of a finished and undamaged run. Raise `UsageError` for any other run."""
    where = str(folder)
    try:
        reader = open_run(folder)
        manifest = reader.manifest_if_any
        damage = reader.damage
        results = reader.results
    except UsageError:
        raise
    except AssayError as error:
        raise UsageError(
            error.what,
            where=where,
            fix=error.fix,
        ) from error
    again = "run the same command again, then the gate"
    if damage:
        raise UsageError(
            f"the run is damaged: {damage[0]}",
            where=where,
            fix=again,
        )
    status = str(manifest.get("status"))
    if not reader.is_finished or status not in ("complete", "partial"):
        raise UsageError(
            f"the run is not finished: {status}",
            where=where,
            fix=again,
        )
    for result in results:
        lost, total = _without_verdict(result)
        if lost > policy.max_unresolved * total:
            share = _round_up(lost / total)
            raise UsageError(
                f"{result.task}.{result.metric}: {lost} of {total} samples have no verdict",
                where=where,
                fix=f"{again}; or let the policy allow it: max_unresolved: {share}",
            )
    return reader


def _without_verdict(result: Result) -> tuple[int, int]:
    """Return two numbers: the samples without a verdict, and all samples."""
    expected = result.n_expected or 0
    lost = sum(result.outcomes.get(str(outcome), 0) for outcome in UNRESOLVED)
    lost = max(lost, expected - result.n)
    return lost, max(expected, result.n + lost, 1)


def _round_up(share: float) -> str:
    """Return a share as text with three digits, rounded up."""
    return f"{-(-share * 1000 // 1) / 1000:g}"


def _refuse_changed(
    policy: Policy,
    before: RunReader,
    after: RunReader,
    tasks: set[str],
    baseline: str,
) -> None:
    """Raise if data or scorers of the runs differ and the policy does not allow such differences."""
    if is_imported(before) or is_imported(after):
        return  # The comparison itself refuses different data if the samples show the difference.
    earlier = {cell["task"]: cell for cell in before.manifest.get("cells", ())}
    for cell in after.manifest.get("cells", ()):
        earlier_cell = earlier.get(cell["task"])
        if earlier_cell is None or cell["task"] not in tasks:
            continue
        if "data" not in policy.allow_changed and earlier_cell.get(
            "data_sha256"
        ) != cell.get("data_sha256"):
            fix = "run both on the same data; or let the policy allow it: allow_changed: [data]"
            raise UsageError(
                f"task {cell['task']!r} has other data than this run",
                where=baseline,
                fix=fix,
            )
        changed = changed_scorers(
            earlier_cell.get("scorers", {}), cell.get("scorers", {})
        )
        if changed and "scorer" not in policy.allow_changed:
            fix = f"`assay score {baseline}` scores it as this run was; or allow_changed: [scorer]"
            message = f"{changed[0]} of task {cell['task']!r} has changed since"
            raise UsageError(message, where=baseline, fix=fix)
