"""Run lmms-eval's tasks with images, audio and video through the installed `lmms_eval` package.

The package builds the messages and reads the answers. assay sends the messages to the
model, and records, counts and compares the answers.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Model, Task

if TYPE_CHECKING:
    from ...runner.options import RunOptions

__all__ = ["model", "tasks"]


def tasks(reference: str, run: "RunOptions") -> Sequence[Task]:
    """Return the tasks of `lmms_eval/NAME` or of a YAML file of lmms-eval."""
    from .lmms_driver import tasks_of

    return tasks_of(reference, run)


def model(
    reference: str,
    args: Mapping[str, Any],
) -> Model | None:
    """Return None, because files of lmms-eval define no models that assay runs."""
    return None
