"""The survey of a ULMEvalKit checkout: dataset, model and API files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.guest_worlds import kits
from tools.guest_worlds.outcome import Outcome

KINDS = {"dataset": "dataset", "model": "ulm", "API": "api"}


def is_checkout(folder: Path) -> bool:
    """Whether a folder is one."""
    return (folder / "ulmeval" / "ulm").is_dir()


def survey(folder: Path, only: Sequence[str] = ()) -> Iterator[Outcome]:
    """Return the outcome of every file, or of those named."""
    return kits.survey(folder, "ulmeval", KINDS, only)
