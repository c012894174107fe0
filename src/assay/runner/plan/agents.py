"""Connect the agent program of a run to the model of each task."""

from ...agents.agent_model import DEFAULT_CONCURRENCY, AgentModel
from ...agents.program import CONTAINER_OPTIONS, read_agent
from ...core import Model, Task, UsageError
from ..options import RunOptions
from ..tasks.components import limits_of


def with_agent(
    task: Task,
    model: Model,
    name: str,
    run: RunOptions,
) -> Model:
    """Wrap a model in the run's agent program. If the run has no agent, return the model itself.

    Raise if the task and the agent are incompatible.
    """
    where = f"task {task.name!r}"
    if run.agent is None:
        if task.environment is not None:
            raise UsageError(
                "the task is done in a workspace, and --agent names no program for it",
                where=where,
                fix='--agent "PROGRAM {instruction}", --agent oracle or --agent null',
            )
        return model
    if task.driver is not None:
        raise UsageError(
            "the task asks the model itself, so no agent can do it",
            where=where,
            fix="leave --agent out",
        )
    program = read_agent(run.agent, run.agent_args)
    if program.is_oracle and task.environment is None:
        raise UsageError(
            "--agent oracle runs a task's own solution, and this task has none",
            where=where,
            fix="name another agent",
        )
    of_containers = [name for name in CONTAINER_OPTIONS if name in run.agent_args]
    if of_containers and task.environment is None:
        raise UsageError(
            f"--agent_args {of_containers[0]} is for task folders, and this task is none",
            where=where,
            fix="leave it out",
        )
    if task.tools or task.mcp:
        raise UsageError(
            "the task has its own tools, which an agent program cannot call",
            where=where,
            fix="leave --agent out, or the tools",
        )
    limits = limits_of(task, run)
    concurrency = run.concurrency or DEFAULT_CONCURRENCY
    return AgentModel(program, model, name, limits, task.environment, concurrency)
