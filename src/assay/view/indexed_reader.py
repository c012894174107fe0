"""Read a run folder through the viewer's index: values of samples without reading the journal again.

The values are those of `RunReader`. Runs that the index does not cover (several answers
to a sample, clusters, outdated verdicts, damaged lines) are read from the journal.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import COUNTED_AS_ZERO, UNRESOLVED, Result
from ..store import RunReader
from ..summarizers.mean import UNREAD_LEFT_OUT
from .journal_index import JournalIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray


SINGLE_ANSWER_REDUCERS = frozenset({"mean", "max", "majority"})
"""Reducers that leave the value of a single answer unchanged."""

SampleValues = tuple[dict[str, float], dict[str, Hashable]]


class IndexedReader(RunReader):
    """A reader that takes values of samples from the viewer's index if it has them."""

    def __init__(self, folder: Path, view_index: JournalIndex) -> None:
        super().__init__(folder)
        self._view_index = view_index

    @property
    def cells(self) -> list[tuple[str, str]]:
        """The task and model of each pair that was evaluated."""
        return list(self._view_index.cells)

    def sample_values(
        self,
        result: Result,
        model: str = "",
    ) -> SampleValues:
        """Return the value and the cluster of each sample, as `RunReader.sample_values` does."""
        model = model or result.model
        scorer = self._only_scorer(result, model)
        if scorer is None:
            return super().sample_values(result, model)
        rows = self._counted_rows(result.task, model)
        if rows is None or self._has_outdated_verdicts(scorer, rows):
            return super().sample_values(result, model)
        values = self._read_column(result, scorer, rows)
        clusters: dict[str, Hashable] = {id: ("sample", id) for id in values}
        return values, clusters

    def _only_scorer(self, result: Result, model: str) -> str | None:
        """Return the scorer that produced a result. Return None if there are several,
        or if the index lacks the scorer's values.
        """
        index = self._view_index
        cell = result.task, model
        if index.damaged or cell not in index.cells:
            return None
        if result.metric not in index.metrics:
            return None
        if result.reducer not in SINGLE_ANSWER_REDUCERS:
            return None
        named = self._named_scorers().get(cell)
        scorers = []
        for scorer in index.verdicts:
            is_named = not named or scorer in named
            if is_named and _gives(scorer, result.metric):
                scorers.append(scorer)
        if len(scorers) != 1:
            return None
        scorer = scorers[0]
        return None if scorer in index.compound_scorers else scorer

    def _counted_rows(self, task: str, model: str) -> "NDArray[Any] | None":
        """Return the rows counted in the last summary; None if a sample has several answers."""
        import numpy as np

        index = self._view_index
        code = index.cells.index((task, model))
        count = len(index)
        cells = np.array(index.small["cell"], np.int32)[:count]
        epochs = np.array(index.small["epoch"], np.int32)[:count]
        rows = np.flatnonzero(cells == code)
        if epochs[rows].any():
            return None
        ids = self.view(task, model).ids
        if ids is None:
            return rows
        counted = [row for row in rows.tolist() if index.ids[row] in ids]
        return np.array(counted, np.int64)

    def _has_outdated_verdicts(self, scorer: str, rows: "NDArray[Any]") -> bool:
        """Return True if a sample has an answer that is newer than its verdict."""
        import numpy as np

        index = self._view_index
        if all(index.current):
            return False
        current = np.frombuffer(bytes(index.current), np.uint8)
        slots = np.array(index.line_slots, np.int32)
        lines = np.flatnonzero((slots < 0) & (current == 0))
        replaced = np.array(index.line_rows, np.int32)[lines]
        codes = np.frombuffer(bytes(index.verdicts[scorer]), np.uint8)
        unjudged = rows[codes[rows] == 0]
        return bool(np.isin(unjudged, replaced).any())

    def _read_column(
        self,
        result: Result,
        scorer: str,
        rows: "NDArray[Any]",
    ) -> dict[str, float]:
        """Return the value of each sample in the order of the ids. Samples without a value are left out."""
        import numpy as np

        index = self._view_index
        codes = np.frombuffer(bytes(index.verdicts[scorer]), np.uint8)[rows]
        values = np.array(index.metrics[result.metric])[rows]
        unread = float(result.details.get("unread_counts_as", 0.0))
        if UNREAD_LEFT_OUT in result.flags:
            unread = np.nan
        for code, outcome in enumerate(index.outcomes):
            if outcome in COUNTED_AS_ZERO:
                values[codes == code] = unread
            elif code == 0 or outcome in UNRESOLVED:
                values[codes == code] = np.nan
        has_value = np.isfinite(values)
        rows_with_value = rows[has_value].tolist()
        ids = [index.ids[row] for row in rows_with_value]
        finite = values[has_value].tolist()
        pairs = zip(ids, finite, strict=True)
        return dict(sorted(pairs))


def _gives(scorer: str, metric: str) -> bool:
    """Return True if a metric belongs to this scorer: `judge` or `judge.score` for the scorer `judge`."""
    return metric == scorer or metric.startswith(f"{scorer}.")
