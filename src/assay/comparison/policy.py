"""The policy of a gate: by how much each task may get worse, and what it must reach."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..core import AssayError, UsageError, nearest, shorten, suggest
from ..core.errors import raise_all
from ..runner.tasks.task_yaml import load_yaml

CHANGES = ("data", "scorer")
"""What may differ between a run and its baseline only where the policy says so."""
TASKS = "tasks"


@dataclass(frozen=True, slots=True)
class Rule:
    """What one task must hold."""

    max_drop: float | None = None
    """By how much it may be worse than the baseline, in the units of the metric."""
    min_value: float | None = None
    """What a metric must reach that is better the higher it is."""
    max_value: float | None = None
    """What a metric must not exceed that is better the lower it is."""
    metric: str | None = None
    """Which number (default: the first of the task's in the table)."""

    @property
    def decides(self) -> bool:
        """Whether it says anything."""
        return any(
            limit is not None
            for limit in (self.max_drop, self.min_value, self.max_value)
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """What a run must hold to pass."""

    where: str
    usual: Rule
    """For each task that is not named."""
    tasks: Mapping[str, Rule]
    """By name, the tasks that are looked at; all of the run's where there are none."""
    max_unresolved: float = 0.0
    """The share of samples that may be without a verdict, in either run."""
    allow_changed: frozenset[str] = frozenset()

    @property
    def needs_baseline(self) -> bool:
        """Whether a rule speaks of a drop."""
        return any(
            rule.max_drop is not None for rule in (self.usual, *self.tasks.values())
        )


RULE_KEYS = tuple(f.name for f in fields(Rule))
KEYS = (*RULE_KEYS, "max_unresolved", "allow_changed", TASKS)


def read_policy(path: str | Path) -> Policy:
    """A policy from YAML; every fault of the file is one line, with the nearest known word."""
    file = Path(path).expanduser()
    if not file.is_file():
        beside = (
            [one.name for one in file.parent.glob("*.y*ml")]
            if file.parent.is_dir()
            else []
        )
        close = nearest(file.name, beside)
        fix = (
            f"did you mean {file.parent / close}?"
            if close
            else "the first argument of `assay gate` is a YAML file"
        )
        raise UsageError("no such policy", where=str(path), fix=fix)
    plain = load_yaml(file)
    where = str(path)
    if not isinstance(plain, Mapping) or not plain:
        raise UsageError(
            "a policy holds keys and values", where=where, fix="max_drop: 0.02"
        )
    faults: list[AssayError] = _unknown_keys(plain, KEYS, where)
    usual = _rule(plain, where, faults)
    named = plain.get(TASKS) or {}
    if isinstance(named, list):
        named = dict.fromkeys(map(str, named))
    if not isinstance(named, Mapping):
        faults.append(
            UsageError(
                f"`tasks` holds {shorten(named)}",
                where=where,
                fix="tasks: {NAME: {max_drop: 0.02}}",
            )
        )
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
        whose = f"task {idle[0]!r} has" if idle else "the policy has"
        faults.append(
            UsageError(
                f"{whose} no limit",
                where=where,
                fix="max_drop: 0.02, or min_value: 0.5",
            )
        )
    raise_all(faults)
    return policy


def _task_rule(
    name: str, entry: Any, usual: Rule, where: str, faults: list[AssayError]
) -> Rule:
    """The limits of a task; those it does not set are the policy's."""
    place = f"{where}, task {name!r}"
    if entry is None:
        return usual
    if not isinstance(entry, Mapping):
        faults.append(
            UsageError(
                f"holds {shorten(entry)}",
                where=place,
                fix=f"{name}: {{max_drop: 0.02}}",
            )
        )
        return usual
    faults += _unknown_keys(entry, RULE_KEYS, place)
    rule = _rule(entry, place, faults)
    return replace(
        usual,
        **{
            key: value for key in RULE_KEYS if (value := getattr(rule, key)) is not None
        },
    )


def _unknown_keys(
    plain: Mapping[Any, Any], keys: tuple[str, ...], where: str
) -> list[AssayError]:
    faults: list[AssayError] = []
    for key in plain:
        if str(key) not in keys:
            fix = suggest(str(key), keys, "known keys:")
            faults.append(UsageError(f"unknown key {key!r}", where=where, fix=fix))
    return faults


def _rule(plain: Mapping[str, Any], where: str, faults: list[AssayError]) -> Rule:
    numbers: dict[str, float | None] = {}
    for key in ("max_drop", "min_value", "max_value"):
        value = plain.get(key)
        is_number = (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
        if value is not None and not (is_number and (key != "max_drop" or value >= 0)):
            least = " from 0" if key == "max_drop" else ""
            faults.append(
                UsageError(
                    f"`{key}` is {shorten(value)}",
                    where=where,
                    fix=f"a number{least}: {key}: 0.02",
                )
            )
            value = None
        numbers[key] = None if value is None else float(value)
    metric = plain.get("metric")
    if metric is not None and not isinstance(metric, str):
        faults.append(
            UsageError(
                f"`metric` is {shorten(metric)}",
                where=where,
                fix="the name of one number",
            )
        )
        metric = None
    return Rule(**numbers, metric=metric)  # type: ignore[arg-type]


def _share(plain: Mapping[str, Any], where: str, faults: list[AssayError]) -> float:
    value = plain.get("max_unresolved", 0.0)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 <= value <= 1
    ):
        faults.append(
            UsageError(
                f"`max_unresolved` is {shorten(value)}",
                where=where,
                fix="a share from 0 to 1: 0.01",
            )
        )
        return 0.0
    return float(value)


def _changes(
    plain: Mapping[str, Any], where: str, faults: list[AssayError]
) -> frozenset[str]:
    value = plain.get("allow_changed") or ()
    names = (
        [value]
        if isinstance(value, str)
        else list(value)
        if isinstance(value, (list, tuple))
        else [value]
    )
    for name in names:
        if name not in CHANGES:
            fix = suggest(str(name), CHANGES, "one of")
            faults.append(
                UsageError(f"`allow_changed` has {shorten(name)}", where=where, fix=fix)
            )
    return frozenset(str(name) for name in names)
