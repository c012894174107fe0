"""DPG-Bench's own table: one row for each proposition, gathered into one row for each prompt.

Columns of `dpg_bench.csv`: `item_id`, `text`, `keywords`, `proposition_id`, `dependency`, `category_broad`,
`category_detailed`, `tuple`, `question_natural_language`. Rows of one prompt stand together. The official script leaves
the first row of the table out; here it counts like any other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ...core import DataError
from ...datasets import Samples
from ...datasets.shards import Row, RowData, ShardOver
from ...datasets.tsv_images import is_blank
from ..vision.tables import RowOf, Table

QUESTION = (
    "proposition_id",
    "dependency",
    "category_broad",
    "category_detailed",
    "tuple",
    "question_natural_language",
)


@dataclass(frozen=True)
class PropositionTable(Table):
    """A table of prompts, or the official one of propositions."""

    def __call__(self, found: str | Path) -> Samples:
        samples = super().__call__(found)
        samples.shards = [Gathered(shard) for shard in samples.shards]
        return samples


@dataclass(frozen=True)
class Gathered(ShardOver):
    """A shard whose rows of one `item_id` are one row; rows without one are passed on as they are."""

    columns: None = None
    known_length: None = None
    seekable: bool = False

    def rows(self) -> Iterator[Row]:
        """Prompts with their propositions, each under the number of its first row."""
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

    def _gather(self, item: str, number: int, rows: list[RowOf]) -> RowData:
        questions = [{name: row.get(name) for name in QUESTION} for row in rows]
        if any(
            is_blank(question["question_natural_language"]) for question in questions
        ):
            what, column = (
                "a proposition of the prompt asks nothing",
                "question_natural_language",
            )
            return DataError(
                what, file=self.name, row=number, column=column, fix="write a question"
            )
        return {"id": item, "prompt": rows[0].get("text"), "questions": questions}

    def row_at(self, number: int, offset: int) -> RowData:
        """One prompt again, found by reading up to it."""
        return next(row for at, _, row in self.rows() if at == number)


def item_of(row: RowData) -> str | None:
    """The prompt a proposition belongs to; `None` for a row that is no proposition."""
    if (
        not isinstance(row, Mapping)
        or "proposition_id" not in row
        or "item_id" not in row
    ):
        return None
    return str(row["item_id"])
