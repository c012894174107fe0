"""Compatibility layer for VLMEvalKit: its TSV benchmarks, dataset classes and model classes run unchanged."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shapes import Fields

if TYPE_CHECKING:
    from ...core import Model, Task
    from ...runner.options import RunOptions


def tasks(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """Return the tasks of a user's file. Modules are imported on demand."""
    from . import vlmeval_planning as planning

    return planning.tasks(reference, run)


def as_upstream(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """Return the tasks under VLMEvalKit's own rules, which then apply to the rest of the process."""
    from ..protocol import UPSTREAM, choose
    from . import vlmeval_planning as planning

    choose("vlmeval", UPSTREAM)
    return planning.tasks(reference, run)


def model(reference: str, args: Fields) -> "Model | None":
    """Return the model that a user's file defines, or None."""
    from .vlmeval_toolkit import TOOLKIT

    return TOOLKIT.model(reference, args)
