"""Set-level evaluation: a user's `evaluate(eval_file, **judge_kwargs)` over the predictions of a run.

The prediction file is really written, for code that opens it itself; but what `load(eval_file)` gives comes from the
run's journal, so that no prediction makes a lossy trip through a spreadsheet.
"""

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ...core import EMPTY, Output, Sample, UsageError
from ...datasets.suffix_files import frame_of, write_table
from ...runner.options import RunOptions
from ...store import safe_name
from .classes import ClassDataset
from .session import session

FORMATS = ("xlsx", "tsv", "json")
Rows = Sequence[tuple[Sample, Output]]


@dataclass(frozen=True)
class SetEvaluation:
    """Hands a run's predictions to the user's `evaluate`, and its numbers to the summary."""

    dataset_name: str
    code: str
    """Digest of the user's file: an edit makes earlier numbers stale."""
    dataset: Any = field(compare=False, repr=False)
    folder: Path = field(compare=False)
    model: str = field(default="model", compare=False)
    judge_kwargs: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False)
    name: ClassVar[str] = "evaluate"
    bounds: ClassVar[None] = None

    @classmethod
    def of(cls, dataset: ClassDataset, run: RunOptions, folder: Path, code: str) -> "SetEvaluation":
        """The evaluation of one dataset in one run."""
        judge_kwargs: dict[str, Any] = {"nproc": run.concurrency or 4, "verbose": False, "retry": 3, **run.judge_args}
        if "judge" in run.judges:
            judge_kwargs["model"] = run.judges["judge"]
        model = model_label(run.models[0]) if len(run.models) == 1 else "model"
        return cls(dataset.name, code, dataset.instance, folder, model, judge_kwargs)

    def score_all(self, rows: Rows) -> dict[str, Any]:
        """What `evaluate` returns, as numbers; the count of rows where it returns none."""
        eval_file = self.folder / f"{self.model}_{safe_name(self.dataset_name, 80)}.{prediction_format()}"
        columns, table = prediction_rows(rows)
        write_table(eval_file, columns, table)
        session.serve(eval_file, lambda: prediction_frame(rows))
        session.judge_file = self.folder / f"{self.model}_{safe_name(self.dataset_name, 80)}_judge.jsonl"
        made = self._evaluate(str(eval_file))
        numbers = as_numbers(made)
        return numbers or {"rows": float(len(rows))}

    def _evaluate(self, eval_file: str) -> Any:
        evaluate = self.dataset.evaluate
        accepted = inspect.signature(evaluate).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        kwargs = {name: value for name, value in self.judge_kwargs.items() if takes_any or name in accepted}
        return evaluate(eval_file, **kwargs)


def prediction_rows(rows: Rows) -> tuple[list[str], list[list[Any]]]:
    """The table of a prediction file: every column but the picture itself, and the prediction."""
    names = dict.fromkeys(name for sample, _ in rows for name in sample.fields if name not in ("image", "prediction"))
    columns = [*names, "prediction"]
    table = [[*(_cell(sample.fields.get(name)) for name in names), output.text] for sample, output in rows]
    return columns, table


def prediction_frame(rows: Rows) -> Any:
    """The same table as the data frame that `load` gives: columns typed, predictions exactly as they were made."""
    entries = [
        {**{name: cell for name, cell in sample.fields.items() if name != "image"}, "prediction": output.text}
        for sample, output in rows
    ]
    return frame_of(entries)


def as_numbers(made: Any) -> dict[str, Any]:
    """What an `evaluate` returned, as named numbers: of a dictionary its own, of a data frame one for each cell."""
    if made is None:
        return {}
    if isinstance(made, (int, float)) and not isinstance(made, bool):
        return {"value": float(made)}
    if isinstance(made, Mapping):
        return dict(made)
    if hasattr(made, "columns") and hasattr(made, "to_dict"):
        return _frame_numbers(made)
    if hasattr(made, "to_dict"):
        return dict(made.to_dict())
    raise TypeError(f"evaluate returned a {type(made).__name__}; it must return a dict, a DataFrame or None")


def _frame_numbers(frame: Any) -> dict[str, Any]:
    """Cells of a table: by column where it has one row, else by what its words say of the row, then by column."""
    records = frame.to_dict(orient="records")
    if len(records) == 1:
        return {str(name): value for name, value in records[0].items()}
    numbers: dict[str, Any] = {}
    for place, record in enumerate(records):
        words = [str(value) for value in record.values() if isinstance(value, str)]
        label = ".".join(words) or str(place)
        numbers[label] = {str(name): value for name, value in record.items() if not isinstance(value, str)}
    return numbers


def prediction_format() -> str:
    """The suffix of prediction files: `$PRED_FORMAT`, by default xlsx."""
    chosen = os.environ.get("PRED_FORMAT", "xlsx").lower()
    if chosen not in FORMATS:
        raise UsageError(f"PRED_FORMAT is {chosen!r}", fix=f"one of {', '.join(FORMATS)}")
    return chosen


def model_label(name: str) -> str:
    """A model's name as file names carry it: of `file.py:Class` the class, of `openai/x` the `x`."""
    bare = name.rpartition(":")[2] if ".py:" in name else Path(name).stem if name.endswith(".py") else name
    return safe_name(bare.rpartition("/")[2], 80)


def _cell(value: Any) -> Any:
    if value is None or value == "":
        return None
    return value if isinstance(value, (str, int, float, bool)) else str(value)
