"""Floors: the score of agents that do nothing, shown next to the score of the model.

A task with tools is run once with the agent `null`, which calls no tool, and once with
`spam`, which calls each tool once. A task for an agent program is run with the program
`null`, which ends at once. These runs are stored in the subfolder `floors`, so that
floors are measured only once and can be resumed and inspected.

A floor must cost nothing. A simulated user is therefore played by `brief_user`, unless
`--floors on` allows the real one. A task that needs a judge or another model has no
floor.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...agents.agent_model import AgentModel
from ...agents.program import NULL, read_agent
from ...core import EMPTY, Model, Result
from ...core.record import FLOOR
from ...registry import models as registered_models
from ...tooling.simulated_user import USER
from ..options import SANDBOX, RunOptions
from ..plan.planned_task import PlannedTask, digests_of
from ..result import RunResult

FOLDER = "floors"
"""The folder of the floors inside a run."""
AGENTS = ("null", "spam")
BRIEF_USER = "brief_user"
FREE_ROLES = (SANDBOX, USER)
"""Roles of helper models that cost nothing while a floor is measured."""
REACHES_FLOOR = "not above the floor"
Floors = Mapping[tuple[str, str], Mapping[str, float]]
"""The floors of a run, by task and metric: the score of each agent that does nothing, by the agent's name."""


def tasks_with_floors(
    options: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> tuple[list[PlannedTask], list[str]]:
    """Return the planned tasks whose floors are measured, without duplicates, and notes on tasks without a floor."""
    chosen: dict[str, PlannedTask] = {}
    notes: list[str] = []
    if options.floors == "off" or options.predict_only:
        return [], []
    for planned in planned_tasks:
        name = planned.task.name
        if name in chosen or not has_floor(planned):
            continue
        paid = paid_roles(planned)
        if paid and options.floors == "auto":
            roles = " and ".join(paid)
            notes.append(
                f"{name}: no floor was measured, because it asks a {roles} (--floors on asks it)"
            )
            continue
        chosen[name] = planned
    return list(chosen.values()), list(dict.fromkeys(notes))


def has_floor(planned: PlannedTask) -> bool:
    """Return True if the task has tools or an agent program, and the agent of the run is not a floor agent itself."""
    if isinstance(planned.model, AgentModel):
        return not planned.model.program.is_built_in
    return planned.tools is not None and planned.model_name not in AGENTS


def paid_roles(planned: PlannedTask) -> list[str]:
    """Return the helper roles and services of a task that would cost money in a floor run."""
    roles: list[str] = []
    for scoring in planned.scorings:
        roles += scoring.roles
    tools = planned.tools
    if tools is not None:
        roles += tools.needs
        if not tools.needs and not tools.is_free:
            roles.append("service")
    distinct = dict.fromkeys(roles)
    return [role for role in distinct if role not in FREE_ROLES]


def floor_copies(planned: PlannedTask) -> Iterator[PlannedTask]:
    """Yield a copy of a planned task for each floor agent, with that agent in place of the model."""
    for agent, model in floor_models(planned).items():
        scorings = [replace(scoring, model=agent) for scoring in planned.scorings]
        copy = replace(
            planned,
            model=model,
            model_name=agent,
            scorings=scorings,
            run=floor_options(planned.run),
            rounds={},
            notices=(),
            unchecked=False,
        )
        copy.digests = digests_of(copy)
        yield copy


def floor_models(planned: PlannedTask) -> dict[str, Model]:
    """Return the floor agents, which do nothing, by name.

    They are models. For a task with an agent program, the floor agent is a program that ends at once.
    """
    if not isinstance(planned.model, AgentModel):
        return {agent: registered_models.build(agent) for agent in AGENTS}
    program = read_agent(NULL, {})
    unasked = registered_models.build(NULL)
    idle = replace(
        planned.model,
        program=program,
        inner=unasked,
        model_name=NULL,
    )
    return {NULL: idle}


def floor_options(run: RunOptions) -> RunOptions:
    """Return the options for measuring floors: the run's samples and limits, but no options of the model."""
    judges: Mapping[str, str] = run.judges
    judge_args: Mapping[str, Any] = run.judge_args
    if run.floors != "on":
        judges = {**judges, USER: BRIEF_USER}
        judge_args = {
            name: value
            for name, value in judge_args.items()
            if name.partition(".")[0] == SANDBOX
        }
    return run.but(
        models=AGENTS,
        model_args=EMPTY,
        judges=judges,
        judge_args=judge_args,
        batch_size=None,
        concurrency=None,
        replicas=None,
        executor=None,
        gpus_per_replica=None,
        address=None,
        until=None,
        budget=None,
        cache=None,
        baseline=None,
        floors="off",
    )


async def measure_floors(
    planned_tasks: Sequence[PlannedTask],
    run: Callable[[list[PlannedTask]], Awaitable[RunResult]],
) -> tuple[Floors, str]:
    """Run tasks with the floor agents. Return their scores, and the status of that run."""
    copies: list[PlannedTask] = []
    for planned in planned_tasks:
        copies += floor_copies(planned)
    result = await run(copies)
    floors: dict[tuple[str, str], dict[str, float]] = {}
    for row in result.results:
        if row.value is None:
            continue
        values = floors.setdefault((row.task, row.metric), {})
        values[row.model] = row.value
    return floors, result.status


def with_floors(
    results: Sequence[Result],
    floors: Floors,
) -> list[Result]:
    """Add the measured floors to the results, and a flag to each result that is not above its floor."""
    return [_with_floor(result, floors) for result in results]


def _with_floor(result: Result, floors: Floors) -> Result:
    """Return the result with its floor, if one was measured."""
    values = floors.get((result.task, result.metric))
    if not values:
        return result
    best = max if result.higher_is_better else min
    agent = best(values, key=values.__getitem__)
    value = values[agent]
    floor: dict[str, Any] = {"value": value, "agent": agent, **values}
    details = {**result.details, FLOOR: floor}
    flags = result.flags
    if _reaches(result, value):
        flags = (*flags, REACHES_FLOOR)
    return replace(result, details=details, flags=flags)


def _reaches(result: Result, floor: float) -> bool:
    """Return True if the result's interval, or its value if it has none, does not lie entirely above the floor.

    For a metric where lower is better, it must lie below.
    """
    if result.value is None:
        return False
    low, high = result.ci or (result.value, result.value)
    if result.higher_is_better:
        return low <= floor
    return high >= floor
