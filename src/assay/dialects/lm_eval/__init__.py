"""Run tasks of lm-evaluation-harness (lm-eval) through the installed `lm_eval` package.

The package builds the questions and reads the answers. assay sends the questions to the
model, and records, counts and compares the answers.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Model, Task

if TYPE_CHECKING:
    from ...runner.options import RunOptions

__all__ = ["model", "tasks"]


def tasks(reference: str, run: "RunOptions") -> Sequence[Task]:
    """Return the tasks of `lm_eval/NAME` or of a YAML file of lm-eval."""
    from .lm_driver import tasks_of

    return tasks_of(reference, run)


def model(
    reference: str,
    args: Mapping[str, Any],
) -> Model | None:
    """Return None, because files of lm-eval define no models."""
    return None
