"""Resuming: what an earlier run in the folder means for this one.

A run that is complete and about the very same thing is not run again: its table is printed. Otherwise the digests in
its `run.json` say whether finished samples are known by their ids, or every request must be compared by its key first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...core.record import result_from_plain
from ...store import RunWriter
from ...store.integrity import is_vouched
from ..plan.cell import Cell
from ..result import RunResult


class EarlierRun:
    """The run that was in the folder before; an empty one where there was none."""

    def __init__(self, writer: RunWriter) -> None:
        manifest = writer.read_manifest()
        self.manifest: Mapping[str, Any] = manifest if _is_readable(manifest) else {}
        self.damage = writer.damage(self.manifest)
        """What is not as it left it, each in one line."""
        self._writer = writer

    def mark_unchecked(self, cells: Sequence[Cell]) -> None:
        """Notes the cells whose answers in the journal may be to other questions than those of this run."""
        for cell in cells:
            cell.unchecked = self.has_answers(cell) and self._is_unchecked(cell)

    def has_answers(self, cell: Cell) -> bool:
        """Whether the journal has answers of a cell."""
        return bool(self._writer.cell(cell.task.name, cell.model_name).answers)

    def changes(self, cell: Cell) -> list[str] | None:
        """What of a cell has changed since; `None` if it was not in that run."""
        described = self._described(cell)
        if described is None:
            return None
        then = described.get("digests", {})
        return [name for name, value in cell.digests.items() if then.get(name) != value]

    def expected(self, cell: Cell) -> int | None:
        """How many samples there were, where nothing has changed since."""
        if self.changes(cell) != [] or self._had_another_rule(cell):
            return None
        return (self._described(cell) or {}).get("n_expected") or None

    def taken(self, cell: Cell) -> int | None:
        """How many rows a complete run was about, where `--until` ended it before the last; else `None`."""
        rows = self._writer.read_summary().get("results", ())
        cell_rows = [
            row
            for row in rows
            if (row.get("task"), row.get("model")) == (cell.task.name, cell.model_name)
        ]
        rules = [row.get("details", {}).get("until", {}) for row in cell_rows]
        count = (self._described(cell) or {}).get("n_expected")
        if (
            self.manifest.get("status") != "complete"
            or not any(rule.get("stopped") for rule in rules)
            or not count
        ):
            return None
        return int(count) // cell.task.epochs

    def results(
        self, cells: Sequence[Cell], whisper: Callable[[str], None]
    ) -> RunResult | None:
        """What it found, when it is complete and nothing has changed since; else `None`."""
        before = self.manifest
        if (
            self.damage
            or before.get("status") != "complete"
            or len(before.get("cells", ())) != len(cells)
        ):
            return None
        if not is_vouched(before):
            whisper(
                "the run has no digests, as the first version wrote it: its numbers are made anew"
            )
            return None
        summary = self._writer.read_summary()
        if summary.get("status") != "complete" or any(
            self._differs(cell) for cell in cells
        ):
            return None
        try:
            results = tuple(result_from_plain(row) for row in summary["results"])
            usage = dict(_reused(summary["usage"]))
        except (AttributeError, KeyError, TypeError):
            return None  # another version's summary: the journal has all it takes to make it anew
        return RunResult(
            "complete",
            self._writer.layout.folder,
            results,
            tuple(summary.get("notes", ())),
            usage,
        )

    def _described(self, cell: Cell) -> Mapping[str, Any] | None:
        """What its manifest says of a cell."""
        names = cell.task.name, cell.model_name
        cells: Sequence[Mapping[str, Any]] = self.manifest.get("cells", ())
        return next(
            (one for one in cells if (one.get("task"), one.get("model")) == names), None
        )

    def _is_unchecked(self, cell: Cell) -> bool:
        """Whether answers of a cell that the journal holds already must be compared by their keys."""
        return self.changes(cell) != [] or bool(
            (self._described(cell) or {}).get("unchecked")
        )

    def _differs(self, cell: Cell) -> bool:
        described = self._described(cell)
        if (
            cell.makes_rows
            or described is None
            or self._is_unchecked(cell)
            or self._had_another_rule(cell)
        ):
            return True
        scorers = {scoring.name: scoring.digest for scoring in cell.scorings}
        return bool(
            described.get("scorers") != scorers
            or described.get("summarizers") != cell.summarizer_digest
        )

    def _had_another_rule(self, cell: Cell) -> bool:
        """Whether it was to stop at another point than this run, so that being complete means something else."""
        config = self.manifest.get("config")
        then = config.get("until") if isinstance(config, Mapping) else None
        return bool(then != cell.run.until)


def _is_readable(manifest: Mapping[str, Any]) -> bool:
    """Whether what `run.json` holds can be looked into; anything else counts as no manifest."""
    cells = manifest.get("cells", [])
    if not isinstance(cells, list) or not all(
        isinstance(cell, Mapping) for cell in cells
    ):
        return False
    return all(isinstance(cell.get("digests", {}), Mapping) for cell in cells)


def _reused(
    usage: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, spent in usage.items():
        yield name, {**spent, "asked": 0, "reused": spent["asked"] + spent["reused"]}
