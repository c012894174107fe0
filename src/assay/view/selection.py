"""Select and sort samples of a run by outcome, verdict, tag, words or an expression.

Only the columns of the index are used, so that no journal line is read for a sample
that is not selected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..core import UsageError, suggest
from .run_view import SCORED, RunView
from .where import chosen

if TYPE_CHECKING:
    from numpy.typing import NDArray


PLAIN = ("score", "id", "epoch", "task", "model", "outcome")
MEASURED = ("seconds", "confidence", "chars", "tokens_in", "tokens_out")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The criteria of a selection.

    A sample must meet all of them, except that `wrong` and `failures` together mean either.
    """

    ids: tuple[str, ...] = ()
    wrong: bool = False
    failures: bool = False
    outcomes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """`name=value` pairs. If a tag occurs with several values, a sample with any of them matches."""
    where: str = ""
    words: str = ""
    sort: str = ""
    """The column to sort by. With a leading `-`, the order is from high to low."""

    @property
    def is_choice(self) -> bool:
        """True if the criteria may exclude samples."""
        return any(
            (
                self.ids,
                self.wrong,
                self.failures,
                self.outcomes,
                self.tags,
                self.where,
                self.words,
            )
        )


class SampleColumns:
    """The samples of a run by column name, for expressions."""

    def __init__(self, run: RunView, rows: "NDArray[Any]") -> None:
        self.run = run
        self.rows = rows
        self.index = run.index

    def names(self) -> list[str]:
        """Return the names of all columns."""
        tags = [f"tag.{name}" for name in self.index.tags]
        return list(dict.fromkeys([*PLAIN, *MEASURED, *self.index.metrics, *tags]))

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """For each task × model, by code: its task, model and first metric, with scale and direction."""
        return self.run.cells()

    @cached_property
    def codes(self) -> "NDArray[Any]":
        """For each sample, the code of its task and model."""
        return self._small("cell")

    def numbers(self, name: str) -> "NDArray[Any] | None":
        """Return the numbers in a column, one for each sample; None if no column of numbers has this name."""
        import numpy as np

        if name == "score":
            return self.score
        if name in self.index.metrics:
            values: NDArray[Any] = np.array(self.index.metrics[name])[self.rows]
            return values
        if name.startswith("metric."):
            if name[7:] in self.index.metrics:
                return self.numbers(name.removeprefix("metric."))
            return None
        if name in self.index.real:
            reals: NDArray[Any] = np.array(self.index.real[name], np.float64)[self.rows]
            return reals
        if name == "epoch" or name in ("chars", "tokens_in", "tokens_out"):
            column = self._small(name).astype(np.float64)
            return np.where(column < 0, np.nan, column)
        return None

    def texts(self, name: str) -> tuple[Sequence[str | None], Any] | None:
        """Return the distinct texts of a column, and for each sample the index of its text.

        Return None if no text column has this name.
        """
        import numpy as np

        if name == "id":
            ids = [self.index.ids[row] for row in self.rows.tolist()]
            return ids, np.arange(len(ids))
        if name in ("task", "model"):
            names = [cell[name] for cell in self.cells]
            return names, self.codes
        if name == "outcome":
            outcomes = [outcome or None for outcome in self.index.outcomes]
            return outcomes, self.outcomes
        tag = name.removeprefix("tag.")
        is_other_column = tag == name and name in PLAIN
        if is_other_column or tag not in self.index.tags:
            return None
        codes = np.array(self.index.tags[tag])[self.rows]
        values: list[str | None] = [*self.index.tag_values[tag], None]
        missing = len(values) - 1
        return values, np.where(codes < 0, missing, codes)

    @cached_property
    def score(self) -> "NDArray[Any]":
        """The score of each sample: its value of the first metric of its task. NaN if it has none."""
        import numpy as np

        score = np.full(len(self.rows), np.nan)
        for code, cell in enumerate(self.cells):
            column = self.index.metrics.get(cell["metric"] or "")
            if column is not None:
                mask = self.codes == code
                score[mask] = np.array(column)[self.rows][mask]
        return score

    @cached_property
    def outcomes(self) -> "NDArray[Any]":
        """Return the outcome of each sample, as codes."""
        return self.run.outcomes(self.rows)

    def _small(self, name: str) -> "NDArray[Any]":
        import numpy as np

        codes: NDArray[Any] = np.array(self.index.small[name], np.int32)[self.rows]
        return codes


def select(run: RunView, wanted: Wanted) -> list[int]:
    """Return the rows of the selected samples, in order."""
    import numpy as np

    rows = run.rows()
    if (
        wanted.ids
    ):  # a sample selected by id is shown even if the last table does not cover it
        named = set(wanted.ids)
        rows = np.array(
            [row for row, id in enumerate(run.index.ids) if id in named], np.int64
        )
    columns = SampleColumns(run, rows)
    mask = np.ones(len(rows), bool)
    if wanted.wrong or wanted.failures:
        mask &= (_wrong(columns) if wanted.wrong else False) | (
            _failed(columns) if wanted.failures else False
        )
    if wanted.outcomes:
        mask &= _with_outcomes(columns, wanted.outcomes)
    if wanted.tags:
        mask &= _with_tags(columns, wanted.tags)
    if wanted.where:
        mask &= chosen(wanted.where, columns)
    if wanted.words:
        mask &= np.isin(rows, run.search(wanted.words))
    places = np.flatnonzero(mask)
    if wanted.sort:
        places = places[_order(columns, places, wanted.sort)]
    return rows[places].tolist()  # type: ignore[no-any-return]


def rows_where(run: RunView, expression: str) -> dict[str, Any]:
    """Return the rows that match a `--where` expression, and the names that expressions may use."""
    rows = run.rows()
    columns = SampleColumns(run, rows)
    mask = chosen(expression, columns)
    return {"rows": rows[mask].tolist(), "names": columns.names()}


def _wrong(columns: SampleColumns) -> "NDArray[Any]":
    """Return a boolean array: True for each sample that was scored below the best score."""
    import numpy as np

    wrong = np.zeros(len(columns.rows), bool)
    for code, cell in enumerate(columns.cells):
        mask = columns.codes == code
        if cell["scale"] is None and not mask.any():
            continue
        low, high = cell["scale"] or (0.0, 1.0)
        with np.errstate(invalid="ignore"):
            if cell["higher_is_better"]:
                below = columns.score < high
            else:
                below = columns.score > low
        wrong |= mask & below
    wrong_rows: NDArray[Any] = wrong & (columns.outcomes == _code(columns, SCORED))
    return wrong_rows


def _failed(columns: SampleColumns) -> "NDArray[Any]":
    """Return a boolean array: True for each sample that failed.

    A sample failed if it has no score. If a task has no scores for any sample, its
    failed answers count instead.
    """
    import numpy as np

    outcomes = columns.outcomes
    index = columns.index
    failed = np.frombuffer(bytes(index.failed), np.uint8)[columns.rows] != 0
    unscored = outcomes != _code(columns, SCORED)
    for code in range(len(columns.cells)):
        mask = columns.codes == code
        if unscored[mask].all():
            unscored[mask] = failed[mask] | (outcomes[mask] != 0)
    failed_or_unscored: NDArray[Any] = unscored
    return failed_or_unscored


def _with_outcomes(
    columns: SampleColumns,
    outcomes: Sequence[str],
) -> "NDArray[Any]":
    import numpy as np

    from ..core import Outcome

    names = [outcome_kind.value for outcome_kind in Outcome]
    for outcome in outcomes:
        if outcome not in names:
            raise UsageError(
                f"there is no outcome {outcome!r}",
                fix=suggest(outcome, names, "one of"),
            )
    return np.isin(columns.outcomes, [_code(columns, outcome) for outcome in outcomes])


def _with_tags(
    columns: SampleColumns,
    tags: Sequence[str],
) -> "NDArray[Any]":
    import numpy as np

    values_of: dict[str, set[str]] = {}
    for tag in tags:
        name, equals, value = tag.partition("=")
        if not equals:
            raise UsageError(
                f"--tag takes name=value, got {tag!r}", fix=f"--tag {tag}=…"
            )
        values_of.setdefault(name, set()).add(value)
    mask = np.ones(len(columns.rows), bool)
    for name, values in values_of.items():
        texts = columns.texts(f"tag.{name}")
        if texts is None:
            names = list(columns.index.tags)
            if names:
                fix = suggest(name, names, "there are")
            else:
                fix = "the task names none"
            raise UsageError(f"the samples have no tag {name!r}", fix=fix)
        mask &= np.array([text in values for text in texts[0]], bool)[texts[1]]
    return mask


def _order(
    columns: SampleColumns,
    places: "NDArray[Any]",
    sort: str,
) -> "NDArray[Any]":
    """Return the indexes that sort samples by a column. Samples without a value come last in both directions."""
    import numpy as np

    name = sort.removeprefix("-")
    is_down = sort.startswith("-")
    numbers = columns.numbers(name)
    if numbers is not None:
        keys = -numbers[places] if is_down else numbers[places]
        return np.argsort(keys, kind="stable")  # `nan` comes last
    texts = columns.texts(name)
    if texts is None:
        fix = suggest(name, columns.names(), "there are")
        raise UsageError(f"samples cannot be sorted by {name!r}", fix=fix)
    values = [texts[0][code] for code in texts[1][places].tolist()]
    there = [index for index, value in enumerate(values) if value is not None]
    there.sort(
        key=lambda index: str(values[index]),
        reverse=is_down,
    )
    return np.array(
        [*there, *(index for index, value in enumerate(values) if value is None)],
        np.int64,
    )


def _code(columns: SampleColumns, outcome: str) -> int:
    if outcome in columns.index.outcomes:
        return columns.index.outcomes.index(outcome)
    return -1
