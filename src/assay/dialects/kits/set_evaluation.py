"""A scorer that calls a user's `evaluate(eval_file, **judge_kwargs)` once with all predictions.

`load(eval_file)` returns the predictions of the run's journal, so that no file format
alters them.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...core import EMPTY, Output, Sample, digest_of, shorten
from ...runner.plan.planned_task import PlannedTask
from ...store import RunWriter
from ..file_names import file_name
from ..returned import defined_at, not_finite
from ..shapes import Fields, Record
from .evaluation_files import evaluation_files, judge_digest
from .judging import JudgePool
from .kit_numbers import as_numbers
from .state import Surroundings, around, of_process

if TYPE_CHECKING:
    from pandas import DataFrame

Rows = Sequence[tuple[Sample, Output]]


@dataclass(frozen=True)
class SetEvaluation:
    """Calls a user's `evaluate` with a run's predictions. The returned numbers go into the run's summary.

    A subclass defines the content of the prediction file, and how a dataset's
    `evaluate` is called.
    """

    dataset_name: str
    code: str
    """Digest of the user's file. If it changes, earlier results are not reused."""
    judge_kwargs: Fields = field(default_factory=lambda: EMPTY)
    """Additional keyword arguments for `evaluate`."""
    cell: PlannedTask | None = field(
        default=None,
        compare=False,
        repr=False,
    )
    writer: RunWriter | None = field(
        default=None,
        compare=False,
        repr=False,
    )

    name: ClassVar[str] = "evaluate"
    bounds: ClassVar[tuple[float, float] | None] = None
    folder_name: ClassVar[str]
    """Name of the run's subfolder for the prediction file, and for the files that `evaluate` writes."""

    def in_run(self, cell: PlannedTask, writer: RunWriter) -> Self:
        """Return a copy for one task and model of a run, with the writer that stores results."""
        return replace(self, cell=cell, writer=writer)

    @property
    def dataset(self) -> Any:
        """The user's dataset object."""
        raise NotImplementedError

    def file_of(
        self,
        folder: Path,
        label: str | None,
    ) -> Path:
        """Return the path of the prediction file in `folder`.

        `label` is the model's name in the file name. It is set only if the toolkit's
        own command is used.
        """
        raise NotImplementedError

    def surroundings(self) -> Surroundings:
        """Return settings for the user's code. The judge and the prediction file are added later, by `score_all`."""
        raise NotImplementedError

    def judge(self) -> str | None:
        """Return the name of the judge, or None."""
        raise NotImplementedError

    def judge_options(self) -> Mapping[str, Fields]:
        """Return the options for building judges, by their names."""
        return EMPTY

    def frame(self, rows: Rows) -> "DataFrame":
        """Return the data frame that `load` returns for the prediction file."""
        raise NotImplementedError

    def predictions_digest(self, rows: Rows) -> str:
        """Return the digest of the predictions."""
        raise NotImplementedError

    def write(self, eval_file: Path, rows: Rows) -> None:
        """Write the prediction file, because some code opens it directly. Skip formats that are written on access."""

    def evaluate(self, eval_file: Path, rows: Rows) -> object:
        """Call the user's `evaluate`, and return its result."""
        raise NotImplementedError

    def score_all(self, rows: Rows) -> Record:
        """Return the numbers that the user's `evaluate` returns, or the number of rows if it returns none."""
        if self.cell is None or self.writer is None:
            raise RuntimeError("an evaluation belongs to a run")
        if not rows:
            return {}
        process = of_process()
        run_folder = self.writer.layout.folder.absolute()
        folder = process.work_folder or run_folder / self.folder_name
        eval_file = self.file_of(folder, process.label)
        self.write(eval_file, rows)
        judge_pool = JudgePool(
            self.writer,
            self.cell.task.name,
            self.cell.run.concurrency,
            self.judge_options(),
        )
        inside = replace(
            self.surroundings(),
            judge=self.judge(),
            judge_pool=judge_pool,
            served={eval_file.resolve(): lambda: self.frame(rows)},
        )
        files = evaluation_files(
            folder,
            eval_file.stem,
            self.predictions_digest(rows),
            self.digest(),
        )
        with closing(judge_pool), around(inside), files:
            result = self.evaluate(eval_file, rows)
        numbers = as_numbers(result)
        where = f"{self.dataset_name}, {defined_at(self.dataset.evaluate)}"
        if not numbers:
            if result is None:
                returned = "nothing"
            else:
                returned = f"no numbers: {shorten(result)}"
            warnings.warn(f"{where}: evaluate returned {returned}", stacklevel=2)
        undefined = not_finite(numbers)
        if undefined:
            names = shorten(", ".join(undefined))
            value = next(iter(undefined.values()))
            warnings.warn(
                f"{where}: evaluate returned {value} for {names}", stacklevel=2
            )
        return numbers or {"rows": float(len(rows))}

    def digest(self) -> str:
        """Return a digest of everything except the predictions that affects the files: code, judge and arguments."""
        arguments = repr(sorted(self.judge_kwargs.items()))
        return digest_of([self.code, judge_digest(self.judge()), arguments])


def bare_name(model: str) -> str:
    """Return the short name of a model: `Class` for a user's `file.py:Class`, `file` for `file.py`."""
    if ".py:" in model:
        return model.rpartition(":")[2]
    if model.endswith(".py"):
        return Path(model).stem
    return model


def prediction_path(
    folder: Path,
    label: str,
    dataset: str,
    suffix: str,
) -> Path:
    """Return the path of a prediction file, `<model>_<dataset>.<suffix>`."""
    return folder / f"{label}_{file_name(dataset, 80)}.{suffix}"
