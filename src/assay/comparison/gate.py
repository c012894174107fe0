"""The gate: whether a run may pass, decided by intervals.

A task that may drop by at most `max_drop` passes where the whole paired interval against the baseline lies above that
drop (non-inferiority), and fails where all of it lies below. A small run therefore passes nothing by luck: it is
inconclusive, and the number of samples that would decide is said. Floors are decided by the number's own interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import UNRESOLVED, Result, UsageError, suggest
from ..report import format_value
from ..store import RunReader
from ..summarizers.statistics.margins import Decision, decide, deciding_size, rounded_up
from .comparing import compare_runs
from .policy import Policy, Rule
from .rows import Row
from .ways import changed_scorers

PASS: Decision = "pass"
FAIL: Decision = "fail"
INCONCLUSIVE: Decision = "inconclusive"
SHARES = ("wilson", "clopper-pearson", "exact")
"""Intervals of right-or-wrong scores, which lie between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Check:
    """One limit, and what became of it."""

    name: str
    """Task and metric; with several models, whose it is, too."""
    limit: str
    """What was asked for, in words."""
    decision: Decision
    found: str
    """The numbers it rests on."""
    reason: str = ""
    """Why it is not decided, and what would decide it."""
    needed: int | None = None
    """About how many samples would decide."""
    n: int = 0

    def line(self) -> str:
        """The check in one line."""
        why = f": {self.reason}" if self.reason else ""
        return (
            f"{self.decision.upper():<12}  {self.name}  {self.limit}  {self.found}{why}"
        )

    def to_plain(self) -> dict[str, Any]:
        """The check as JSON."""
        plain = {
            "name": self.name,
            "limit": self.limit,
            "decision": self.decision,
            "found": self.found,
            "n": self.n,
        }
        reason = {"reason": self.reason} if self.reason else {}
        return {
            **plain,
            **reason,
            **({} if self.needed is None else {"needed": self.needed}),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a run at the gate."""

    run: str
    baseline: str | None
    checks: Sequence[Check]
    notes: Sequence[str]

    @property
    def decision(self) -> Decision:
        """One failure fails; all must pass."""
        found = {check.decision for check in self.checks}
        return (
            FAIL if FAIL in found else INCONCLUSIVE if INCONCLUSIVE in found else PASS
        )

    def headline(self) -> str:
        """The verdict in one line."""
        counts = [
            (sum(c.decision == kind for c in self.checks), kind)
            for kind in (PASS, FAIL, INCONCLUSIVE)
        ]
        summary = ", ".join(f"{count} {kind}" for count, kind in counts if count)
        against = f" against {self.baseline}" if self.baseline else ""
        return f"{self.decision.upper()}: {self.run}{against} ({summary})"

    def to_plain(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "decision": self.decision,
            "run": self.run,
            "baseline": self.baseline,
            "checks": [check.to_plain() for check in self.checks],
            "notes": list(self.notes),
        }


def judge_run(
    policy: Policy, run: str | Path, baseline: str | Path | None = None
) -> Verdict:
    """Decides whether a run passes; raises where it, or its baseline, is not one that can be relied on."""
    if policy.needs_baseline and baseline is None:
        what = "the policy has max_drop, which needs an earlier run"
        raise UsageError(what, where=policy.where, fix="--baseline RUN")
    after = _sound_run(run, policy)
    results = after.results
    chosen = list(_chosen(policy, results, str(run)))
    notes: list[str] = []
    rows: dict[tuple[str, str, str], Row] = {}
    if baseline is not None:
        before = _sound_run(baseline, policy)
        _refuse_changed(
            policy, before, after, {result.task for _, result in chosen}, str(baseline)
        )
        comparison = compare_runs(baseline, run)
        rows = {(row.task, row.model, row.metric): row for row in comparison.rows}
        notes += comparison.notes
    several = len({result.model for _, result in chosen}) > 1
    # One line a limit: how many are decided together says how sure each failure must be.
    limits = [(rule, result, kind) for rule, result in chosen for kind in _kinds(rule)]
    checks = []
    for rule, result, kind in limits:
        name = f"{result.task}.{result.metric}" + (
            f" ({result.model})" if several else ""
        )
        if kind == "max_drop":
            row = rows.get((result.task, result.model, result.metric))
            early = _early_difference(result, after, str(baseline))
            if early is None:
                checks.append(_drop(name, rule, result, row, len(limits)))
            else:
                checks.append(_early_drop(name, rule, result, early, len(limits)))
        else:
            checks.append(_floor(name, rule, result, len(limits)))
    others = {result.task for result in results} - {result.task for _, result in chosen}
    if others:
        notes.append(
            f"not looked at, since the policy does not name them: {', '.join(sorted(others))}"
        )
    return Verdict(str(run), None if baseline is None else str(baseline), checks, notes)


def _kinds(rule: Rule) -> Iterator[str]:
    if rule.max_drop is not None:
        yield "max_drop"
    if rule.min_value is not None or rule.max_value is not None:
        yield "value"


def _chosen(
    policy: Policy, results: Sequence[Result], where: str
) -> Iterator[tuple[Rule, Result]]:
    """The numbers that are looked at, each with its rule; raises for names that the run does not have."""
    by_task: dict[str, list[Result]] = {}
    for result in results:
        by_task.setdefault(result.task, []).append(result)
    if not by_task:
        raise UsageError(
            "the run has no numbers", where=where, fix="give a run that was scored"
        )
    for task in policy.tasks or by_task:
        rule = policy.tasks.get(task, policy.usual)
        if task not in by_task:
            fix = suggest(task, by_task, "its tasks:")
            raise UsageError(
                f"the run has no task {task!r}", where=policy.where, fix=fix
            )
        metrics = dict.fromkeys(result.metric for result in by_task[task])
        metric = rule.metric or next(iter(metrics))
        if metric not in metrics:
            fix = suggest(metric, metrics, "its metrics:")
            raise UsageError(
                f"task {task!r} has no metric {metric!r}", where=policy.where, fix=fix
            )
        for result in by_task[task]:
            if result.metric == metric:
                _check_direction(rule, result, policy.where)
                yield rule, result


def _check_direction(rule: Rule, result: Result, where: str) -> None:
    """A floor under a number that should be low would pass the worst run."""
    name = f"{result.task}.{result.metric}"
    if rule.min_value is not None and not result.higher_is_better:
        fix = f"max_value: {rule.min_value:g}"
        raise UsageError(
            f"{name} is better the lower it is, and has min_value", where=where, fix=fix
        )
    if rule.max_value is not None and result.higher_is_better:
        fix = f"min_value: {rule.max_value:g}"
        raise UsageError(
            f"{name} is better the higher it is, and has max_value",
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
    name: str, rule: Rule, result: Result, row: Row | None, together: int
) -> Check:
    """The difference against the baseline, turned so that more is better."""
    limit = f"max_drop {rule.max_drop:g}"
    if row is None or row.paired is None:
        why = (
            row.refused
            if row is not None and row.refused
            else "the baseline does not have it"
        )
        return Check(name, limit, INCONCLUSIVE, "not compared", why)
    paired, difference = row.paired, row.paired.difference
    found = f"{format_value(paired.mean_b)} → {format_value(paired.mean_a)}, {difference.value:+.3f}"
    if difference.low is None or difference.high is None:
        return Check(
            name,
            limit,
            INCONCLUSIVE,
            found,
            f"no interval ({difference.method})",
            n=paired.n,
        )
    found += f" [{difference.low:+.3f}, {difference.high:+.3f}], n {paired.n}"
    check, ends = (
        Check(name, limit, INCONCLUSIVE, found, n=paired.n),
        (difference.low, difference.high),
    )
    bound = -(rule.max_drop or 0.0)
    return _decided(
        check,
        result,
        difference.value,
        ends,
        bound,
        together,
        difference.stderr,
        difference.unreliable,
    )


def _early_difference(
    result: Result, after: RunReader, baseline: str
) -> Mapping[str, Any] | None:
    """What a run that may have stopped early found against this baseline, empty if against another; `None` for a run
    whose number of samples was fixed."""
    rule = result.details.get("until")
    if not isinstance(rule, Mapping):
        return None
    config = after.manifest.get("config")
    then = config.get("baseline") if isinstance(config, Mapping) else None
    is_same = (
        then is not None
        and Path(str(then)).expanduser().resolve()
        == Path(baseline).expanduser().resolve()
    )
    found = rule.get("difference") if is_same else None
    if found or rule.get("stopped"):
        return found or {}
    return None


def _early_drop(
    name: str, rule: Rule, result: Result, early: Mapping[str, Any], together: int
) -> Check:
    """The same by the anytime interval that the run itself kept: a fixed-n interval does not allow for its end."""
    limit = f"max_drop {rule.max_drop:g}"
    if not early.get("ci"):
        why = "the run stopped early, and not by this baseline; fix: --until decided --baseline RUN"
        return Check(name, limit, INCONCLUSIVE, "not compared", why, n=result.n)
    low, high = early["ci"]
    found = (
        f"{early['value']:+.3f} [{low:+.3f}, {high:+.3f}] at any time, n {early['n']}"
    )
    check = Check(name, limit, INCONCLUSIVE, found, n=early["n"])
    return _decided(
        check, result, early["value"], (low, high), -(rule.max_drop or 0.0), together
    )


def _floor(name: str, rule: Rule, result: Result, together: int) -> Check:
    """The number itself, turned so that more is better."""
    bound = rule.min_value if result.higher_is_better else rule.max_value
    assert bound is not None
    limit = f"{'min' if result.higher_is_better else 'max'}_value {bound:g}"
    if result.value is None or result.ci is None:
        why = f"no interval ({result.interval or 'none'})"
        return Check(
            name, limit, INCONCLUSIVE, format_value(result.value), why, n=result.n
        )
    low, high = result.ci
    found = f"{format_value(result.value)} [{format_value(low)}, {format_value(high)}], n {result.n}"
    unreliable = next((flag for flag in result.flags if "unreliable" in flag), "")
    check, bound = (
        Check(name, limit, INCONCLUSIVE, found, n=result.n),
        bound if result.higher_is_better else -bound,
    )
    return _decided(
        check,
        result,
        result.value,
        (low, high),
        bound,
        together,
        result.stderr,
        unreliable,
    )


def _decided(
    check: Check,
    result: Result,
    value: float,
    ends: tuple[float, float],
    bound: float,
    together: int,
    stderr: float | None = None,
    unreliable: str = "",
) -> Check:
    """The check by a number and the ends of its interval; all of them are turned so that more is better."""
    if not result.higher_is_better:
        value, ends = -value, (-ends[1], -ends[0])
    decision = decide(value, ends, bound, together=together)
    if unreliable:
        return replace(check, reason=unreliable)
    if decision != INCONCLUSIVE:
        return replace(check, decision=decision)
    needed = deciding_size(check.n, value, ends, bound, stderr)
    if needed is None:
        return replace(
            check, reason="it lies at the limit: more samples may never decide"
        )
    about = rounded_up(needed)
    return replace(check, reason=f"about {about:,} samples would decide", needed=about)


def _sound_run(folder: str | Path, policy: Policy) -> RunReader:
    """A run that is finished and whole."""
    reader = RunReader(Path(folder).expanduser())
    where = str(folder)
    again = "run the same command again, then the gate"
    if reader.damage:
        raise UsageError(
            f"the run is damaged: {reader.damage[0]}", where=where, fix=again
        )
    status = str(reader.manifest.get("status"))
    if not reader.is_finished or status not in ("complete", "partial"):
        raise UsageError(f"the run is not finished: {status}", where=where, fix=again)
    for result in reader.results:
        lost = sum(result.outcomes.get(str(outcome), 0) for outcome in UNRESOLVED)
        lost = max(lost, (result.n_expected or 0) - result.n)
        total = max(result.n_expected or 0, result.n + lost, 1)
        if lost > policy.max_unresolved * total:
            raise UsageError(
                f"{result.task}.{result.metric}: {lost} of {total} samples have no verdict",
                where=where,
                fix=f"{again}; or let the policy allow it: max_unresolved: {_up(lost / total)}",
            )
    return reader


def _up(share: float) -> str:
    return f"{-(-share * 1000 // 1) / 1000:g}"


def _refuse_changed(
    policy: Policy, before: RunReader, after: RunReader, tasks: set[str], baseline: str
) -> None:
    """Raises where two runs did not judge the same samples by the same scorers: a difference would not be a drop."""
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
                f"task {cell['task']!r} has other data than here",
                where=baseline,
                fix=fix,
            )
        changed = changed_scorers(
            earlier_cell.get("scorers", {}), cell.get("scorers", {})
        )
        if changed and "scorer" not in policy.allow_changed:
            fix = f"`assay score {baseline}` scores it as this run was; or allow_changed: [scorer]"
            what = f"{changed[0]} of task {cell['task']!r} has changed since"
            raise UsageError(what, where=baseline, fix=fix)
