"""Compatibility layer for ULMEvalKit: datasets and models written for it run unchanged.

Modules are imported on demand, so that checking whether a file belongs to ULMEvalKit is
fast.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shapes import Fields

if TYPE_CHECKING:
    from ...core import Model, Task
    from ...runner.options import RunOptions


def tasks(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """Return the tasks of a user's file, a table or a JSON config."""
    from .dataset_tasks import tasks_of

    return tasks_of(reference, run)


def as_upstream(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """Return the same tasks under ULMEvalKit's own rules. The seed of each prompt is `$SEED` (default 42)."""
    from ..protocol import UPSTREAM, following
    from .dataset_tasks import tasks_of

    with following("ulmeval", UPSTREAM):
        return tasks_of(reference, run)


def model(reference: str, args: Fields) -> "Model | None":
    """Return the model that a user's file defines, or None."""
    from .ulmeval_toolkit import TOOLKIT

    return TOOLKIT.model(reference, args)
