"""The survey of a VLMEvalKit checkout: dataset, model and API files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.guest_worlds import kits
from tools.guest_worlds.outcome import Outcome

KINDS = {
    "dataset": "dataset",
    "model": "vlm",
    "API": "api",
    "chat API": "chat_api",
    "evaluation": "eval",
}
"""Folders by what they hold; the last two are the first revision's, which has no dataset classes."""


def is_checkout(folder: Path) -> bool:
    """Whether a folder is one."""
    return (folder / "vlmeval" / "vlm").is_dir()


def survey(folder: Path, only: Sequence[str] = ()) -> Iterator[Outcome]:
    """Return the outcome of every file, or of those named."""
    return kits.survey(folder, "vlmeval", KINDS, only)
