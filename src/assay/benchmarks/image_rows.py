"""Readers for image generation and editing: prompts, with source images and target
images.

Rows have the format of the vision-language tables, with two differences: they need no
image, and the question is in `prompt` or `instruction`. Images are base64 in `image` (a
list for several images), files next to the table, or image cells of the hub.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ..core import DataError, Image
from ..datasets import Samples
from ..datasets.faults import RowFault
from ..datasets.shards import Row, RowData, ShardOver
from ..datasets.tsv_images import inline, is_blank
from .vision_rows import RowOf, Table

PROMPTS = {"index": "id", "question": "prompt"}
EDITS = {"index": "key", "question": "instruction"}


def prompts(
    tags: Callable[[RowOf], Mapping[str, str]] | None = None,
    **aliases: str,
) -> Table:
    """Return a reader for image generation: each row has a prompt that describes an image."""
    return Table(
        shows_images=False,
        tags=tags,
        aliases={**PROMPTS, **aliases},
    )


def renamed(**columns: str) -> Callable[[RowOf], list[RowOf]]:
    """Return a function that fills missing columns from others:
    `renamed(prompt="text")` copies `text` to `prompt`.
    """

    def reshape(row: RowOf) -> list[RowOf]:
        missing = {}
        for name, other in columns.items():
            if name not in row and other in row:
                missing[name] = row[other]
        if missing:
            return [{**row, **missing}]
        return [row]

    return reshape


def edits(
    target: Callable[[RowOf], Any] | None = None,
    **aliases: str,
) -> Table:
    """Return a reader for image editing: each row has source images and an instruction."""
    return Table(
        shows_images=True,
        target=target or nothing,
        aliases={**EDITS, **aliases},
    )


def nothing(row: RowOf) -> None:
    """Return None as the target: many different images can be right."""
    return None


def target_image(row: RowOf) -> Image:
    """Return the image in `target_image`, the expected result of an edit."""
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


PROPOSITION_COLUMNS = (
    "proposition_id",
    "dependency",
    "category_broad",
    "category_detailed",
    "tuple",
    "question_natural_language",
)


@dataclass(frozen=True)
class PropositionTable(Table):
    """Reads tables with one row per prompt, and official tables with one row per proposition (yes/no question)."""

    def __call__(self, found: str | Path) -> Samples:
        samples = super().__call__(found)
        samples.shards = [Gathered(shard) for shard in samples.shards]
        return samples


@dataclass(frozen=True)
class Gathered(ShardOver):
    """A shard that merges consecutive rows with the same `item_id` into one row. Rows
    without an `item_id` are unchanged.
    """

    columns: None = None
    known_length: None = None
    seekable: bool = False

    def rows(self) -> Iterator[Row]:
        """Yield prompts with their propositions, each with the row number of its first proposition."""
        for item, rows in groupby(self.shard.rows(), key=lambda row: item_of(row[2])):
            if item is None:
                yield from rows
                continue
            together = list(rows)
            number, offset, _ = together[0]
            yield (
                number,
                offset,
                self._gather(
                    item,
                    number,
                    [row for _, _, row in together if isinstance(row, Mapping)],
                ),
            )

    def _gather(
        self,
        item: str,
        number: int,
        rows: list[RowOf],
    ) -> RowData:
        questions = [
            {name: row.get(name) for name in PROPOSITION_COLUMNS} for row in rows
        ]
        if any(
            is_blank(question["question_natural_language"]) for question in questions
        ):
            reason = "a proposition of the prompt has no question"
            column = "question_natural_language"
            return DataError(
                reason,
                file=self.name,
                row=number,
                column=column,
                fix="write a question",
            )
        return {"id": item, "prompt": rows[0].get("text"), "questions": questions}

    def row_at(self, number: int, offset: int) -> RowData:
        """Return one prompt, after reading all rows before it."""
        return next(row for row_number, _, row in self.rows() if row_number == number)


def item_of(row: RowData) -> str | None:
    """Return the id of the prompt that a proposition checks. Return None for rows that are not propositions."""
    if (
        not isinstance(row, Mapping)
        or "proposition_id" not in row
        or "item_id" not in row
    ):
        return None
    return str(row["item_id"])
