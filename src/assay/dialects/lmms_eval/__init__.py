"""Run lmms-eval's tasks with images, audio and video through the installed `lmms_eval` package.

The package builds the messages and reads the answers. assay asks, records, counts and compares.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Model, Task

__all__ = ["model", "tasks"]


def tasks(reference: str, run: Any) -> Sequence[Task]:
    """Return the tasks of `lmms_eval/NAME` or of a YAML file of lmms-eval."""
    from .lmms_planning import tasks_of

    return tasks_of(reference, run)


def model(
    reference: str,
    args: Mapping[str, Any],
) -> Model | None:
    """Return None, because files of lmms-eval define no models that assay runs."""
    return None
