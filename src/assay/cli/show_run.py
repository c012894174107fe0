"""A run on the terminal: its table and breakdowns, then the samples that were asked for."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..core import UsageError, nearest
from ..report import group_lines, plain_table, printable
from ..store import RunReader
from ..view.plain_json import json_bytes
from ..view.run_view import RunView
from ..view.selection import Wanted, select
from .show_sample import LINES_IN_A_LIST, Marking, sample_lines

SHOWN = 5
"""Samples that are shown unless more are asked for, or a pager takes them as they are read."""
MOST_GROUP_LINES = 60


class ShownRun:
    """A run folder, read through the index that pages use: 100,000 samples are there at once."""

    def __init__(self, folder: Path) -> None:
        self.reader = RunReader(folder)
        self.view = RunView(folder, "run", folder.name)

    def lines(
        self, wanted: Wanted, limit: int | None, marking: Marking
    ) -> Iterator[str]:
        """The table, then the samples; only these where they were chosen by their ids."""
        rows = self.rows(wanted)
        if not wanted.ids:
            yield from self.summary_lines()
        if wanted.is_choice and not wanted.ids:
            yield from ("", _found(wanted, len(rows), len(self.view.rows())))
        page = rows if wanted.ids or limit is None else rows[:limit]
        most = None if wanted.ids else LINES_IN_A_LIST
        for row in page:
            yield ""
            yield from sample_lines(
                self.view.record(row), self.reader.blobs, most, marking
            )
        if len(page) < len(rows):
            more = len(rows) - len(page)
            what = "samples" if more > 1 else "sample"
            yield f"\n… {more} more {what}: --limit {len(rows)}, or --sample ID for one of them"

    def rows(self, wanted: Wanted) -> list[int]:
        """The rows of the samples that were asked for; an id that no sample has is an error."""
        rows = select(self.view, wanted)
        if wanted.ids:
            index = self.view.index
            ids = {index.ids[row] for row in rows}
            self._refuse_unknown([id for id in wanted.ids if id not in ids])
        return rows

    def ids(self, wanted: Wanted, limit: int | None) -> Iterator[str]:
        """Their ids, a line each."""
        index = self.view.index
        return (printable(index.ids[row]) for row in self.rows(wanted)[:limit])

    def document(
        self, wanted: Wanted, limit: int | None, *, only_ids: bool
    ) -> Iterator[str]:
        """One JSON document, in pieces: samples are read as they are written."""
        rows = self.rows(wanted)
        results = self.reader.summary.get("results", [])
        head = {
            "run": str(self.view.layout.folder),
            "found": len(rows),
            "results": results,
        }
        yield json_bytes(head).decode()[:-1] + ', "samples": ['
        index = self.view.index
        for place, row in enumerate(rows[:limit]):
            sample = (
                index.ids[row]
                if only_ids
                else self.view.record(row).to_plain(whole=True)
            )
            yield (", " if place else "") + json_bytes(sample).decode()
        yield "]}\n"

    def summary_lines(self) -> Iterator[str]:
        """The table as it was last computed, and its breakdowns."""
        summary = self.reader.summary
        results = self.reader.results
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 150
        yield from (
            line.rstrip() for line in plain_table(results, width).split("\n") if results
        )
        groups = group_lines(results)
        yield from (["", *groups] if groups and len(groups) <= MOST_GROUP_LINES else [])
        if len(groups) > MOST_GROUP_LINES:
            yield f"\n{len(groups)} groups: `assay report` has them, and summary.json"
        for note in summary.get("notes", ()):
            yield printable(f"note: {note}")
        if not summary and self.reader.layout.summary.exists():
            yield "no numbers: summary.json is not what this run ended with"
        yield printable(
            f"{self.reader.manifest_if_any.get('status', 'unknown')}: {self.reader.layout.folder}"
        )

    def _refuse_unknown(self, missing: Sequence[str]) -> None:
        if missing:
            ids = self.view.index.ids
            close = nearest(missing[0], ids)
            fix = (
                f"did you mean {close!r}?"
                if close
                else f"ids look like {', '.join(map(repr, ids[:3]))}"
            )
            where = str(self.view.layout.folder)
            raise UsageError(
                f"the run has no sample {missing[0]!r}", where=where, fix=fix
            )


def _found(wanted: Wanted, found: int, of: int) -> str:
    if found:
        return f"{found:,} of {of:,} samples:"
    if wanted.failures and not (
        wanted.wrong or wanted.outcomes or wanted.tags or wanted.where or wanted.words
    ):
        return "no failures: every sample was scored"
    return f"none of the {of:,} samples fits"
