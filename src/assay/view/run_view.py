"""The data of one run for pages: its results, its samples as columns, and individual samples.

Samples are not held in memory: a page requests the columns once, and the journal lines of the samples on the screen.
"""

import math
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..core import StoreError
from ..store import RunReader
from ..store.layout import Layout
from ..store.ownership import is_locked
from ..store.runs import View
from .index_file import open_index
from .indexed_reader import IndexedReader
from .journal_index import JournalIndex
from .records import Record, read_record, snippet_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 2**53
_encode = msgspec.json.Encoder(enc_hook=str).encode


def json_bytes(value: object) -> bytes:
    """Return a value as JSON.

    A character that cannot be encoded becomes the replacement character. NaN and
    infinity become null.
    """
    try:
        return _encode(value)
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError):
        return _encode(_clean(value))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_clean(str(name)): _clean(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= LARGEST:
            return value
        return str(value)
    return value


MOST_ROWS = 500
"""Maximum number of rows in one request."""
SCORED = "scored"

_Summary = tuple[Any, dict[str, Any], dict[str, Any]]
"""The contents of `run.json` and `summary.json`, and the state of the files when they were read."""


class RunView:
    """A run folder as the viewer shows it. The files are read again when they change."""

    def __init__(
        self,
        folder: Path,
        id: str,
        name: str,
    ) -> None:
        self.layout = Layout(folder)
        self.id = id
        self.name = name
        self._index: JournalIndex | None = None
        self._lock = threading.RLock()
        """Held while columns are read or grow: Python refuses to grow an array while its buffer is in use."""
        self._summary: _Summary | None = None
        self._encoded: tuple[Any, bytes] | None = None
        """The state of the journal, and the columns in this state as JSON."""

    @property
    def index(self) -> JournalIndex:
        """The index of the journal, extended by the lines added since."""
        with self._lock:
            index = self._index
            if not self.layout.journal.exists():
                if not self.layout.manifest.exists():
                    raise StoreError(
                        "the run is no longer there",
                        where=str(self.layout.folder),
                        fix="reload the list",
                    )
                index = self._index = JournalIndex(self.layout.journal)
            elif index is None or self.layout.journal.stat().st_size < index.end:
                index = self._index = open_index(self.layout)
            else:
                index.read_on()
            return index

    def reader(self) -> RunReader:
        """Return a `RunReader` of the run folder, as other commands use it."""
        return RunReader(self.layout.folder)

    def indexed_reader(self) -> IndexedReader:
        """Return a reader that reads the values of samples from this index."""
        with self._lock:
            return IndexedReader(self.layout.folder, self.index)

    @property
    def is_live(self) -> bool:
        """Return True if a process is writing to the folder now."""
        return is_locked(self.layout.lock)

    def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the contents of `run.json` and `summary.json`.

        The second is empty if it does not belong to the current state of the run.
        """
        files = (self.layout.manifest, self.layout.summary)
        mark = tuple(_changed_at(file) for file in files)
        if self._summary is None or self._summary[0] != mark:
            reader = self.reader()
            self._summary = mark, reader.manifest_if_any, reader.summary
        return self._summary[1], self._summary[2]

    def search(self, words: str) -> list[int]:
        """Return the rows whose samples contain a text."""
        with self._lock:
            return self.index.search(words)

    def columns(self) -> dict[str, Any]:
        """Return the samples of the last table as columns, in the order of the data.

        For a run in progress these are the samples so far. The column `row` is absent
        if each row number equals the index of its sample. The column `cell` is absent if
        there is only one task × model.
        """
        with self._lock:
            return self._columns()

    def encoded_columns(self) -> bytes:
        """Return the columns as JSON, cached until something changes."""
        with self._lock:
            self.documents()
            mark = self.index.end, self._summary and self._summary[0]
            if self._encoded is None or self._encoded[0] != mark:
                self._encoded = mark, json_bytes(self._columns())
            return self._encoded[1]

    def rows(self) -> "NDArray[Any]":
        """Return the rows of the last table in the order of the data, as a numpy array."""
        import numpy as np

        with self._lock:
            index = self.index
            count = len(index)
            cell, epoch, order = (
                np.array(index.small[name], np.int32)[:count]
                for name in ("cell", "epoch", "order")
            )
            order = np.where(order < 0, np.arange(count), order)
            places = np.flatnonzero(self._covered_rows(index, cell, epoch))
            return places[np.lexsort((epoch[places], order[places], cell[places]))]

    def cells(self) -> list[dict[str, Any]]:
        """For each task × model: its task, its model, and the metric shown first, with scale and direction."""
        with self._lock:
            return self._cells(self.index)

    def outcomes(self, rows: "NDArray[Any]") -> "NDArray[Any]":
        """Return the code of the outcome of each row, as a numpy array."""
        with self._lock:
            return self._outcomes(self.index, rows)

    def _columns(self) -> dict[str, Any]:
        import numpy as np

        index = self.index
        count = len(index)
        small = {
            name: np.array(column, np.int32)[:count]
            for name, column in index.small.items()
        }
        cells = self._cells(index)
        rows = self.rows()
        outcomes = self._outcomes(index, rows)
        metrics = {}
        for name, values in index.metrics.items():
            metrics[name] = _round(np.array(values)[rows])
        tags = {}
        for name, codes in index.tags.items():
            codes_of_rows = np.array(codes)[rows].tolist()
            tags[name] = {"values": index.tag_values[name], "codes": codes_of_rows}
        columns: dict[str, Any] = {
            "n": len(rows),
            "left_out": count - len(rows),
            "cells": cells,
            "outcomes": index.outcomes,
            "row": None,
            "id": [index.ids[row] for row in rows.tolist()],
            "cell": None,
            "epoch": None,
            "outcome": outcomes.tolist(),
            "metrics": metrics,
            "tags": tags,
        }
        if (rows != np.arange(len(rows))).any():
            columns["row"] = rows.tolist()
        if len(cells) > 1:
            columns["cell"] = small["cell"][rows].tolist()
        if count and small["epoch"].max() > 0:
            columns["epoch"] = small["epoch"][rows].tolist()
        for name in ("chars", "tokens_in", "tokens_out"):
            if (small[name] >= 0).any():
                columns[name] = small[name][rows].tolist()
            else:
                columns[name] = None
        for name, reals in index.real.items():
            column = np.array(reals)[:count]
            if np.isnan(column).all():
                columns[name] = None
            else:
                columns[name] = _round(column[rows], 4)
        return columns

    def snippets(self, rows: Iterable[int]) -> list[dict[str, Any]]:
        """Return the beginning of the question and of the answer for each of the rows."""
        with self._lock:
            index = self.index
            lines_of_rows = [
                (row, index.first_lines(row)) for row in rows if 0 <= row < len(index)
            ][:MOST_ROWS]
        if not lines_of_rows:
            return []
        with open(self.layout.journal, "rb") as file:
            return [snippet_of(row, lines, file) for row, lines in lines_of_rows]

    def record(self, row: int) -> Record:
        """Return all lines of the journal about a row."""
        with self._lock:
            index = self.index
            if not 0 <= row < len(index):
                where = str(self.layout.folder)
                raise StoreError(
                    f"the run has no sample in row {row}",
                    where=where,
                    fix="reload the page",
                )
            record = read_record(index, row)
        for entry in self.documents()[1].get("counted", ()):
            # The journal may have more rounds than the last table, if the dialogue became shorter since.
            if (entry["task"], entry["model"]) == (
                record.task,
                record.model,
            ) and entry.get("rounds"):
                counted = {(id, epoch): count for id, epoch, count in entry["rounds"]}
                del record.rounds[
                    counted.get((record.id, record.epoch), len(record.rounds)) :
                ]
        return record

    def _cells(self, index: JournalIndex) -> list[dict[str, Any]]:
        """Return, for each task × model, its names, its results by metric, and the metric shown first."""
        manifest, summary = self.documents()
        cells = []
        described = {}
        for c in manifest.get("cells", ()):
            if isinstance(c, Mapping):
                described[(c.get("task"), c.get("model"))] = c
        for task, model in index.cells:
            results = [
                r
                for r in summary.get("results", ())
                if (r["task"], r["model"]) == (task, model)
            ]
            cell = described.get((task, model), {})
            first = next(
                (r["metric"] for r in results if r["metric"] in index.metrics), None
            )
            scale = None
            for result in results:
                details = result.get("details") or {}
                if result["metric"] == first and scale is None:
                    scale = details.get("scale")
            description = {
                "task": task,
                "model": model,
                "protocol": cell.get("protocol") or task,
                "scorers": list(cell.get("scorers", {})),
                "metric": first or _metric_without_table(index, cell),
                "higher_is_better": True,
                "scale": scale,
                "expected": cell.get("n_expected"),
                "epochs": cell.get("epochs"),
            }
            if results:
                description["higher_is_better"] = results[0]["higher_is_better"]
            cells.append(description)
        return cells

    def _covered_rows(
        self,
        index: JournalIndex,
        cell: "NDArray[Any]",
        epoch: "NDArray[Any]",
    ) -> "NDArray[Any]":
        """Return a boolean array that is True for rows whose answers are counted in the last results table."""
        import numpy as np

        manifest, summary = self.documents()
        counted = np.ones(len(index), bool)
        named = set()
        for c in manifest.get("cells", ()):
            if isinstance(c, Mapping):
                named.add((c.get("task"), c.get("model")))
        for code, pair in enumerate(index.cells):
            if named and pair not in named and summary:
                counted[cell == code] = False
        for entry in summary.get("counted", ()):
            if (entry["task"], entry["model"]) not in index.cells:
                continue
            code = index.cells.index((entry["task"], entry["model"]))
            view = View.from_plain(entry)
            for row in np.flatnonzero(cell == code).tolist():
                counted[row] = (index.ids[row], epoch[row]) in view
        return counted

    def _outcomes(self, index: JournalIndex, rows: "NDArray[Any]") -> "NDArray[Any]":
        """Return the outcome of each row as a code. If scorers differ, it is the first that is not `scored`."""
        import numpy as np

        manifest, _ = self.documents()
        named = set()
        for c in manifest.get("cells", ()):
            if isinstance(c, Mapping):
                for s in c.get("scorers", {}):
                    named.add(s)
        if SCORED in index.outcomes:
            scored = index.outcomes.index(SCORED)
        else:
            scored = -1
        outcomes = np.zeros(len(rows), np.uint8)
        for scorer, codes in index.verdicts.items():
            if named and scorer not in named:
                continue
            scorer_codes = np.frombuffer(bytes(codes), np.uint8)[rows]
            outcomes = np.where(
                (outcomes == 0) | ((outcomes == scored) & (scorer_codes != 0)),
                scorer_codes,
                outcomes,
            )
        return outcomes


def _metric_without_table(
    index: JournalIndex,
    cell: Mapping[str, Any],
) -> str | None:
    """Return the metric to show for a task × model without a results table.

    It is a metric of the first scorer that has one, otherwise the first metric of the
    run.
    """
    for scorer in cell.get("scorers", {}):
        for name in index.metrics:
            if name == scorer or name.startswith(f"{scorer}."):
                return name
    return next(iter(index.metrics), None)


def rows_of(columns: Mapping[str, Any]) -> list[int]:
    """Return the row numbers of the samples in `columns`."""
    rows = columns["row"]
    if rows is None:
        return list(range(columns["n"]))
    return list(rows)


def _round(column: "NDArray[Any]", digits: int = 6) -> list[float]:
    """Return a column as a list: integers if all values are whole, otherwise floats rounded to `digits` places."""
    import numpy as np

    if np.isfinite(column).all() and (column == np.round(column)).all():
        return column.astype(np.int64).tolist()  # type: ignore[no-any-return]
    return np.round(column.astype(np.float64), digits).tolist()  # type: ignore[no-any-return]


def _changed_at(file: Path) -> int:
    """Return the time of a file's last change in nanoseconds; 0 if it does not exist."""
    if not file.exists():
        return 0
    return file.stat().st_mtime_ns
