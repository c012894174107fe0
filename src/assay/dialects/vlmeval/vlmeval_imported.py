"""Use a prediction file that VLMEvalKit itself wrote as a model.

`<model>_<dataset>.xlsx` (or `.tsv`, `.json`) is in the model's folder, or in one below it that is named after the
time.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...code.userfiles import file_digest
from ...core import Abilities, Candidate, Output, Text, UsageError
from ...datasets.tsv_images import is_blank
from ..kits.imported_answers import (
    ImportedAnswers,
    index_text,
    questions_in,
    read_table,
    refuse_conflicting_rows,
)
from ..kits.suffix_files import load_by_suffix

SUFFIXES = ("xlsx", "tsv", "json")
FAILED = "Failed to obtain answer via API."
"""Upstream's text for a missing answer."""


@dataclass(frozen=True)
class Imported(ImportedAnswers):
    """The answers of a prediction file."""

    abilities: ClassVar[Abilities] = Abilities(
        frozenset({"text", "image", "video", "audio"})
    )

    def output_of(self, index: str) -> Output:
        """Return the text of a row; upstream's failure message counts as no answer."""
        answer = self.predictions.get(index)
        if is_blank(answer) or FAILED in str(answer):
            why = "no answer" if index in self.predictions else "no such row"
            return self.missing(f"the prediction file has {why} for index {index!r}")
        return Output((Candidate((Text(str(answer)),)),))


def prediction_files(home: Path, stem: str) -> list[Path]:
    """Return the prediction files of a model's folder and of the folders of its evaluations, the newest last."""
    folders = [*home.glob("T*/"), home]
    paths = [folder / f"{stem}.{suffix}" for folder in folders for suffix in SUFFIXES]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    return sorted(files, key=_time)


def new_prediction_file(
    home: Path,
    stem: str,
    all_digests: frozenset[str],
    of_latest: frozenset[str],
    latest: Path,
) -> Path | None:
    """Return the newest prediction file that no run here has read or written, or None.

    `all_digests` are those of all files that runs here read or wrote, `of_latest` those of the latest run. A file
    of an earlier run that was put into the model's folder again after the latest run counts as new, too.
    """
    new: list[Path] = []
    for file in prediction_files(home, stem):
        digest = file_digest(file)
        is_put_back = (
            file.parent == home
            and digest not in of_latest
            and _time(file) > _time(latest)
        )
        if digest not in all_digests or is_put_back:
            new.append(file)
    return new[-1] if new else None


def _time(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def imported(path: Path, name: str) -> Imported:
    """Read the predictions of a file with the columns `index` and `prediction`."""
    table = read_table(path, load_by_suffix)
    if isinstance(table, (list, dict)):
        table = _frame(table, path)
    columns = [str(column) for column in getattr(table, "columns", ())]
    if not {"index", "prediction"} <= {*columns}:
        has = ", ".join(columns) or "no columns"
        raise UsageError(
            f"not a prediction file: it needs `index` and `prediction`, and has {has}",
            where=str(path),
        )
    refuse_conflicting_rows(table, str(path))
    answers = {
        index_text(index): answer
        for index, answer in zip(table["index"], table["prediction"], strict=True)
    }
    identity = {"imported": file_digest(path)}
    return Imported(name, identity, answers, questions_in(table), path)


def _frame(plain: object, path: Path) -> Any:
    """Return a table that a JSON file stores as records or as columns."""
    import pandas

    try:
        return pandas.DataFrame(plain)
    except ValueError as error:
        raise UsageError(
            f"not a table of predictions: {error}", where=str(path)
        ) from error
