"""Read a benchmark's TSV into the data frame for its class. Unusable rows are collected as errors.

Only `index` is required. In `image`, indexes of other rows and list literals are
replaced by images, without running code.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import DataError, UsageError
from ...datasets.cells import as_text_list
from ...datasets.faults import RowFault
from ...datasets.files import open_file
from ...datasets.tsv_images import RowImages, is_blank
from ..declared_fetch import fetch_declared, has_checksum
from ..kits.state import current
from ..kits.suffix_files import frame_of, objects
from ..shapes import Fields

if TYPE_CHECKING:
    from pandas import DataFrame

ALWAYS_TEXT = ("index", "prompt", "text")
"""Columns whose cells are always text, even if they look like numbers: they identify a row or go to a model."""
FAULTS = "_assay_faults"
"""Name of the dataset object's attribute with the errors of unusable rows."""
TABLE = "_assay_table"
"""Name of the dataset object's attribute with the path of the table."""


def fetched_table(
    url: str,
    path: Path,
    checksum: str | None,
    legacy: Path | None = None,
) -> Path:
    """Return the path of a dataset's table: the file of `--data`, an existing file, or a download with a checksum."""
    surroundings = current()
    if surroundings.data is not None:
        return surroundings.data
    for table in (path, legacy, None if "://" in url else Path(url)):
        if (
            table is not None
            and table.is_file()
            and (checksum is None or has_checksum(table, checksum))
        ):
            return table
    if surroundings.copied_table is not None and not path.is_file():
        return surroundings.copied_table
    if not url.startswith(("http://", "https://")):
        raise UsageError(
            "no such table, and no URL to fetch it from"
            if not path.is_file()
            else f"the table does not match its MD5 {checksum} says, and there is no URL to fetch it from",
            where=str(path),
            fix="put the TSV there, or declare DATASET_URL",
        )
    return fetch_declared(
        url,
        path,
        checksum=checksum,
        allow_private=surroundings.allow_private_urls,
    )


def read_table(path: Path, owner: object) -> "DataFrame":
    """Read a table. Return its usable rows as a data frame, and record an error in `owner` for each other row."""
    vars(owner)[TABLE] = path
    rows: list[Fields] = []
    shard = open_file(path)
    for _, _, row in shard.rows():
        if isinstance(row, Mapping):
            rows.append(row)
        elif isinstance(row, DataError):
            add_fault(owner, row)
    frame = frame_of(rows, shard.columns)
    if "index" not in frame:
        columns = ", ".join(map(str, frame.columns))
        raise UsageError(
            f"no column `index` (there are {columns})",
            where=str(path),
            fix="give each row an index",
        )
    for name in ALWAYS_TEXT:
        if name in frame:
            frame[name] = objects([row[name] for row in rows], frame)
    return frame


def add_fault(owner: object, fault: DataError) -> None:
    """Record the error of an unusable row in the dataset object `owner`."""
    vars(owner).setdefault(FAULTS, []).append(fault)


def with_index(data: "DataFrame") -> "DataFrame":
    """Return the frame with `index` as integers. If a value is not a whole number, use strings for all."""
    texts = [str(value) for value in data["index"]]
    if all(_is_whole(text) for text in texts):
        return data.assign(index=[int(text) for text in texts])
    return data.assign(index=objects(texts, data))


def _is_whole(text: str) -> bool:
    if text[:1] == "-":
        digits = text[1:]
    else:
        digits = text
    return digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")


def with_images(
    data: "DataFrame",
    owner: object,
    name: str,
) -> "DataFrame":
    """Return the frame with `image` as base64 or a list of it, and `image_path` as a path or a list.

    Rows with an unusable image are left out, and their errors are recorded in `owner`.
    """
    texts = [str(value) for value in data["index"]]
    if "image" in data:
        cells = dict(zip(texts, data["image"], strict=True))
    else:
        cells = {}
    images = RowImages(cells.get)
    is_good: list[bool] = []
    resolved: dict[str, list[Any]] = {
        column: [] for column in ("image", "image_path") if column in data
    }
    for number, row in enumerate(data.to_dict("records"), 2):
        try:
            row_pieces = {column: _pieces(images, row, column) for column in resolved}
        except RowFault as fault:
            add_fault(owner, fault.at(name, number))
            is_good.append(False)
            continue
        is_good.append(True)
        for column, pieces in row_pieces.items():
            resolved[column].append(pieces)
    if not all(is_good):
        data = data[is_good]
    for column, values in resolved.items():
        data = data.assign(**{column: objects(values, data)})
    return data


def _pieces(
    images: RowImages,
    row: Fields,
    column: str,
) -> object:
    if is_blank(row[column]):
        return row[column]
    if column == "image":
        pieces = images.cells(row)
    else:
        pieces = as_text_list(row[column], column)
    if len(pieces) == 1:
        return pieces[0]
    return pieces
