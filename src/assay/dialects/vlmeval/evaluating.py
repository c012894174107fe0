"""Score a whole run with a user's `evaluate(eval_file, **judge_kwargs)`.

The prediction file is written for code that opens it, but `load(eval_file)` returns the
predictions of the run's journal, so that no prediction is altered by a spreadsheet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Output
from ...runner.options import RunOptions
from ...store.file_ledger import FileLedger
from ..file_names import file_name
from ..kits.evaluation_files import table_digest
from ..kits.set_evaluation import Rows, SetEvaluation, bare_name, prediction_path
from ..kits.smp.file import get_pred_file_format
from ..kits.state import Surroundings, of_process
from ..kits.suffix_files import frame_of, write_table
from ..parameters import accepted_by
from ..shapes import Fields, Record
from .vlmeval_classes import ClassDataset
from .vlmeval_judging import model_args

if TYPE_CHECKING:
    from pandas import DataFrame

NO_JUDGE = "exact_matching"
CONNECTION = ("base_url", "api_key_env", "headers")
"""Judge arguments for the connection to the judge. The run uses them; `evaluate` does not receive them."""


@dataclass(frozen=True)
class TextEvaluation(SetEvaluation):
    """Calls a dataset's `evaluate` for text answers.

    The prediction file is a table that code may open at any time.
    """

    dialogue: bool = False
    """True if predictions are lists of answers, one for each turn."""
    instance: Any = field(
        default=None,
        compare=False,
        repr=False,
    )
    folder_name: ClassVar[str] = "vlmeval"

    @classmethod
    def of(
        cls,
        dataset: ClassDataset,
        run: RunOptions,
        name: str,
        code: str,
    ) -> "TextEvaluation":
        """Build the evaluation of one dataset.

        The user's `evaluate` gets the judge's short name as `model`, because it writes
        the name into file names.
        """
        judge = run.judges.get("judge")
        kwargs: Record = {"verbose": False, "retry": 3}
        for argument, value in run.judge_args.items():
            if argument not in CONNECTION:
                kwargs[argument] = value
        kwargs["model"] = model_label(judge) if judge is not None else NO_JUDGE
        return cls(
            name,
            code,
            kwargs,
            dialogue=dataset.is_dialogue,
            instance=dataset.instance,
        )

    @property
    def dataset(self) -> Any:
        """The user's dataset object."""
        return self.instance

    def file_of(
        self,
        folder: Path,
        label: str | None,
    ) -> Path:
        """Return the path of the prediction file, which contains the model's short name.

        If two models share a short name, the path contains the full one.
        """
        assert self.cell is not None
        label = label or label_among(self.cell.model_name, self.cell.run.models)
        suffix = get_pred_file_format()
        return prediction_path(folder, label, self.dataset_name, suffix)

    def surroundings(self) -> Surroundings:
        """Return the settings for `evaluate`. They are the settings of the process."""
        return of_process()

    def judge(self) -> str | None:
        """Return the name of the run's judge, or None."""
        assert self.cell is not None
        return self.cell.run.judges.get("judge")

    def judge_options(self) -> Mapping[str, Fields]:
        """Return the options for building the judge, by the judge's name."""
        judge = self.judge()
        if judge is None or self.cell is None:
            return {}
        return {judge: model_args(judge, self.cell.run.judge_args)}

    def frame(self, rows: Rows) -> "DataFrame":
        """Return the table of predictions as a data frame with typed columns."""
        return prediction_frame(rows, self.dialogue)

    def predictions_digest(self, rows: Rows) -> str:
        """Return the digest of the table of predictions."""
        return table_digest(*prediction_rows(rows, self.dialogue))

    def write(self, eval_file: Path, rows: Rows) -> None:
        """Write the table of predictions."""
        columns, table = prediction_rows(rows, self.dialogue)
        write_table(FileLedger(eval_file.parent).claim(eval_file), columns, table)

    def evaluate(self, eval_file: Path, rows: Rows) -> Any:
        """Call the user's `evaluate` with the arguments that it accepts, and return its result."""
        assert self.cell is not None
        evaluate = self.dataset.evaluate
        arguments = {"nproc": self.cell.run.concurrency or 4, **self.judge_kwargs}
        return evaluate(str(eval_file), **accepted_by(evaluate, arguments))


def prediction_rows(
    rows: Rows,
    dialogue: bool = False,
) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of a prediction file: all columns except the image, and the prediction."""
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


def prediction_frame(rows: Rows, dialogue: bool = False) -> "DataFrame":
    """Return a run's predictions as a data frame, as `load` returns it: typed columns, unchanged predictions."""
    entries = [
        {
            **{name: cell for name, cell in sample.fields.items() if name != "image"},
            "prediction": prediction_of(output, dialogue),
        }
        for sample, output in rows
    ]
    return frame_of(entries)


def prediction_of(output: Output, dialogue: bool) -> str:
    """Return an output's answer as in a prediction file: text, or a Python list literal for a dialogue."""
    if dialogue:
        return repr(list(output.details.get("rounds") or [output.text]))
    return output.text


def label_among(
    name: str,
    models: Sequence[str],
) -> str:
    """Return a model's short name for file names. If two models of the run share it, return the full name."""
    label = model_label(name)
    if sum(model_label(other) == label for other in models) < 2:
        return label
    return file_name(name, 80)


def model_label(name: str) -> str:
    """Return a model's short name for file names: the class of `file.py:Class`, the `x` of `openai/x`."""
    return file_name(bare_name(name).rpartition("/")[2], 80)


def plain_cell(value: object) -> object:
    """Return a cell as a prediction file stores it: None if it is empty, a string for a list or another object."""
    if value is None or value == "":
        return None
    if isinstance(value, (str, int, float, bool)):
        return value
    return str(value)
