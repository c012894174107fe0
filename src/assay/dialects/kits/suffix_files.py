"""Read and write files by suffix, like the toolkits' `load` and `dump`: json, jsonl, tsv, csv, xlsx, txt, pkl.

Tables are read as data frames with unchanged text cells: `NA`, `None`, `1` as a
prediction, and `=1+1`. A pickle is read only if it was written and signed here, or if
the user allows it.
"""

import csv
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...code.userfiles import file_digest
from ...core import DataError, UsageError, library
from ...datasets.cells import is_missing
from ...datasets.column_types import ALWAYS_TEXT, column_type, typed
from ...datasets.excel import read_excel, write_excel
from ...datasets.faults import CELL_LIMIT
from ...store.integrity import signed, why_foreign
from ..returned import bare
from ..shapes import Fields, Record

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def sign(path: Path) -> None:
    """Write a signature file next to a pickle. `is_ours` checks it."""
    _note(path).write_text(json.dumps(signed(_facts(path))), "utf-8")


def is_ours(path: Path) -> bool:
    """Return True if a pickle was signed by this user's assay and has not changed since then."""
    try:
        facts = json.loads(_note(path).read_bytes())
    except (OSError, ValueError):
        return False
    return (
        isinstance(facts, dict)
        and why_foreign(facts) is None
        and facts.items() >= _facts(path).items()
    )


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.signed")


def _facts(path: Path) -> dict[str, str]:
    # The path is also signed: a signed file that was moved to another path is not trusted.
    return {"pickle": str(path.resolve()), "sha256": file_digest(path)}


KEPT_AS_TEXT = ("prediction",)


def load_by_suffix(
    path: str | Path,
    fmt: str | None = None,
    *,
    trust_pickle: bool = False,
) -> object:
    """Return the content of a file in the format of its suffix or `fmt`. A table becomes a data frame."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    kind = _kind(file, fmt, _READERS)
    if kind == "pkl":
        return load_pickle(file, trust=trust_pickle)
    return _READERS[kind](file)


def dump_by_suffix(
    data: object,
    path: str | Path,
    fmt: str | None = None,
) -> None:
    """Write data in the format of the file's suffix or `fmt`, and create its folder."""
    file = Path(path).expanduser()
    kind = _kind(file, fmt, _WRITERS)
    file.parent.mkdir(parents=True, exist_ok=True)
    _WRITERS[kind](data, file)


def load_pickle(path: Path, *, trust: bool = False) -> object:
    """Load a pickle that assay wrote, or one that the user trusts. Any other is refused without being read."""
    if not trust and not is_ours(path):
        raise UsageError(
            "a pickle can run code and was not written by this run",
            where=str(path),
            fix="--trust-pickle reads it",
        )
    import pickle

    return pickle.loads(path.read_bytes())  # noqa: S301 - our own bytes, or the user's explicit consent


def frame_of(
    rows: Sequence[Fields],
    columns: Sequence[str] | None = None,
) -> "DataFrame":
    """Return rows of text cells as a data frame with typed columns. Empty cells are NaN, except in `prediction`."""
    pandas = import_pandas()
    if columns is not None:
        names = list(columns)
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
    columns_by_name = {}
    for name in names:
        cells = [row.get(name) for row in rows]
        if name in ALWAYS_TEXT:
            kind = None
        else:
            kind = column_type(cells)
        if name in KEPT_AS_TEXT:
            values = ["" if cell is None else cell for cell in cells]
        elif kind is None:
            values = [
                math.nan if cell is None or cell == "" else cell for cell in cells
            ]
        else:
            values = [typed(cell, kind) for cell in cells]
        whole = kind is not None and "" not in cells and None not in cells
        columns_by_name[name] = pandas.Series(values, dtype=kind if whole else object)
    return pandas.DataFrame(columns_by_name, columns=names)


def write_table(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
) -> None:
    """Write rows as a `.xlsx`, `.tsv`, `.csv` or `.json` table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xlsx":
        write_excel(path, columns, rows)
    elif path.suffix == ".json":
        entries = [dict(zip(columns, row, strict=True)) for row in rows]
        path.write_text(
            json.dumps(
                entries,
                ensure_ascii=False,
                default=_plain,
            ),
            "utf-8",
            "backslashreplace",
        )
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        with path.open(
            "w",
            encoding="utf-8",
            errors="backslashreplace",
            newline="",
        ) as file:
            file.write(
                separator.join(_cell(name, separator) for name in columns) + "\n"
            )
            for row in rows:
                file.write(
                    separator.join(_cell(value, separator) for value in row) + "\n"
                )


def _kind(
    file: Path,
    fmt: str | None,
    formats: Fields,
) -> str:
    kind = (fmt or file.suffix).lstrip(".").lower()
    if kind not in formats:
        raise UsageError(
            f"no way to read or write {kind or 'a file without suffix'!r}",
            where=str(file),
            fix=f"one of {', '.join(formats)}",
        )
    return kind


def _read_table(path: Path) -> "DataFrame":
    before = csv.field_size_limit(CELL_LIMIT)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(
                file, delimiter="," if path.suffix.lower() == ".csv" else "\t"
            )
            header = next(lines, [])
            rows = []
            for cells in lines:
                if cells and len(cells) != len(header):
                    reason = f"{len(cells)} cells under {len(header)} columns"
                    raise DataError(
                        reason,
                        file=str(path),
                        row=lines.line_num,
                    )
                if cells:
                    rows.append(dict(zip(header, cells, strict=True)))
    finally:
        csv.field_size_limit(before)
    return frame_of(rows, header)


def _read_jsonl(path: Path) -> list[object]:
    return [
        json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()
    ]


def _read_excel(path: Path) -> "DataFrame":
    header, rows = read_excel(path)
    pandas = import_pandas()
    columns = {}
    for index, name in enumerate(header):
        cells = [row[index] for row in rows]
        kinds = {type(cell) for cell in cells}
        if name in KEPT_AS_TEXT:
            cells = ["" if cell is None else str(cell) for cell in cells]
        else:
            cells = [float("nan") if cell is None else cell for cell in cells]
        columns[name] = pandas.Series(
            cells, dtype=None if kinds <= {int, float} and kinds else object
        )
    return pandas.DataFrame(columns, columns=header)


def _write_pickle(data: object, path: Path) -> None:
    import pickle

    path.write_bytes(pickle.dumps(data))
    sign(path)


def _write_json(data: Any, path: Path) -> None:
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        numbers = {name for name in data.columns if data[name].dtype.kind == "f"}
        data = [
            {
                name: cell if name in numbers or cell is None or cell == cell else None
                for name, cell in row.items()
            }
            for row in map(_plain_row, data.to_dict(orient="records"))
        ]
    path.write_text(
        json.dumps(
            data,
            ensure_ascii=False,
            indent=4,
            default=_plain,
        ),
        "utf-8",
        "backslashreplace",
    )


def _plain_row(row: Fields) -> Record:
    """Return a row with arrays as lists, so that its cells can be compared."""
    return {
        name: cell.tolist() if hasattr(cell, "tolist") else cell
        for name, cell in row.items()
    }


def _write_jsonl(data: Any, path: Path) -> None:
    if hasattr(data, "columns"):
        entries = data.to_dict(orient="records")
    else:
        entries = data
    lines = [
        json.dumps(
            entry,
            ensure_ascii=False,
            default=_plain,
        )
        for entry in entries
    ]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", "backslashreplace")


def _write_frame(data: Any, path: Path) -> None:
    if hasattr(data, "columns"):
        frame = data
    else:
        frame = import_pandas().DataFrame(data)
    names = [str(name) for name in frame.columns]
    write_table(
        path,
        names,
        (
            [_bare(value) for value in row]
            for row in frame.itertuples(index=False, name=None)
        ),
    )


def _write_text(data: Any, path: Path) -> None:
    if isinstance(data, str):
        lines = [data]
    else:
        lines = [str(line) for line in data]
    path.write_text("\n".join(lines), "utf-8", "backslashreplace")


def _bare(value: object) -> object:
    """Return a cell as tables store it: without numpy types, None for NaN, and a list as its literal."""
    cell = bare(value)
    if is_missing(cell):
        return None
    if isinstance(cell, (str, int, float, bool)):
        return cell
    return str(cell)


def _cell(value: object, separator: str) -> str:
    if value is None:
        return ""
    text = str(value)
    if any(mark in text for mark in (separator, '"', "\n", "\r")):
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


def _plain(value: object) -> object:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def objects(
    cells: Sequence[Any],
    like: "DataFrame",
) -> "Series":
    """Return cells as a Series of Python objects with the index of the data frame `like`.

    Lists stay lists, and reading cells is faster than from pandas' string columns.
    """
    import numpy

    column = numpy.empty(len(cells), dtype=object)
    for index, cell in enumerate(cells):
        column[index] = cell
    return import_pandas().Series(
        column,
        index=like.index,
        dtype=object,
    )


def import_pandas() -> ModuleType:
    """Import and return pandas, which the toolkits' code expects."""
    return library("pandas", "pandas, which guest files expect,", "assay[guests]")


_READERS: dict[str, Callable[[Path], Any]] = {
    "json": lambda path: json.loads(path.read_text("utf-8")),
    "jsonl": _read_jsonl,
    "tsv": _read_table,
    "csv": _read_table,
    "xlsx": _read_excel,
    "txt": lambda path: path.read_text("utf-8").split("\n"),
    "pkl": load_pickle,
}
_WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "json": _write_json,
    "jsonl": _write_jsonl,
    "tsv": _write_frame,
    "csv": _write_frame,
    "xlsx": _write_frame,
    "txt": _write_text,
    "pkl": _write_pickle,
}
