"""Task folders of Harbor and Terminal-Bench: an instruction, an environment and tests, done by an agent."""

from collections.abc import Sequence

from ...core import Task
from ...runner.options import RunOptions


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the task of a folder, or of a folder of such folders."""
    from .container_tier import read_tiers
    from .harbor_tasks import tasks_of

    return tasks_of(reference, read_tiers(run.agent_args))


__all__ = ["tasks"]
