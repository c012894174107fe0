"""A run on the terminal: its table and breakdowns, then the selected samples."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core import UsageError, nearest
from ..core.plural import note_line, plural
from ..report import group_lines, plain_table, printable
from ..report.grid import FILE_WIDTH, fixed_width
from ..store import RunReader
from ..view.plain_json import json_bytes
from ..view.run_view import RunView
from ..view.selection import Wanted, select
from .show_sample import LINES_IN_A_LIST, Marking, sample_lines

SHOWN = 5
"""Samples to show, unless the user asks for more or a pager shows them as they are read."""
MOST_GROUP_LINES = 60


class ShownRun:
    """A run folder read through the viewer's index, which opens 100,000 samples at once."""

    def __init__(self, folder: Path) -> None:
        self.reader = RunReader(folder)
        self.view = RunView(folder, "run", folder.name)

    def lines(
        self,
        wanted: Wanted,
        limit: int | None,
        marking: Marking,
    ) -> Iterator[str]:
        """Return the table and the samples; only the samples if they were selected by id."""
        rows = self.rows(wanted)
        if not wanted.ids:
            yield from self.summary_lines()
        if wanted.is_choice and not wanted.ids:
            yield from ("", _found(wanted, len(rows), len(self.view.rows())))
        if wanted.ids or limit is None:
            page = rows
        else:
            page = rows[:limit]
        most = None if wanted.ids else LINES_IN_A_LIST
        for row in page:
            yield ""
            yield from sample_lines(
                self.view.record(row),
                self.reader.blobs,
                most,
                marking,
            )
        if len(page) < len(rows):
            more = len(rows) - len(page)
            noun = "samples" if more > 1 else "sample"
            yield f"\n… {more} more {noun}: --limit {len(rows)}, or --sample ID for one of them"

    def rows(self, wanted: Wanted) -> list[int]:
        """Return the rows of the selected samples. An unknown id is an error."""
        rows = select(self.view, wanted)
        if wanted.ids:
            index = self.view.index
            ids = {index.ids[row] for row in rows}
            self._refuse_unknown([id for id in wanted.ids if id not in ids])
        return rows

    def ids(self, wanted: Wanted, limit: int | None) -> Iterator[str]:
        """Return the ids of the selected samples, one per line."""
        index = self.view.index
        return (printable(index.ids[row]) for row in self.rows(wanted)[:limit])

    def document(
        self,
        wanted: Wanted,
        limit: int | None,
        *,
        only_ids: bool,
    ) -> Iterator[str]:
        """Yield one JSON document in pieces. Samples are read as they are written."""
        rows = self.rows(wanted)
        results = self.reader.summary.get("results", [])
        head = {
            "run": str(self.view.layout.folder),
            "found": len(rows),
            "results": results,
        }
        yield json_bytes(head).decode()[:-1] + ', "samples": ['
        index = self.view.index
        for number, row in enumerate(rows[:limit]):
            sample: str | dict[str, Any] = index.ids[row]
            if not only_ids:
                sample = self.view.record(row).to_plain(whole=True)
            yield (", " if number else "") + json_bytes(sample).decode()
        yield "]}\n"

    def summary_lines(self) -> Iterator[str]:
        """Return the table as it was last computed, and its breakdowns."""
        summary = self.reader.summary
        results = self.reader.results
        width = fixed_width(sys.stdout) or FILE_WIDTH
        for line in plain_table(results, width).split("\n"):
            if results:
                yield line.rstrip()
        groups = group_lines(results)
        yield from (["", *groups] if groups and len(groups) <= MOST_GROUP_LINES else [])
        if len(groups) > MOST_GROUP_LINES:
            yield f"\n{len(groups)} groups: `assay report` has them, and summary.json"
        for note in summary.get("notes", ()):
            yield printable(note_line(note))
        if not summary and self.reader.layout.summary.exists():
            yield "no numbers: summary.json is not what this run ended with"
        yield printable(
            f"{self.reader.manifest_if_any.get('status', 'unknown')}: {self.reader.source}"
        )

    def _refuse_unknown(self, missing: Sequence[str]) -> None:
        if missing:
            ids = self.view.index.ids
            close = nearest(missing[0], ids)
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = f"ids look like {', '.join(map(repr, ids[:3]))}"
            where = str(self.view.layout.folder)
            raise UsageError(
                f"the run has no sample {missing[0]!r}",
                where=where,
                fix=fix,
            )


def _found(wanted: Wanted, found: int, of: int) -> str:
    if found:
        return f"{found:,} of {plural(of, 'sample')}:"
    if wanted.failures and not (
        wanted.wrong or wanted.outcomes or wanted.tags or wanted.where or wanted.words
    ):
        return "no failures: every sample was scored"
    return f"none of the {plural(of, 'sample')} fits"
