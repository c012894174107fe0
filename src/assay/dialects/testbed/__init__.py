"""Compatibility layer for ICLTestbed: in-context learning with retrievers, postprocessing and loading scripts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..shapes import Fields

if TYPE_CHECKING:
    from ...core import Model, Task
    from ...runner.options import RunOptions


def tasks(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """Return the tasks of a testbed file, of a dataset folder, or of a tree with several dataset folders."""
    from . import testbed_planning as planning

    return planning.tasks(reference, run)


def as_upstream(reference: str, run: "RunOptions") -> "Sequence[Task]":
    """Return the tasks of a testbed file, with few-shot examples chosen as upstream does.

    Rows are cut into chunks. The last row of each chunk is the question to the model;
    the others are its examples (shots).
    """
    from . import chunks

    return chunks.tasks(reference, run)


def model(reference: str, args: Fields) -> "Model | None":
    """Return the model that a testbed file defines, or `None` if it defines none."""
    from . import testbed_models as models

    return models.model(reference, args)
