"""Evaluate a whole set: a user's `evaluate(eval_file, **judge_kwargs)` over the predictions of a run.

The prediction file is written for code that opens it, but `load(eval_file)` returns the predictions of the run's
journal, so that no prediction is altered by a spreadsheet.
"""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from ...core import EMPTY, Output, Sample, digest_of, shorten
from ...runner.options import RunOptions
from ...runner.plan.planned_task import PlannedTask
from ...store import RunWriter
from ...store.file_ledger import FileLedger
from ..file_names import file_name
from ..kits.evaluation_files import evaluation_files, judge_digest, table_digest
from ..kits.judging import Desk
from ..kits.numbers import as_numbers
from ..kits.smp.file import get_pred_file_format
from ..kits.state import around, of_process
from ..kits.suffix_files import frame_of, write_table
from ..returned import defined_at
from .classes import ClassDataset
from .judging import model_args

FILES = "vlmeval"
"""The run's folder for prediction files and what an `evaluate` writes beside them."""
NO_JUDGE = "exact_matching"
Rows = Sequence[tuple[Sample, Output]]


@dataclass(frozen=True)
class SetEvaluation:
    """Passes a run's predictions to the user's `evaluate`, and its numbers to the summary."""

    dataset_name: str
    code: str
    """Digest of the user's file: an edit makes earlier numbers stale."""
    judge_kwargs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The further arguments of `evaluate`."""
    dialogue: bool = False
    """Whether predictions are lists of answers, one for each turn."""
    dataset: Any = field(default=None, compare=False, repr=False)
    cell: PlannedTask | None = field(default=None, compare=False, repr=False)
    writer: RunWriter | None = field(default=None, compare=False, repr=False)
    name: ClassVar[str] = "evaluate"
    bounds: ClassVar[None] = None

    @classmethod
    def of(
        cls, dataset: ClassDataset, run: RunOptions, name: str, code: str
    ) -> "SetEvaluation":
        """Build the evaluation of one dataset, with the judge's name as in file names."""
        judge = run.judges.get("judge")
        # How the judge is reached is the run's concern.
        args = {
            name: arg
            for name, arg in run.judge_args.items()
            if name not in ("base_url", "api_key_env", "headers")
        }
        kwargs = {"verbose": False, "retry": 3, **args}
        kwargs["model"] = model_label(judge) if judge is not None else NO_JUDGE
        return cls(name, code, kwargs, dataset.is_dialogue, dataset.instance)

    def in_run(self, cell: PlannedTask, writer: RunWriter) -> "SetEvaluation":
        """Return a copy for one task and model of a run."""
        return replace(self, cell=cell, writer=writer)

    def score_all(self, rows: Rows) -> dict[str, Any]:
        """Return the numbers that `evaluate` returns, or the count of rows if it returns none."""
        if self.cell is None or self.writer is None:
            raise RuntimeError("an evaluation belongs to a run")
        if not rows:
            return {}
        run = self.cell.run
        process = of_process()
        folder = process.work_folder or self.writer.layout.folder.absolute() / FILES
        label = process.label or label_among(self.cell.model_name, run.models)
        stem = f"{label}_{file_name(self.dataset_name, 80)}"
        eval_file = folder / f"{stem}.{get_pred_file_format()}"
        columns, table = prediction_rows(rows, self.dialogue)
        write_table(FileLedger(folder).claim(eval_file), columns, table)
        judge = run.judges.get("judge")
        args = {} if judge is None else {judge: model_args(judge, run.judge_args)}
        desk = Desk(self.writer, self.cell.task.name, run.concurrency, args)
        served = {eval_file.resolve(): lambda: prediction_frame(rows, self.dialogue)}
        inside = replace(process, judge=judge, desk=desk, served=served)
        files = evaluation_files(
            folder, stem, table_digest(columns, table), self._digest(judge)
        )
        with closing(desk), around(inside), files:
            result = self._evaluate(str(eval_file), run.concurrency or 4)
        numbers = as_numbers(result)
        if result is not None and not numbers:
            where = f"{self.dataset_name}, {defined_at(self.dataset.evaluate)}"
            warnings.warn(
                f"{where}: evaluate returned no numbers: {shorten(result)}",
                stacklevel=2,
            )
        return numbers or {"rows": float(len(rows))}

    def _digest(self, judge: str | None) -> str:
        """Return a digest of what the evaluation's files depend on beside the predictions: code, judge, arguments."""
        return digest_of(
            [self.code, judge_digest(judge), repr(sorted(self.judge_kwargs.items()))]
        )

    def _evaluate(self, eval_file: str, nproc: int) -> Any:
        evaluate = self.dataset.evaluate
        accepted = inspect.signature(evaluate).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        arguments = {"nproc": nproc, **self.judge_kwargs}
        kwargs = {
            name: value
            for name, value in arguments.items()
            if takes_any or name in accepted
        }
        return evaluate(eval_file, **kwargs)


def prediction_rows(
    rows: Rows, dialogue: bool = False
) -> tuple[list[str], list[list[Any]]]:
    """Return the table of a prediction file: every column except the image, and the prediction."""
    names = dict.fromkeys(
        name
        for sample, _ in rows
        for name in sample.fields
        if name not in ("image", "prediction")
    )
    columns = [*names, "prediction"]
    table = [
        [
            *(plain_cell(sample.fields.get(name)) for name in names),
            prediction_of(output, dialogue),
        ]
        for sample, output in rows
    ]
    return columns, table


def prediction_frame(rows: Rows, dialogue: bool = False) -> Any:
    """Return the same table as the data frame that `load` gives: typed columns, unchanged predictions."""
    entries = [
        {
            **{name: cell for name, cell in sample.fields.items() if name != "image"},
            "prediction": prediction_of(output, dialogue),
        }
        for sample, output in rows
    ]
    return frame_of(entries)


def prediction_of(output: Output, dialogue: bool) -> str:
    """Return the answer; for a dialogue, the literal of the list of answers, as in upstream's files."""
    return (
        repr(list(output.details.get("rounds") or [output.text]))
        if dialogue
        else output.text
    )


def label_among(name: str, models: Sequence[str]) -> str:
    """Return a model's label in file names; the full name if another model of the run has the same label."""
    label = model_label(name)
    return (
        label
        if sum(model_label(other) == label for other in models) < 2
        else file_name(name, 80)
    )


def model_label(name: str) -> str:
    """Return a model's label in file names: the class of `file.py:Class`, the `x` of `openai/x`."""
    bare = (
        name.rpartition(":")[2]
        if ".py:" in name
        else Path(name).stem
        if name.endswith(".py")
        else name
    )
    return file_name(bare.rpartition("/")[2], 80)


def plain_cell(value: Any) -> Any:
    """Return a cell as a file holds it: None if it is empty, text for a value that is not plain."""
    if value is None or value == "":
        return None
    return value if isinstance(value, (str, int, float, bool)) else str(value)
