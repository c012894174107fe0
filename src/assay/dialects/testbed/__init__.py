"""The testbed dialect: in-context learning with retrievers, post-processes, loading scripts and prompt templates."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...core import Model, Task
    from ...runner.options import RunOptions


def tasks(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """The tasks of a guest file; what they need is imported when they are asked for."""
    from . import planning

    return planning.tasks(reference, run)


def as_upstream(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """The same with upstream's contexts: rows are cut into chunks, only the last of each is asked."""
    from . import chunks

    return chunks.tasks(reference, run)


def model(reference: str, args: Mapping[str, Any]) -> "Model | None":
    """The model a guest file defines; `None` if it defines none."""
    from . import models

    return models.model(reference, args)
