"""Call a user's `evaluate`, which computes scores from a table of all answers, without calling the model again.

Its `eval_file` is a path in the run folder without a file: `load` builds the table from
the run's store. Code that opens the file directly gets a real one while it runs.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..file_names import file_name
from ..kits.evaluation_files import table_digest
from ..kits.set_evaluation import Rows, SetEvaluation, bare_name, prediction_path
from ..kits.state import Surroundings
from .ulmeval_predictions import prediction_table, write_pickle
from .ulmeval_rows import GuestData, keep_table

if TYPE_CHECKING:
    from pandas import DataFrame


@scorers.register("images")
@dataclass(frozen=True)
class ImagesDrawn:
    """Scorer that counts the images generated for a prompt. Used for datasets without an evaluation."""

    name: ClassVar[str] = "images"
    reads: ClassVar[tuple[str, ...]] = ()
    whole_output: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float] | None] = None

    def __call__(self, sample: Sample, output: Output) -> Score:
        return Score(
            float(sum(len(candidate.media) for candidate in output.candidates))
        )


@dataclass(frozen=True, repr=False)
class ImageEvaluation(SetEvaluation):
    """Calls a dataset's `evaluate` for generated images.

    The prediction file exists only while code that opens it runs.
    """

    rows_of_class: GuestData | None = field(default=None, compare=False)
    context: Surroundings = field(default=Surroundings(), compare=False)

    whole_output: ClassVar[bool] = True
    folder_name: ClassVar[str] = "files"

    def __repr__(self) -> str:
        return f"{self.data.cls.__name__}.evaluate"

    @property
    def data(self) -> GuestData:
        """The rows of the user's dataset class."""
        if self.rows_of_class is None:
            raise RuntimeError("an evaluation belongs to a dataset")
        return self.rows_of_class

    @property
    def dataset(self) -> Any:
        """The user's dataset object."""
        return self.data.dataset

    def file_of(
        self,
        folder: Path,
        label: str | None,
    ) -> Path:
        """Return the prediction file's path."""
        assert self.cell is not None
        label = file_label(self.cell.model_name)
        return prediction_path(folder, label, self.dataset_name, "pkl")

    def surroundings(self) -> Surroundings:
        """Return the settings for `evaluate`. They are those that applied when the task was created."""
        return self.context

    def judge(self) -> str | None:
        """Return the name of the judge that `evaluate` gets as `model`."""
        return str(self.judge_kwargs.get("model", "judge"))

    def frame(self, rows: Rows) -> "DataFrame":
        """Return the user's answered rows as a data frame, each with its list of images as `prediction`."""
        return prediction_table(self.data, rows)

    def predictions_digest(self, rows: Rows) -> str:
        """Return the digest of the rows and the generated images."""
        digests = []
        for sample, output in rows:
            media = [medium for answer in output.candidates for medium in answer.media]
            digests.append([sample.id, *(medium.digest for medium in media)])
        return table_digest([self.data.digest], digests)

    def write(self, eval_file: Path, rows: Rows) -> None:
        """Copy the dataset's table into the run folder. The prediction file is written only if code opens it."""
        assert self.writer is not None
        keep_table(self.data, self.writer.layout.folder)

    def evaluate(self, eval_file: Path, rows: Rows) -> Any:
        """Call the user's `evaluate`, and return its result.

        If it fails to open the path, it is called again with a real file.
        """
        evaluate = self.dataset.evaluate
        try:
            return evaluate(str(eval_file), **dict(self.judge_kwargs))
        except FileNotFoundError as error:
            if Path(str(error.filename)).absolute() != eval_file:
                raise
        write_pickle(self.frame(rows), eval_file)
        try:
            return evaluate(str(eval_file), **dict(self.judge_kwargs))
        finally:
            eval_file.unlink(missing_ok=True)


def file_label(model: str) -> str:
    """Return a model's short name for file names: the class of `file.py:Class`."""
    return file_name(bare_name(model), 80)
