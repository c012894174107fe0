"""The tools of a task, and the limits of its samples."""

from typing import Any

from ...core import Task, UsageError, shorten, suggest
from ...tooling import SampleLimits, ToolSet
from ...tooling.simulated_user import SimulatedUser
from ..options import RunOptions

LIMIT_FLAGS = {
    "turns": "max_turns",
    "calls": "max_calls",
    "tokens": "sample_tokens",
    "cost": "sample_cost",
    "seconds": "sample_seconds",
    "call_seconds": "tool_seconds",
}
"""By limit: the option of a run that sets it."""


def build_tools(task: Task) -> ToolSet | None:
    """Return the tools of a task, or None if it has none. Raise if one cannot be used."""
    where = f"task {task.name!r}"
    servers = [{"name": "mcp", "command": command} for command in task.mcp]
    entries = [*task.tools, *servers]
    if task.state is not None and not callable(task.state):
        raise UsageError(
            f"`state` is {shorten(task.state)}, which all samples would share",
            where=where,
            fix="write a function: def state(sample): return …",
        )
    if task.user is not None:
        user_place = f"{where}, key `user`"
        user = SimulatedUser(task.user, user_place)
        entries.append(user)
    if entries:
        return ToolSet.of(entries, task.state, where)
    if task.state is not None:
        raise UsageError(
            "`state` without tools",
            where=where,
            fix="add tools = […], or leave it out",
        )
    return None


def limits_of(task: Task, run: RunOptions) -> SampleLimits:
    """Return the limits of one sample: those of the run, else those of the task, else the default ones."""
    where = f"task {task.name!r}"
    values: dict[str, Any] = {}
    for name, value in task.limits.items():
        if name not in LIMIT_FLAGS:
            known_limits = sorted(LIMIT_FLAGS)
            fix = suggest(str(name), known_limits, "known:")
            problem = f"there is no limit {name!r}"
            raise UsageError(problem, where=where, fix=fix)
        is_number = isinstance(value, (int, float))
        if isinstance(value, bool) or not is_number:
            raise UsageError(
                f"the limit {name!r} is {value!r}",
                where=where,
                fix="write a number",
            )
        values[str(name)] = value
    for name, option in LIMIT_FLAGS.items():
        value = getattr(run, option)
        if value is not None:
            values[name] = value
    limits = SampleLimits(**values)
    limits.check()
    return limits
