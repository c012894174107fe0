"""Predictions in a file that VLMEvalKit itself wrote, as a model that answers with them.

`<model>_<dataset>.xlsx` (or `.tsv`, `.json`) lies in the model's folder, or in one named after the time below it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ...code.userfiles import file_digest
from ...core import Abilities, Candidate, Output, Request, Text, UsageError
from ...datasets.tsv_images import is_blank
from ..kits.suffix_files import load_by_suffix

SUFFIXES = ("xlsx", "tsv", "json")
FAILED = "Failed to obtain answer via API."
"""What upstream writes where no answer came."""


@dataclass(frozen=True)
class Imported:
    """The answers of a prediction file, by the index of their row."""

    name: str
    identity: Mapping[str, Any]
    predictions: Mapping[str, Any] = field(repr=False)
    abilities: ClassVar[Abilities] = Abilities(
        frozenset({"text", "image", "video", "audio"})
    )

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """The answer of each row; a row without one is a failure of that row."""
        return [self._output(request.id) for request in requests]

    def _output(self, index: str) -> Output:
        answer = self.predictions.get(index)
        if is_blank(answer) or FAILED in str(answer):
            why = "no answer" if index in self.predictions else "no such row"
            return Output.failed(
                "missing",
                f"the prediction file has {why} for index {index!r}",
                retryable=False,
            )
        return Output((Candidate((Text(str(answer)),)),))


def prediction_file(home: Path, stem: str) -> Path | None:
    """The newest prediction file of a model's folder, or of the folders of its evaluations; `None` without any."""
    places = [*home.glob("T*/"), home]
    found = [place / f"{stem}.{suffix}" for place in places for suffix in SUFFIXES]
    files = [path for path in found if path.is_file() and not path.is_symlink()]
    return max(files, key=lambda path: path.stat().st_mtime, default=None)


def imported(path: Path, name: str) -> Imported:
    """The predictions of a file with the columns `index` and `prediction`."""
    table = load_by_suffix(path)
    if isinstance(table, (list, dict)):
        table = _frame(table, path)
    columns = [str(column) for column in getattr(table, "columns", ())]
    if not {"index", "prediction"} <= {*columns}:
        has = ", ".join(columns) or "no columns"
        raise UsageError(
            f"not a prediction file: it needs `index` and `prediction`, and has {has}",
            where=str(path),
        )
    answers = {
        str(index): answer
        for index, answer in zip(table["index"], table["prediction"], strict=True)
    }
    return Imported(name, {"imported": file_digest(path)}, answers)


def _frame(plain: Any, path: Path) -> Any:
    """A table that JSON holds as records, or as columns."""
    import pandas

    try:
        return pandas.DataFrame(plain)
    except ValueError as error:
        raise UsageError(
            f"not a table of predictions: {error}", where=str(path)
        ) from error
