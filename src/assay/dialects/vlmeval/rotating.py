"""The command `circular`: write a multiple-choice table that has each question with every rotation of its options.

The copy rotated k times has the index i + k * offset and uses the image of row i; `g_index` identifies its question.
A question is kept unchanged if its options refer to each other by letter, or if its answer is not one of its letters.
"""

import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...core import DataError, UsageError
from ...datasets.files import open_file
from ...datasets.tsv_images import LONGEST_REFERENCE, is_blank
from ...store.file_ledger import write_output
from ..kits.suffix_files import write_table
from ..shapes import Fields, Record
from .dataset_facts import ROTATION, whole_index
from .vlmeval_prompts import options_of


def write_circular(path: Path) -> tuple[Path, int, int]:
    """Write `<name>_circular.tsv` next to a TSV. Return its path, and the row counts of both tables."""
    if path.suffix != ".tsv" or not path.is_file():
        raise UsageError("no such TSV", where=str(path))
    columns = list(open_file(path).columns or ())
    missing = [
        name
        for name in ("index", "question", "A", "B", "answer")
        if name not in columns
    ]
    if missing:
        raise UsageError(
            f"no column {missing[0]!r}: options are rotated where there are any",
            where=str(path),
        )
    target = path.with_name(f"{path.stem}_circular.tsv")
    offset = _offset(path)
    if "g_index" in columns:
        header = list(columns)
    else:
        header = [*columns, "g_index"]
    counts = [0, 0]

    def rows() -> Iterator[list[Any]]:
        for row in _rows(path):
            counts[0] += 1
            for turned in rotations(row, offset):
                counts[1] += 1
                yield [turned.get(name, "") for name in header]

    write_output(target, lambda draft: write_table(draft, header, rows()))
    return target, counts[0], counts[1]


def rotations(
    row: Fields,
    offset: int = ROTATION,
) -> Iterator[Record]:
    """Yield a question and its rotated copies, or only the question if it cannot be rotated.

    Each copy's index is `offset` higher than that of the previous one.
    """
    first = {**row, "g_index": row["index"]}
    yield first
    letters = "".join(options_of(row))
    if not _is_rotatable(row, letters):
        return
    index = whole_index(row["index"])
    assert index is not None
    for turn in range(1, len(letters)):
        moved = {
            letter: letters[(position - turn) % len(letters)]
            for position, letter in enumerate(letters)
        }
        copy = {
            **first,
            "index": str(index + turn * offset),
            "answer": moved[str(row["answer"]).strip()],
        }
        copy |= {moved[letter]: row[letter] for letter in letters}
        if (
            not is_blank(row.get("image"))
            and len(str(row["image"])) > LONGEST_REFERENCE
        ):
            copy["image"] = str(
                index
            )  # a direct reference, even if this row uses another row's image
        yield copy


def _is_rotatable(row: Fields, letters: str) -> bool:
    if len(letters) < 2 or letters != string.ascii_uppercase[: len(letters)]:
        return False
    if str(row.get("answer")).strip() not in tuple(letters):
        return False
    return not any(_names_options(str(row[letter]), letters) for letter in letters)


def _names_options(text: str, letters: str) -> bool:
    """Return True if the text of an option names other options, as in `both A and C`, or is a single letter.

    The options of such a question cannot be rotated.
    """
    words = {"".join(c if c.isalpha() else " " for c in word) for word in text.split()}
    named = {
        word
        for entry in words
        for word in entry.split()
        if len(word) == 1 and word in letters
    }
    return len(named) > 1 or text.strip() in tuple(string.ascii_uppercase)


def _offset(path: Path) -> int:
    """Return the index difference between rotated copies: 1,000,000, or a higher power of ten if an index is larger."""
    largest = 0
    for row in _rows(path):
        index = whole_index(row["index"])
        if index is None:
            raise UsageError(
                f"index {row['index']!r} is not an integer", where=str(path)
            )
        largest = max(largest, index)
    offset = ROTATION
    while offset <= largest:
        offset *= 10
    return offset


def _rows(path: Path) -> Iterator[Fields]:
    for _, _, row in open_file(path).rows():
        if isinstance(row, DataError):
            raise row
        if isinstance(row, Mapping):
            yield row
