"""Rows of image generation and editing: prompts, with the images to start from and the images to arrive at.

The reader is that of the vision-language tables; here a row needs no image, and `prompt` or `instruction` is what is
asked. Images are base64 in `image` (several in a list), files beside the table, or the hub's own.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...core import GenerateOptions, Image
from ...datasets.faults import RowFault
from ...datasets.tsv_images import inline
from ..vision.tables import RowOf, Table

FREE = GenerateOptions()
"""Drawing is left to the model's own settings, except for the number of images."""
PROMPTS = {"index": "id", "question": "prompt"}
EDITS = {"index": "key", "question": "instruction"}


def prompts(
    tags: Callable[[RowOf], Mapping[str, str]] | None = None, **aliases: str
) -> Table:
    """Rows with nothing but a text to draw."""
    return Table(shows_images=False, tags=tags, aliases={**PROMPTS, **aliases})


def renamed(**columns: str) -> Callable[[RowOf], list[RowOf]]:
    """Rows in which a column stands in for one that is not there: `renamed(prompt="text")`."""

    def reshape(row: RowOf) -> list[RowOf]:
        missing = {
            name: row[other]
            for name, other in columns.items()
            if name not in row and other in row
        }
        return [{**row, **missing}] if missing else [row]

    return reshape


def edits(target: Callable[[RowOf], Any] | None = None, **aliases: str) -> Table:
    """Rows with images and what is to become of them."""
    return Table(
        shows_images=True, target=target or nothing, aliases={**EDITS, **aliases}
    )


def nothing(row: RowOf) -> None:
    """There is no one right image."""
    return None


def target_image(row: RowOf) -> Image:
    """The image in `target_image` that an edit should arrive at."""
    cell = row.get("target_image")
    if isinstance(cell, Mapping):
        cell = cell.get("bytes")
    if isinstance(cell, bytes):
        return Image(cell)
    if not isinstance(cell, str) or not cell:
        raise RowFault(
            "the row has no image to compare with",
            column="target_image",
            fix="give it as base64",
        )
    return inline(cell)
