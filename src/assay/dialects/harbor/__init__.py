"""Run task folders of Harbor and Terminal-Bench: an agent follows an instruction in an environment, then tests run."""

from collections.abc import Sequence

from ...core import Task
from ...runner.options import RunOptions


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return one task for a task folder, or for a folder with several task folders."""
    from .container_tier import read_tiers
    from .harbor_tasks import tasks_of

    return tasks_of(reference, read_tiers(run.agent_args))


__all__ = ["tasks"]
