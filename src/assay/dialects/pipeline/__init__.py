"""Pipeline: `register_*.py` files of the rwkv-benchmark style, whose evaluators drive the model themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import Model, Task
from .claims import NAMES

__all__ = ["NAMES", "model", "tasks"]


def tasks(reference: str, run: Any) -> Sequence[Task]:
    """The tasks of a `register_*.py` file, or of names it registered: each dataset with its evaluator."""
    from .planning import tasks_of

    return tasks_of(reference, run)


def as_upstream(reference: str, run: Any) -> Sequence[Task]:
    """The same with upstream's references, for which 0 and `False` are no answer, and its own evaluators."""
    from .planning import tasks_of

    return tasks_of(reference, run, is_upstream=True)


def model(reference: str, args: Mapping[str, Any]) -> Model | None:
    """Files of this dialect hold no models."""
    return None
