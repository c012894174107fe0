"""Tables of VLMEvalKit with predictions and perhaps verdicts: `MODEL_DATASET*.xlsx` or `.tsv`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import Output, Text, as_messages
from ..core.output import Candidate
from ..datasets.cells import is_missing
from ..datasets.excel import read_excel
from ..datasets.files import open_file
from ..datasets.tsv_images import index_text
from .documents import check_archive, head_of, number_of, unreadable
from .results import UNKNOWN, ForeignRun, ForeignSample, ForeignScore, ForeignTask

TOOL = "VLMEvalKit"
INDEX, PREDICTION = "index", "prediction"
SCORES = ("hit", "score")
TAGS = ("category", "l2-category", "split")
VERDICT_ENDINGS = ("_result", "_exact_matching", "_openai", "_auxmatch")
"""Endings of the file names of tables with verdicts."""
OPTIONS = tuple("ABCDEFGH")
LARGEST_BOOK = 1 << 30
"""Maximum bytes of an Excel file after decompression."""


def is_vlmevalkit(path: Path) -> bool:
    """Return True for an Excel file, or for a TSV file with VLMEvalKit's columns."""
    if not path.is_file():
        return False
    if path.suffix == ".xlsx":
        return True
    if path.suffix != ".tsv":
        return False
    columns = head_of(path).split(b"\n")[0].rstrip().split(b"\t")
    return INDEX.encode() in columns and PREDICTION.encode() in columns


def read_vlmevalkit(path: Path) -> ForeignRun:
    """Read a table of predictions. Verdicts are in its column `hit` or `score`; without them it has only answers."""
    model, task = _names(path)

    def samples() -> Iterator[ForeignSample]:
        return (_sample(row, columns) for columns, row in _rows(path))

    columns = next((names for names, _ in _rows(path)), [])
    missing = [name for name in (INDEX, PREDICTION) if name not in columns]
    if missing:
        listed = ", ".join(columns[:8])
        raise unreadable(
            path,
            f"no column {missing[0]!r}; it has {listed}",
            "name a file of predictions that VLMEvalKit wrote",
        )
    shares = frozenset({"hit"} & set(columns))
    return ForeignRun(TOOL, "", (ForeignTask(task, model, samples, shares=shares),))


def _names(path: Path) -> tuple[str, str]:
    """Return the model and the task named by a path:
    `MODEL/[T2026…/]MODEL_DATASET.xlsx`.

    The file name does not show where the model's name ends, so a folder must have that
    name. If none has, the model is `UNKNOWN`.
    """
    stem = path.stem
    for ending in VERDICT_ENDINGS:
        stem = stem.removesuffix(ending)
    for folder in (path.parent, path.parent.parent):
        prefix = f"{folder.name}_"
        if folder.name and stem.startswith(prefix):
            return folder.name, stem[len(prefix) :]
    return UNKNOWN, stem


def _rows(path: Path) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """Yield the table's column names together with each row."""
    if path.suffix == ".xlsx":
        check_archive(path, LARGEST_BOOK)
        header, table = _book(path)
        for cells in table:
            yield header, dict(zip(header, cells, strict=False))
        return
    for _, _, row in open_file(path, zeros=True).rows():
        if isinstance(row, Exception):
            raise row
        if isinstance(row, Mapping):
            yield list(row), row


def _book(path: Path) -> tuple[list[str], list[list[Any]]]:
    from ..core import AssayError

    try:
        return read_excel(path)
    except AssayError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise unreadable(path, reason) from error


def _sample(
    row: Mapping[str, Any],
    columns: list[str],
) -> ForeignSample:
    prediction = row.get(PREDICTION)
    answer = () if is_missing(prediction) else (Candidate((Text(str(prediction)),)),)
    target = row.get("answer")
    tags = {
        name: str(row[name])
        for name in TAGS
        if name in columns and not is_missing(row.get(name))
    }
    return ForeignSample(
        index_text(row.get(INDEX)),
        Output(answer),
        as_messages(_question(row)),
        None if is_missing(target) else str(target),
        tuple(_scores(row)),
        tags=tags,
    )


def _question(row: Mapping[str, Any]) -> str:
    """Build the question from its text, its hint and the options. The table does not contain the prompt."""
    lines = []
    hint = row.get("hint")
    if not is_missing(hint) and hint:
        lines.append(f"Hint: {hint}")
    question = row.get("question") or ""
    lines.append(str(question))
    for letter in OPTIONS:
        option = row.get(letter)
        if not is_missing(option) and option != "":
            lines.append(f"{letter}. {option}")
    return "\n".join(lines)


def _scores(row: Mapping[str, Any]) -> Iterator[ForeignScore]:
    log = row.get("log")
    if is_missing(log):
        details = {}
    else:
        details = {"log": str(log)}
    for name in SCORES:
        value = number_of(row.get(name))
        if value is not None:
            yield ForeignScore(name, {name: value}, details=details)
