"""VLMEvalKit as a dialect: its TSV benchmarks, dataset classes and model classes, run unchanged."""

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
    """The tasks with VLMEvalKit's own rules; its names mean upstream's for the rest of the process."""
    from ..protocol import UPSTREAM, choose
    from . import planning

    choose("vlmeval", UPSTREAM)
    return planning.tasks(reference, run)


def model(reference: str, args: Mapping[str, Any]) -> "Model | None":
    """The model a guest file defines; `None` if it defines none."""
    from . import models

    return models.model(reference, args)
