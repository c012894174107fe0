"""The `ulmeval` dialect: datasets and models written for ULMEvalKit, run unchanged.

What it needs is imported when it is used: asking whether a file is one of ours costs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...core import Model, Task
    from ...runner.options import RunOptions


def tasks(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """The tasks of a guest file, a table or a JSON config."""
    from .dataset_tasks import tasks_of

    return tasks_of(reference, run)


def as_upstream(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """The same with upstream's seed before every prompt: `$SEED` itself, 42 where it is not set."""
    from .dataset_tasks import tasks_of

    return [
        task.but(
            protocol=f"{task.name}@upstream",
            hints={**task.hints, "seeding": "upstream"},
        )
        for task in tasks_of(reference, run)
    ]


def model(reference: str, args: Mapping[str, Any]) -> "Model | None":
    """The model a guest file defines; `None` if it defines none."""
    from .loading import model_of

    return model_of(reference, args)
