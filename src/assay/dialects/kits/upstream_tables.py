"""Tables as the kits themselves read and write them: whatever pandas makes of a cell, `NA`, `1` and `True` included.

For upstream's own rule alone; by default texts come back as they were written.
"""

import csv
from pathlib import Path
from typing import Any

SUFFIXES = ("xlsx", "csv", "tsv")


def is_table(path: str | Path, fmt: str | None) -> bool:
    """Whether a file is one of those that pandas reads."""
    return _kind(path, fmt) in SUFFIXES


def load_table(path: str | Path, fmt: str | None = None) -> Any:
    """The data frame that pandas makes of a file."""
    import pandas

    kind = _kind(path, fmt)
    if kind == "xlsx":
        return pandas.read_excel(path)
    return pandas.read_csv(path, sep="\t" if kind == "tsv" else ",")


def dump_table(data: Any, path: Path) -> None:
    """A data frame as a file, every cell of a text table in quotes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = _kind(path, None)
    if kind == "xlsx":
        data.to_excel(path, index=False)
    else:
        data.to_csv(path, sep="\t" if kind == "tsv" else ",", index=False, encoding="utf-8", quoting=csv.QUOTE_ALL)


def _kind(path: str | Path, fmt: str | None) -> str:
    return (fmt or str(path).rpartition(".")[2]).lower()
