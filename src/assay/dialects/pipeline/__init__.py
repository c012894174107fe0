"""Files `register_*.py` in the style of rwkv-benchmark, whose evaluators call the model themselves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core import Model, Task
from ..protocol import UPSTREAM, following
from ..shapes import Fields
from .claims import NAMES

if TYPE_CHECKING:
    from ...runner.options import RunOptions

__all__ = ["NAMES", "model", "tasks"]


def tasks(reference: str, run: "RunOptions") -> Sequence[Task]:
    """Return the tasks of a `register_*.py` file, or of names that it registered: each dataset with its evaluator."""
    from .pipeline_planning import tasks_of

    return tasks_of(reference, run)


def as_upstream(reference: str, run: "RunOptions") -> Sequence[Task]:
    """Return the tasks with upstream's evaluators and reference answers.

    There, 0 and `False` are not answers.
    """
    with following("pipeline", UPSTREAM):
        return tasks(reference, run)


def model(reference: str, args: Fields) -> Model | None:
    """Return None: these files define no models."""
    return None
