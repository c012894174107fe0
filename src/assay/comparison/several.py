"""Compare several runs with one baseline, for `assay compare` and `assay.compare`.

The p values of all runs are adjusted together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import UnusablePath, UsageError
from ..runner.result import RunResult
from ..store.imported import open_run
from .comparing import adjust, compare_runs, open_baseline
from .comparison_rows import Comparison, Row, sentence

if TYPE_CHECKING:
    import pandas


Run = str | Path | RunResult


@dataclass(frozen=True)
class RunComparison:
    """Several runs compared with one baseline, sample by sample."""

    baseline: Path
    runs: tuple[Comparison, ...]
    """One comparison for each run, in the order of the runs."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the runs, the baseline first. Each is the shortest unambiguous ending of the run's path."""
        return short_paths([self.baseline, *(Path(run.run) for run in self.runs)])

    @property
    def sentences(self) -> list[str]:
        """One sentence for each compared run: how it differs from the baseline."""
        lines = []
        for run, name in zip(self.runs, self.names[1:], strict=True):
            lines.append(run.sentence(name))
        return lines

    @property
    def compared(self) -> int:
        """The number of results that were compared, over all runs."""
        return sum(run.compared for run in self.runs)

    @property
    def rows(self) -> list[Row]:
        """One row for each compared metric of each run."""
        return [row for run in self.runs for row in run.rows]

    def to_plain(self, flips: int | None = None) -> dict[str, Any]:
        """Return the comparison as JSON, with at most `flips` changed samples for each metric."""
        runs = []
        for run, name, words in zip(
            self.runs,
            self.names[1:],
            self.sentences,
            strict=True,
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

    def frame(self) -> "pandas.DataFrame":
        """Return a pandas data frame with one row for each compared metric of each run."""
        from ..store.export import data_frame

        return data_frame(
            {"run": run.run, **row.to_plain()} for run in self.runs for row in run.rows
        )

    def __repr__(self) -> str:
        from .comparison_tables import text_lines

        return "\n".join(text_lines(self))

    def _repr_html_(self) -> str:
        from .comparison_tables import html

        return html(self)


def compare(
    baseline: Run,
    *runs: Run,
    force: bool = False,
) -> RunComparison:
    """Compare the results of one or more runs with those of a baseline, paired by sample.

    A run may be the results of another tool. With `force`, these are compared even if
    their data are different or unknown.

    Example: `assay.compare("runs/before", "runs/after")`
    """
    if not runs:
        raise UsageError(
            "one run alone cannot be compared", fix="name two: the earlier first"
        )
    folders = [_folder(run) for run in (baseline, *runs)]
    for index, folder in enumerate(folders):
        open_baseline(folder)
        if folder.resolve() in {other.resolve() for other in folders[:index]}:
            raise UsageError(
                "a run cannot be compared with itself",
                where=str(folder),
                fix="name different runs",
            )
    comparisons = []
    for run, folder in zip(runs, folders[1:], strict=True):
        if not isinstance(run, RunResult) and not open_run(folder).summary:
            raise UnusablePath(
                "the run has no numbers: it has not ended",
                where=str(folder),
                fix="run it to its end",
            )
        comparisons.append(compare_runs(folders[0], run, force=force))
    adjust(row for comparison in comparisons for row in comparison.rows)
    return RunComparison(folders[0], tuple(comparisons))


def short_paths(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the shortest unambiguous ending of each path: `runs/a` and `runs/b` become `a` and `b`."""
    longest = max((len(path.parts) for path in paths), default=0)
    for length in range(1, longest + 1):
        names = []
        for path in paths:
            names.append("/".join(path.parts[-length:]))
        are_different = len(set(names)) == len(names)
        if are_different:
            return tuple(names)
    return tuple(map(str, paths))


def _folder(run: Run) -> Path:
    return Path(run.folder if isinstance(run, RunResult) else run).expanduser()


def _plain(
    row: Row,
    name: str,
    flips: int | None,
) -> dict[str, Any]:
    plain = row.to_plain()
    plain["words"] = sentence(plain, name)
    if flips is not None and row.paired is not None:
        plain["flips"] = [flip._asdict() for flip in row.flips()[:flips]]
    return plain
