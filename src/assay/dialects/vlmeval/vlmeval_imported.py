"""Use a prediction file that VLMEvalKit itself wrote as a model.

`<model>_<dataset>.xlsx` (or `.tsv`, `.json`) is in the model's folder, or in one below it that is named after the
time.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...code.userfiles import file_digest
from ...core import Abilities, Candidate, Output, Text
from ...datasets.tsv_images import is_blank
from ..kits.imported_answers import ImportedAnswers, prediction_files

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
            if index in self.predictions:
                why = "no answer"
            else:
                why = "no such row"
            return self.missing(f"the prediction file has {why} for index {index!r}")
        return Output((Candidate((Text(str(answer)),)),))


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
    for file in prediction_files(home, stem, SUFFIXES):
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
    if file.exists():
        return file.stat().st_mtime_ns
    return 0
