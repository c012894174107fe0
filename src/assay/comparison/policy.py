"""The policy of a gate: how much each task may get worse, and which values it must reach."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError, nearest, shorten, suggest
from ..core.errors import raise_all
from ..runner.tasks.task_yaml import load_yaml

CHANGES = ("data", "scorer")
"""What may change between baseline and run, such as data or scorers, if the policy allows it."""
TASKS = "tasks"


@dataclass(frozen=True, slots=True)
class Rule:
    """The limits of one task."""

    max_drop: float | None = None
    """The largest allowed decline from the baseline, in the units of the metric."""
    min_value: float | None = None
    """The lowest allowed value of a metric for which higher is better."""
    max_value: float | None = None
    """The highest allowed value of a metric for which lower is better."""
    min_above_floor: float | None = None
    """How much better than its floor the value must be.

    The floor is the score of guessing, or of an agent that does nothing.
    """
    metric: str | None = None
    """The metric to check. By default it is the first metric of the task in the results table."""

    @property
    def decides(self) -> bool:
        """True if the rule sets at least one limit."""
        return any(
            limit is not None
            for limit in (
                self.max_drop,
                self.min_value,
                self.max_value,
                self.min_above_floor,
            )
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits that a run must meet to pass."""

    where: str
    usual: Rule
    """The rule for every task that is not in `tasks`."""
    tasks: Mapping[str, Rule]
    """The rules of the tasks to check, by name; if empty, all tasks of the run are checked."""
    max_unresolved: float = 0.0
    """Maximum share of samples without a verdict, in the run and in the baseline."""
    allow_changed: frozenset[str] = frozenset()

    @property
    def needs_baseline(self) -> bool:
        """True if a rule limits the drop."""
        return any(
            rule.max_drop is not None for rule in (self.usual, *self.tasks.values())
        )


RULE_KEYS = tuple(f.name for f in fields(Rule))
KEYS = (*RULE_KEYS, "max_unresolved", "allow_changed", TASKS)


def read_policy(path: str | Path) -> Policy:
    """Read a policy from YAML. All faults are reported at once, one line each, with the nearest valid name."""
    file = Path(path).expanduser()
    if not file.is_file():
        if file.parent.is_dir():
            beside = [path_beside.name for path_beside in file.parent.glob("*.y*ml")]
        else:
            beside = []
        close = nearest(file.name, beside)
        if close:
            fix = f"did you mean {file.parent / close}?"
        else:
            fix = "the first argument of `assay gate` is a YAML file"
        raise UsageError(
            "no such policy",
            where=str(path),
            fix=fix,
        )
    plain = load_yaml(file)
    where = str(path)
    if not isinstance(plain, Mapping) or not plain:
        raise UsageError(
            "a policy must be a mapping",
            where=where,
            fix="max_drop: 0.02",
        )
    faults: list[AssayError] = _unknown_keys(plain, KEYS, where)
    usual = _rule(plain, where, faults)
    named = plain.get(TASKS) or {}
    if isinstance(named, list):
        named = dict.fromkeys(map(str, named))
    if not isinstance(named, Mapping):
        fault = UsageError(
            f"`tasks` must be a list or a mapping, got {shorten(named)}",
            where=where,
            fix="tasks: {NAME: {max_drop: 0.02}}",
        )
        faults.append(fault)
        named = {}
    tasks = {
        str(name): _task_rule(str(name), entry, usual, where, faults)
        for name, entry in named.items()
    }
    policy = Policy(
        where,
        usual,
        tasks,
        _share(plain, where, faults),
        _changes(plain, where, faults),
    )
    idle = [name for name, rule in tasks.items() if not rule.decides]
    if not faults and (idle or not (usual.decides or tasks)):
        if idle:
            whose = f"task {idle[0]!r} has"
        else:
            whose = "the policy has"
        fault = UsageError(
            f"{whose} no limit",
            where=where,
            fix="max_drop: 0.02, or min_value: 0.5",
        )
        faults.append(fault)
    raise_all(faults)
    return policy


def _task_rule(
    name: str,
    entry: object,
    usual: Rule,
    where: str,
    faults: list[AssayError],
) -> Rule:
    """Return the limits of a task. A limit that the task does not set is taken from the policy's general limits."""
    task_where = f"{where}, task {name!r}"
    if entry is None:
        return usual
    if not isinstance(entry, Mapping):
        fault = UsageError(
            f"the rule of a task must be a mapping, got {shorten(entry)}",
            where=task_where,
            fix=f"{name}: {{max_drop: 0.02}}",
        )
        faults.append(fault)
        return usual
    faults += _unknown_keys(entry, RULE_KEYS, task_where)
    rule = _rule(entry, task_where, faults)
    return replace(
        usual,
        **{
            key: value for key in RULE_KEYS if (value := getattr(rule, key)) is not None
        },
    )


def _unknown_keys(
    plain: Mapping[Any, Any],
    keys: tuple[str, ...],
    where: str,
) -> list[AssayError]:
    faults: list[AssayError] = []
    for key in plain:
        if str(key) not in keys:
            fix = suggest(str(key), keys, "known keys:")
            faults.append(
                UsageError(
                    f"unknown key {key!r}",
                    where=where,
                    fix=fix,
                )
            )
    return faults


def _rule(
    plain: Mapping[str, Any],
    where: str,
    faults: list[AssayError],
) -> Rule:
    """Read limits from a mapping of the policy file. Faults are added to the list."""
    numbers: dict[str, float | None] = {}
    for key in ("max_drop", "min_value", "max_value", "min_above_floor"):
        value = plain.get(key)
        is_number = (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
        is_distance = key in ("max_drop", "min_above_floor")
        if value is not None and not (is_number and (not is_distance or value >= 0)):
            least = " from 0" if is_distance else ""
            fault = UsageError(
                f"`{key}` must be a number{least}, got {shorten(value)}",
                where=where,
                fix=f"{key}: 0.02",
            )
            faults.append(fault)
            value = None
        numbers[key] = None if value is None else float(value)
    metric = plain.get("metric")
    if metric is not None and not isinstance(metric, str):
        fault = UsageError(
            f"`metric` must be text, got {shorten(metric)}",
            where=where,
            fix="the name of one number",
        )
        faults.append(fault)
        metric = None
    return Rule(**numbers, metric=metric)  # type: ignore[arg-type]


def _share(
    plain: Mapping[str, Any],
    where: str,
    faults: list[AssayError],
) -> float:
    """Return the allowed share of samples without a verdict. A fault is added to the list."""
    value = plain.get("max_unresolved", 0.0)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 <= value <= 1
    ):
        fault = UsageError(
            f"`max_unresolved` must be a share from 0 to 1, got {shorten(value)}",
            where=where,
            fix="max_unresolved: 0.01",
        )
        faults.append(fault)
        return 0.0
    return float(value)


def _changes(
    plain: Mapping[str, Any],
    where: str,
    faults: list[AssayError],
) -> frozenset[str]:
    """Return the parts that may differ from the baseline. Faults are added to the list."""
    value = plain.get("allow_changed") or ()
    if isinstance(value, str):
        names = [value]
    elif isinstance(value, (list, tuple)):
        names = list(value)
    else:
        names = [value]
    for name in names:
        if name not in CHANGES:
            fix = suggest(str(name), CHANGES, "one of")
            fault = UsageError(
                f"`allow_changed` cannot have {shorten(name)}",
                where=where,
                fix=fix,
            )
            faults.append(fault)
    return frozenset(str(name) for name in names)
