"""The result of a run, which prints as a table and converts to a data frame."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ..core import Result

if TYPE_CHECKING:
    import pandas


EXIT_CODES = {"complete": 0, "failed": 1, "partial": 3, "interrupted": 130}


@dataclass(frozen=True, slots=True)
class RunResult(Sequence[Result]):
    """The results of a run, with its status, notes and usage."""

    status: str
    """How the run ended: complete, partial, failed, or interrupted."""
    folder: Path
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    """Notes on the run: repairs of the data, changed digests, the first errors."""
    usage: dict[str, Any] = field(default_factory=dict)
    """Tokens, seconds and throughput for each task and model."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line for this result."""
        return EXIT_CODES.get(self.status, 1)

    @overload
    def __getitem__(self, position: int) -> Result: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[Result]: ...

    def __getitem__(self, position: int | slice) -> Result | Sequence[Result]:
        return self.results[position]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def value(
        self,
        metric: str,
        task: str | None = None,
        model: str | None = None,
    ) -> float | None:
        """Return the value of a metric in the first matching row. Raise `KeyError` if there is none."""
        for r in self.results:
            if (
                r.metric == metric
                and task in (None, r.task)
                and model in (None, r.model)
            ):
                return r.value
        raise KeyError(
            f"no metric {metric!r}; there are {', '.join(sorted({r.metric for r in self.results}))}"
        )

    def to_plain(self) -> dict[str, Any]:
        """Return the results as the JSON document of `--json` and `summary.json`."""
        return {
            "status": self.status,
            "run": str(self.folder),
            "results": [result.to_plain() for result in self.results],
            "usage": self.usage,
            "notes": list(self.notes),
        }

    def frame(self) -> "pandas.DataFrame":
        """Return a pandas data frame with one row per metric.
        `RunReader(run.folder).frame()` has one row per score.
        """
        from ..store.export import data_frame

        return data_frame(result.to_plain() for result in self.results)

    def __repr__(self) -> str:
        from ..report import plain_table

        return f"{plain_table(self.results)}\n{self.status} · {self.folder}"

    def _repr_html_(self) -> str:
        """Return the HTML table for notebooks."""
        """Return the table that notebooks show."""
        from ..report import html_table

        return html_table(self.results)
