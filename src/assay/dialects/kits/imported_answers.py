"""Models that answer from a prediction file, and checks that the file belongs to the dataset."""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ...code.userfiles import file_digest
from ...core import AssayError, Output, Request, Sample, Task, UsageError, shorten
from ...datasets import Samples, open_dataset
from ...datasets.tsv_images import index_text, is_blank
from ...runner.result import RunResult
from ..shapes import Fields, Record

if TYPE_CHECKING:
    from pandas import DataFrame

QUESTION_COLUMNS = ("question", "prompt", "text", "caption", *string.ascii_uppercase)
"""Columns with the question and the options. Both are compared, because a letter means nothing without its options."""
COMPARED_LENGTH = 20_000
"""Number of characters of a question that are compared. A spreadsheet cuts off longer cells."""
_LOST_IN_FILES = re.compile(r"[\x00-\x20\x7f\s]+|_x[0-9A-Fa-f]{4}_")
"""White space and control characters, which spreadsheets change or escape. Comparisons ignore them."""


Questions = Mapping[str, Fields]
"""For each row index, the cells with the question and its options, by column."""


def read_table(
    path: Path,
    load: Callable[[Path], Any],
) -> object:
    """Read a prediction file with `load`. Raise `UsageError` if it is damaged."""
    try:
        return load(path)
    except AssayError:
        raise
    except Exception as error:  # a damaged pickle may raise any exception
        raise UsageError(
            f"the prediction file cannot be read: {type(error).__name__}: {error}",
            where=str(path),
            fix="write it again, or remove it to use the predictions of the last run",
        ) from error


def questions_in(table: "DataFrame") -> Questions:
    """Return the cells with the question and its options for each row of a prediction table."""
    questions: Record = {}
    indices = [index_text(index) for index in table["index"]]
    for index in indices:
        questions[index] = {}
    for name in QUESTION_COLUMNS:
        if name not in table.columns:
            continue
        for index, cell in zip(indices, table[name], strict=True):
            questions[index][name] = cell
    return questions


def samples_of(task: Task, data: str | None = None) -> Samples:
    """Return the samples of a task, from its own dataset or from the file `data`."""
    source = task.dataset
    if hasattr(source, "reading_from"):
        source = source.reading_from(data)
    elif data:
        source = data
    return open_dataset(
        source,
        to_sample=task.to_sample,
        where=f"task {task.name!r}",
    )


def refuse_other_dataset(
    answers: "ImportedAnswers",
    task: Task,
    dataset: str,
) -> None:
    """Raise if a prediction file was made from another dataset.

    It was if one of its rows is missing from the dataset, or if the question or an
    option of a row differs.
    """
    questions = answers.questions
    where = str(answers.path)
    unknown = dict.fromkeys(questions)
    differing: list[tuple[str, Any, Any]] = []
    for sample in samples_of(task):
        unknown.pop(sample.id, None)
        if not isinstance(sample, Sample) or sample.id not in questions:
            continue
        for column, theirs in questions[sample.id].items():
            ours = sample.fields.get(column)
            if is_blank(theirs) or is_blank(ours) or _key(theirs) == _key(ours):
                continue
            differing.append((sample.id, theirs, ours))
            break
    if unknown:
        first = next(iter(unknown))
        raise UsageError(
            f"the prediction file has {len(unknown)} rows that {dataset} lacks, the first with index {first!r}",
            where=where,
            fix=f"give the predictions of {dataset}",
        )
    if differing:
        index, theirs, ours = differing[0]
        raise UsageError(
            f"{len(differing)} rows of the prediction file are not those of {dataset}: "
            f"at index {index!r} it has {shorten(theirs)}, the dataset {shorten(ours)}",
            where=where,
            fix=f"give the predictions of {dataset}",
        )


def refuse_conflicting_rows(table: "DataFrame", where: str) -> None:
    """Raise if a prediction file has two different predictions for the same row index."""
    predictions: dict[str, str] = {}
    for index, prediction in zip(table["index"], table["prediction"], strict=True):
        first = predictions.setdefault(index_text(index), str(prediction))
        if first != str(prediction):
            raise UsageError(
                f"two predictions for index {index_text(index)!r}: {shorten(first)} and {shorten(prediction)}",
                where=where,
                fix="keep one row for each index",
            )


def _key(cell: object) -> str:
    """Normalize a cell for comparison: `2`, `2.0` and ` 2 ` are the same option."""
    text = _LOST_IN_FILES.sub("", str(cell))[:COMPARED_LENGTH].casefold()
    try:
        return repr(float(text))
    except ValueError:
        return text


@dataclass(frozen=True)
class ImportedAnswers:
    """A model that answers from a prediction file, by row index. Subclasses convert a cell to an output."""

    name: str
    identity: Fields
    """Digest of the file, which identifies the model. With another file it is a different model."""
    predictions: Fields = field(repr=False)
    questions: Questions = field(repr=False)
    path: Path

    @classmethod
    def read(
        cls,
        path: Path,
        name: str,
        load: Callable[[Path], Any],
    ) -> Self:
        """Create a model from a prediction file with the columns `index` and `prediction`."""
        if not path.is_file():
            raise UsageError("no such prediction file", where=str(path))
        content = read_table(path, load)
        table = _frame(content, path)
        columns = [str(column) for column in getattr(table, "columns", ())]
        if not {"index", "prediction"} <= {*columns}:
            has = ", ".join(columns) or "no columns"
            raise UsageError(
                f"not a prediction file: it needs `index` and `prediction`, and has {has}",
                where=str(path),
            )
        refuse_conflicting_rows(table, str(path))
        rows = zip(table["index"], table["prediction"], strict=True)
        answers = {index_text(index): cls.answer_of(cell) for index, cell in rows}
        identity = {"imported": file_digest(path)}
        return cls(name, identity, answers, questions_in(table), path)

    @staticmethod
    def answer_of(cell: object) -> object:
        """Return the answer in a `prediction` cell."""
        return cell

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return an output for each request, from the row whose index is the sample's id.

        A row without an answer gives a failed output.
        """
        return [self.output_of(request.id) for request in requests]

    def output_of(self, index: str) -> Output:
        """Return the answer of the row with this index as an output."""
        raise NotImplementedError

    def noted_in(self, result: RunResult, dataset: str) -> RunResult:
        """Return a run's result with a note added that gives the path of the prediction file."""
        note = f"{dataset}: predictions read from {self.path}"
        return replace(result, notes=(note, *result.notes))

    def missing(self, message: str) -> Output:
        """Return a failed output, for a row that has no usable answer."""
        return Output.failed("missing", message, retryable=False)


def _frame(content: object, path: Path) -> "DataFrame":
    """Convert the content of a prediction file to a data frame. JSON may be a list of rows, or a dict of columns."""
    import pandas

    if not isinstance(content, (list, dict)):
        return content

    try:
        return pandas.DataFrame(content)
    except ValueError as error:
        raise UsageError(
            f"not a table of predictions: {error}", where=str(path)
        ) from error


def prediction_files(
    home: Path,
    stem: str,
    suffixes: Sequence[str],
) -> list[Path]:
    """Return the paths of prediction files in a model's folder and the folders of its evaluations, the newest last."""
    folders = [*home.glob("T*/"), home]
    paths = [folder / f"{stem}.{suffix}" for folder in folders for suffix in suffixes]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    return sorted(files, key=lambda file: file.stat().st_mtime_ns)
