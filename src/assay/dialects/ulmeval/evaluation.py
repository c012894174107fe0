"""A user's `evaluate` as a scorer of the whole set: a table in, numbers out; it can be repeated without the model.

Its `eval_file` is a path in the run folder without a file: `load` builds the table from the store. Code that opens the
file itself gets a real one while it needs it.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from ...code.fingerprint import code_digest
from ...core import EMPTY, Output, Sample, Score, digest_of
from ...registry import scorers
from ...runner.plan.planned_task import PlannedTask
from ...store import RunWriter
from ..file_names import file_name
from ..kits.evaluation_files import evaluation_files, judge_digest, table_digest
from ..kits.judging import Desk
from ..kits.numbers import as_numbers
from ..kits.state import Surroundings, around, of_process
from .kept_tables import keep_table
from .predictions import prediction_table, write_pickle
from .rows import GuestData

FILES = "files"
"""The run's folder for files that user code writes beside its `eval_file`."""


@scorers.register("images")
@dataclass(frozen=True)
class ImagesDrawn:
    """The number of images drawn for a prompt; the only number of a run without evaluation."""

    name: ClassVar[str] = "images"
    reads: ClassVar[tuple[str, ...]] = ()
    whole_output: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float] | None] = None

    def __call__(self, sample: Sample, output: Output) -> Score:
        return Score(
            float(sum(len(candidate.media) for candidate in output.candidates))
        )


@dataclass(frozen=True, repr=False)
class Evaluation:
    """`evaluate(eval_file, **judge_kwargs)` of a user's dataset class."""

    cls: type
    dataset: str
    judge_kwargs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    data: GuestData | None = field(default=None, compare=False)
    surroundings: Surroundings = field(default=Surroundings(), compare=False)
    cell: PlannedTask | None = field(default=None, compare=False)
    writer: RunWriter | None = field(default=None, compare=False)

    name: ClassVar[str] = "evaluate"
    whole_output: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float] | None] = None

    def __repr__(self) -> str:
        return f"{self.cls.__name__}.evaluate"

    def in_run(self, cell: PlannedTask, writer: RunWriter) -> "Evaluation":
        """Return a copy for one task and model of a run."""
        return replace(self, cell=cell, writer=writer)

    def score_all(self, rows: Sequence[tuple[Sample, Output]]) -> dict[str, Any]:
        """Return the numbers of the user's `evaluate`."""
        if self.data is None or self.cell is None or self.writer is None:
            raise RuntimeError("an evaluation belongs to a run")
        if not rows:
            return {}
        data = self.data
        keep_table(data, self.writer.layout.folder)
        folder = (
            of_process().work_folder or self.writer.layout.folder.absolute() / FILES
        )
        eval_file = (
            folder
            / f"{file_label(self.cell.model_name)}_{file_name(self.dataset, 80)}.pkl"
        )
        desk = Desk(self.writer, self.cell.task.name, self.cell.run.concurrency)
        inside = replace(
            self.surroundings,
            served={eval_file.resolve(): lambda: prediction_table(data, rows)},
            judge=str(self.judge_kwargs.get("model", "judge")),
            desk=desk,
        )
        files = evaluation_files(
            folder, eval_file.stem, _predictions_digest(data, rows), self._digest()
        )
        with closing(desk), around(inside), files:
            result = self._evaluate(eval_file, rows)
        return as_numbers(result) or {"rows": float(len(rows))}

    def _digest(self) -> str:
        """Return a digest of what the evaluation's files depend on beside the predictions: code, judge, arguments."""
        judge = self.judge_kwargs.get("model")
        named = judge_digest(judge if isinstance(judge, str) else None)
        return digest_of(
            [code_digest(self.cls), named, repr(sorted(self.judge_kwargs.items()))]
        )

    def _evaluate(self, eval_file: Path, rows: Sequence[tuple[Sample, Output]]) -> Any:
        assert self.data is not None
        dataset = self.data.dataset
        try:
            return dataset.evaluate(str(eval_file), **dict(self.judge_kwargs))
        except FileNotFoundError as error:
            if Path(str(error.filename)).absolute() != eval_file:
                raise
        # User code opened the file itself instead of calling `load`.
        write_pickle(prediction_table(self.data, rows), eval_file)
        try:
            return dataset.evaluate(str(eval_file), **dict(self.judge_kwargs))
        finally:
            eval_file.unlink(missing_ok=True)


def _predictions_digest(data: GuestData, rows: Sequence[tuple[Sample, Output]]) -> str:
    """Return the digest of what `load` gives for a prediction file: the rows, and the images drawn for each."""
    digests = (
        [
            sample.id,
            *(
                medium.digest
                for candidate in output.candidates
                for medium in candidate.media
            ),
        ]
        for sample, output in rows
    )
    return table_digest([data.digest], digests)


def file_label(model: str) -> str:
    """Return a model's name in file names: the class of `file.py:Class`."""
    path, _, attribute = model.rpartition(":")
    return file_name(
        attribute
        if path.endswith(".py")
        else Path(model).stem
        if model.endswith(".py")
        else model,
        80,
    )
