"""A file of predictions as a dataset, and a model that replays it.

Each line has at least `key`, `pred` and `ref`. Rows that `--mode infer` could not answer have no line in the file.
They are added after its lines as rows marked with `UNANSWERED`, so that they are counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ...core import (
    UNRESOLVED,
    Abilities,
    DataError,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    Text,
)
from ...datasets import open_dataset
from ...datasets.files import open_file
from ...store import RunReader
from ..shapes import Fields, Record
from .structures import as_target, decoded
from .televal_lines import LINE, head_of, spoken_output, with_head
from .televal_rows import PLACE

REQUIRED = ("key", "pred", "ref")
UNANSWERED = "televal_unanswered"
"""The column of a row without a prediction: its outcome and error in the inference run."""
REMOVED = {
    "outcome": "model_error",
    "error": "the prediction file has no line for it",
}
"""The failure of a row that was answered, but is not in the file."""


@dataclass(frozen=True)
class ReadLine:
    """Turns a line of predictions into a sample. The rounds of a dialogue share a cluster."""

    is_upstream: bool = False
    """True to identify a line by its number, because keys may occur twice."""
    id_column: ClassVar[str] = "key"

    def __call__(self, row: Fields) -> Sample:
        if UNANSWERED in row:
            return _unanswered_sample(row)
        line = decoded(row)
        position = line.pop(PLACE, None)
        missing = [name for name in REQUIRED if name not in line]
        if missing:
            raise DataError(
                f"a prediction needs {', '.join(REQUIRED)}; {missing[0]} is missing",
                column=missing[0],
                got=sorted(line),
            )
        key = str(line["key"])
        if self.is_upstream:
            nround = None
        else:
            nround = line.get("nround")
        query = line.get("query")
        if position is not None:
            id = position["id"]
        elif nround is None:
            id = key
        else:
            id = f"{key}#{nround}"
        return Sample(
            id,
            "" if query is None else str(query),
            as_target(line["ref"]),
            fields={**line, LINE: line},
            cluster=None if line.get("nround") is None else key,
        )


def _unanswered_sample(row: Fields) -> Sample:
    """Return a sample whose answer failed. Raise `DataError` if the row of the dataset was unusable."""
    failure = row[UNANSWERED]
    if failure["outcome"] == "data_error":
        raise DataError(failure["error"])
    line = {"key": row["key"], "pred": None, "ref": None}
    return Sample(row["key"], "", fields={LINE: line, UNANSWERED: failure["error"]})


@dataclass(frozen=True)
class WithUnanswered:
    """The rows of a file of predictions, followed by the rows for which it has no line."""

    lines: Any
    """The file, or a function that yields its rows."""
    unanswered: Sequence[Fields]
    name: str

    def __call__(self) -> Iterator[Any]:
        if isinstance(self.lines, Path):
            yield from (row for _, _, row in open_file(self.lines).rows())
        else:
            yield from self.lines()
        yield from self.unanswered


def unanswered_rows(
    run: Path,
    task: str,
    keys: frozenset[str],
) -> list[Record]:
    """Return a row for each sample of an infer run without an answer whose key is not among `keys`."""
    if not run.is_dir():
        return []
    reader = RunReader(run)
    rows: list[Record] = []
    for result in reader.results:
        if result.task != task or rows:
            continue
        records = [
            record
            for scorer in reader.scorers(task, result.model)[:1]
            for record in reader.scores(task, result.model, scorer)
        ]
        failures = {
            record.id: {
                "outcome": str(record.outcome),
                "error": _reason(record.details),
            }
            for record in records
            if record.outcome in UNRESOLVED
        }
        for id in _removed([record.id for record in records], keys):
            failures.setdefault(id, REMOVED)
        never_asked = {"outcome": "model_error", "error": "the infer run ended early"}
        for number in range(len(records), result.n_expected or 0):
            failures[f"(not asked {number + 1})"] = never_asked
        rows = [
            {"key": id, UNANSWERED: failure}
            for id, failure in failures.items()
            if id not in keys
        ]
    return rows


def _removed(
    ids: Sequence[str],
    keys: frozenset[str],
) -> list[str]:
    """Return the ids whose keys a file lacks, or none if the file has keys of other data."""
    known_keys = frozenset(map(_key_of, ids))
    is_of_other_data = not keys or bool(keys - known_keys)
    if is_of_other_data:
        return []
    removed: list[str] = []
    for id in ids:
        key = _key_of(id)
        if key not in keys:
            removed.append(id)
    return removed


def _key_of(id: str) -> str:
    """Return the key of a row from the id of its sample, which may end with the round of a dialogue."""
    return id.partition("#")[0]


def _reason(details: Fields) -> str:
    return str(details.get("error") or details.get("reason") or "no answer")


def keys_in(file: Path) -> frozenset[str]:
    """Return the keys of all readable lines of a prediction file."""
    keys: set[str] = set()
    for _, _, row in open_file(file).rows():
        if isinstance(row, Mapping):
            keys.add(str(row.get("key")))
    return frozenset(keys)


def lines_in(rows: object, reader: ReadLine) -> Iterator[tuple[str, Fields]]:
    """Yield every line that can be judged, with the id of its sample."""
    for sample in open_dataset(rows, to_sample=reader, where="predictions"):
        if isinstance(sample, Sample) and UNANSWERED not in sample.fields:
            yield sample.id, sample.fields[LINE]


def ask_for_line(sample: Sample) -> Prompt:
    """Return the question of a prediction line, as far as the file contains it."""
    return Prompt((Message("user", (Text(str(sample.input)),)),))


@dataclass(frozen=True)
class Predictions:
    """The model that made a file of predictions. Only the file is known."""

    name: str
    folder: Path = field(compare=False)
    """The base of relative audio paths, if it is not the working folder."""
    is_upstream: bool = False
    """True if a line without an answer is judged, too."""
    abilities: Abilities = field(
        default=Abilities(frozenset({"text", "audio"}), frozenset({"text", "audio"})),
        compare=False,
    )

    @property
    def identity(self) -> Fields:
        """The name of the file; the predictions themselves are part of each request."""
        return {"dialect": "televal", "predictions": self.name}

    def prompt(self, sample: Sample, prompt: Prompt) -> Prompt:
        """Add the prediction itself to the prompt."""
        line = sample.fields[LINE]
        answer = {"pred": line["pred"], "pred_audio": line.get("pred_audio")}
        if UNANSWERED in sample.fields:
            answer["error"] = sample.fields[UNANSWERED]
        return with_head(prompt, answer)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the answers of the file."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        answer = head_of(request)
        if "error" in answer:
            message = f"--mode infer did not answer it: {answer['error']}"
            return Output.failed("missing", message, retryable=False)
        if answer.get("pred") is None and not self.is_upstream:
            return Output.failed(
                "missing",
                "the line has no prediction",
                retryable=False,
            )
        spoken = answer.get("pred_audio")
        paths = (
            (Path(spoken), self.folder / spoken)
            if isinstance(spoken, str) and spoken
            else ()
        )
        return spoken_output(answer["pred"], *(path.resolve() for path in paths))
