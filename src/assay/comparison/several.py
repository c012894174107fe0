"""Runs against one baseline, as `assay compare` and `assay.compare` have it; p values are adjusted over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core import StoreError, UsageError
from ..runner.result import RunResult
from ..store import RunReader
from .comparing import adjust, compare_runs, open_baseline
from .rows import Comparison, Row
from .words import sentence

Run = str | Path | RunResult


@dataclass(frozen=True)
class RunComparison:
    """Some runs compared with a baseline, sample by sample."""

    baseline: Path
    runs: tuple[Comparison, ...]
    """In the order they were named."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the runs are called, the baseline first: the shortest ends of their paths that differ."""
        return short_paths([self.baseline, *(Path(run.run) for run in self.runs)])

    @property
    def sentences(self) -> list[str]:
        """One sentence for each run."""
        return [
            run.sentence(name)
            for run, name in zip(self.runs, self.names[1:], strict=True)
        ]

    @property
    def compared(self) -> int:
        """How many numbers could be compared."""
        return sum(run.compared for run in self.runs)

    @property
    def rows(self) -> list[Row]:
        """Every number of every run."""
        return [row for run in self.runs for row in run.rows]

    def to_plain(self, flips: int | None = None) -> dict[str, Any]:
        """The document of `--format json`; with at most `flips` changed samples of each number."""
        runs = []
        for run, name, words in zip(
            self.runs, self.names[1:], self.sentences, strict=True
        ):
            rows = [_plain(row, name, flips) for row in run.rows]
            plain = {
                "run": run.run,
                "name": name,
                "sentence": words,
                "compared": run.compared,
                "rows": rows,
            }
            runs.append(plain | {"notes": run.notes, "settings": run.settings})
        return {"baseline": str(self.baseline), "compared": self.compared, "runs": runs}

    def frame(self) -> Any:
        """A pandas data frame, one row for each number."""
        from ..store.export import data_frame

        return data_frame(
            {"run": run.run, **row.to_plain()} for run in self.runs for row in run.rows
        )

    def __repr__(self) -> str:
        from .rendering import text_lines

        return "\n".join(text_lines(self))

    def _repr_html_(self) -> str:
        from .rendering import html

        return html(self)


def compare(baseline: Run, *runs: Run) -> RunComparison:
    """Every number of some runs beside the same number of a baseline, paired by sample.

    Example: `assay.compare("runs/before", "runs/after")`
    """
    if not runs:
        raise UsageError(
            "one run alone cannot be compared", fix="name two: the earlier first"
        )
    folders = [_folder(run) for run in (baseline, *runs)]
    for place, folder in enumerate(folders):
        open_baseline(folder)
        if folder.resolve() in {other.resolve() for other in folders[:place]}:
            raise UsageError(
                "a run cannot be compared with itself",
                where=str(folder),
                fix="name different runs",
            )
    found = []
    for run, folder in zip(runs, folders[1:], strict=True):
        if not isinstance(run, RunResult) and not RunReader(folder).summary:
            raise StoreError(
                "the run has no numbers: it has not ended",
                where=str(folder),
                fix="run it to its end",
            )
        found.append(compare_runs(folders[0], run))
    adjust(row for comparison in found for row in comparison.rows)
    return RunComparison(folders[0], tuple(found))


def short_paths(paths: Sequence[Path]) -> tuple[str, ...]:
    """The shortest ends of some paths by which all of them can be told apart."""
    for length in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(map(str, paths))


def _folder(run: Run) -> Path:
    return Path(run.folder if isinstance(run, RunResult) else run).expanduser()


def _plain(row: Row, name: str, flips: int | None) -> dict[str, Any]:
    plain = row.to_plain()
    plain["words"] = sentence(plain, name)
    if flips is not None and row.paired is not None:
        plain["flips"] = [flip._asdict() for flip in row.flips()[:flips]]
    return plain
