"""Run tasks of inspect_ai and inspect_evals with the installed packages.

inspect_ai's solvers, tools and scorers run unchanged. Their model is assay's recording engine, so that every call
is in the journal.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Model, Task

if TYPE_CHECKING:
    from ...runner.options import RunOptions

__all__ = ["model", "tasks"]


def tasks(reference: str, run: "RunOptions") -> Sequence[Task]:
    """Return the tasks of `inspect_evals/NAME`, `file.py@task` or a file of tasks."""
    from .inspect_planning import tasks_of

    return tasks_of(reference, run)


def model(
    reference: str,
    args: Mapping[str, Any],
) -> Model | None:
    """Return None, because files of inspect_ai do not define models."""
    return None
