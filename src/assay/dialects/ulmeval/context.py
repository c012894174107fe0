"""What surrounds a guest's code while it runs, and the folder that the original command promises its files in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..kits.state import Surroundings, around, current

__all__ = ["Surroundings", "around", "current", "evaluating_in", "promised_folder"]

_promised: list[Path] = []


@contextmanager
def evaluating_in(folder: Path) -> Iterator[None]:
    """Evaluations inside leave their files in `folder`, where the original command has them."""
    _promised.append(folder)
    try:
        yield
    finally:
        _promised.remove(folder)


def promised_folder() -> Path | None:
    """The folder of the original command; `None` where a run was started otherwise."""
    return _promised[-1] if _promised else None
