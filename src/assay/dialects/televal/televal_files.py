"""TELEVAL's files: predictions, results and summaries as JSONL, audio clips, and one table of all summaries.

A prediction file can be judged like a dataset. Each of its lines has at least `key`,
`pred` and `ref`. A row that failed in `--mode infer` has no line. Such rows are added
after the lines, marked with `UNANSWERED`, so that they are counted.
"""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from ...core import (
    UNRESOLVED,
    Abilities,
    DataError,
    Message,
    Output,
    Prompt,
    Request,
    Sample,
    ScoreRecord,
    Task,
    Text,
)
from ...datasets import open_dataset
from ...datasets.files import open_file
from ...store import RunReader, safe_name
from ...store.file_ledger import FileLedger
from ...store.layout import write_whole
from ..run_answers import answered, output_of
from ..shapes import Fields, Record
from .audio_clips import file_stem
from .eras import Era
from .structures import as_target, decoded, json_line
from .summaries import raw_score
from .televal_rows import (
    LINE,
    PLACE,
    STRUCTURE,
    Columns,
    head_of,
    info_of,
    prediction_lines,
    spoken_output,
    with_head,
)

REQUIRED = ("key", "pred", "ref")
UNANSWERED = "televal_unanswered"
"""Column that marks a row without a prediction. Its cell has the row's outcome and error in the inference run."""
REMOVED = {
    "outcome": "model_error",
    "error": "the prediction file has no line for it",
}
"""The error for a row that the inference run answered and that is missing in the prediction file."""
NEVER_ASKED = {"outcome": "model_error", "error": "the infer run ended early"}


class Folder:
    """The folder `<save_dir>`, with the files of all models and tasks."""

    def __init__(
        self,
        save_dir: str | Path,
        model: str,
    ) -> None:
        self.root = Path(save_dir).expanduser()
        self.model = model
        self.ledger = FileLedger(self.root)
        self._model_folder = (
            model
            if "/" not in model and file_stem(model) == model
            else safe_name(model, 60)
        )

    def run(self, label: str) -> Path:
        """Return the folder of assay's own run, in which a task's answers or scores are recorded."""
        return self.root / "run" / self._model_folder / label

    def file(
        self,
        stage: str,
        label: str,
    ) -> Path:
        """Return the path of a task's file in the folder `prediction`, `result` or `summary`."""
        return self.root / stage / self._model_folder / f"{label}.jsonl"

    def sounds(self, label: str) -> Path:
        """Return the folder for the audio clips of a task's predictions."""
        return self.root / "prediction" / self._model_folder / label

    def write(
        self,
        stage: str,
        label: str,
        lines: Sequence[Fields],
    ) -> Path:
        """Write the lines of a stage's file. An existing file is replaced only once the new one is complete."""
        file = self.ledger.claim(self.file(stage, label))
        text = "".join(f"{json_line(line)}\n" for line in lines)
        write_whole(file, text.encode("utf-8", "replace"))
        return file

    def remove(
        self,
        stage: str,
        label: str,
    ) -> None:
        """Remove a file that an earlier run of assay wrote, because it does not match the new results."""
        file = self.file(stage, label)
        if file.is_file():
            self.ledger.claim(file).unlink()

    def write_table(self) -> Path:
        """Write `results.csv` in TELEVAL's own format: a row for each summary, a column for each model."""
        rows: dict[str, dict[str, str]] = {}
        columns = [""]
        for file in sorted(self.root.glob("summary/*/*.jsonl")):
            model = file.parent.name
            if model not in columns:
                columns.append(model)
            first_line = file.read_text(encoding="utf-8").partition("\n")[0]
            values = json.loads(first_line).values()
            row = rows.setdefault(file.stem, {"": file.stem})
            row[model] = "".join(f"{value} " for value in values)
        path = self.ledger.claim(self.root / "results.csv")
        stream = io.StringIO(newline="")
        table = csv.DictWriter(stream, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows.values())
        text = stream.getvalue()
        write_whole(path, text.encode("utf-8", "replace"))
        return path


def predictions_of(
    task: Task,
    reader: RunReader,
    model: str,
    folder: Folder,
    era: Era,
) -> list[Record]:
    """Return the prediction lines of a run in the order of the data. Audio clips get TELEVAL's file names."""
    lines: list[Record] = []
    for sample, output in _answered(task, reader, model):
        for line in prediction_lines(sample, output, task.to_sample.columns, era):
            if line.get("pred_audio") and STRUCTURE not in sample.fields:
                line["pred_audio"] = _named_audio(line, sample, folder, task.name)
            lines.append(line)
    return lines


def results_of(
    task: Task,
    reader: RunReader,
    model: str,
    scorer: str,
    *,
    keep_meta_info: bool,
    is_upstream: bool = False,
) -> list[Record]:
    """Return one result line for each prediction: the prediction's columns and the evaluator's verdict.

    If a column and the verdict have a field of the same name, the verdict's value is
    used. Under upstream's rules, the column's value is used instead.
    """
    scores = {record.id: record for record in reader.scores(task.name, model, scorer)}
    lines = []
    for sample, output in _answered(task, reader, model):
        line = prediction_lines(sample, output, Columns())[0]
        record = scores.get(sample.id)
        if record is None:
            continue
        if is_upstream and "result" in record.details:
            lines.append({**record.details["result"], **info_of(line)})
        else:
            info = info_of(line) if keep_meta_info else {}
            columns = {name: line[name] for name in REQUIRED}
            lines.append({**info, **columns, **_verdict(record)})
    return lines


def _verdict(record: ScoreRecord) -> Fields:
    """Return the fields of a result line that describe the score.

    These are the evaluator's own dictionary, if it returned one. Otherwise they are
    `score` or, for a failed row, the outcome and the error.
    """
    if "result" in record.details:
        result: Fields = record.details["result"]
        return result
    if record.outcome in ("judge_error", "data_error", "model_error"):
        reason = record.details.get("reason")
        return {"score": None, "outcome": record.outcome, "error": reason}
    return {"score": raw_score(record)}


def _answered(
    task: Task,
    reader: RunReader,
    model: str,
) -> Iterator[tuple[Sample, Output]]:
    """Yield every answered sample with its output.

    A dialogue's output is that of the last round, with the texts of all rounds.
    """
    samples = open_dataset(
        task.dataset,
        to_sample=task.to_sample,
        where=f"task {task.name!r}",
    )
    answers = reader.index.cell(task.name, model).answers
    for sample, entries in answered(samples, answers):
        if len(entries) < 1 + len(sample.turns) or None in entries:
            continue
        outputs = [output_of(reader, entry) for entry in entries]
        last = outputs[-1]
        if len(outputs) > 1:
            details = {**last.details, "rounds": [output.text for output in outputs]}
            last = Output(last.candidates, details=details)
        yield sample, last


def _named_audio(
    line: Fields,
    sample: Sample,
    folder: Folder,
    label: str,
) -> str:
    """Link or copy the audio clip of a line to the file name that TELEVAL uses, and return its path."""
    source = Path(str(line["pred_audio"]))
    nround = f"_round{line['nround']}" if "nround" in line else ""
    name = f"{file_stem(sample.id)}_pred{nround}{source.suffix or '.wav'}"
    target = folder.sounds(label) / name
    if source.is_file():
        folder.ledger.claim(target).unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
    return str(target)


@dataclass(frozen=True)
class ReadLine:
    """Converts a line of a prediction file to a sample. The rounds of a dialogue share a cluster."""

    is_upstream: bool = False
    """True to use a line's number as the id of its sample, because keys may be duplicates under upstream's rules."""
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
        key, nround, query = str(line["key"]), line.get("nround"), line.get("query")
        id = key
        if position is not None:
            id = position["id"]
        elif nround is not None and not self.is_upstream:
            id = f"{key}#{nround}"
        return Sample(
            id,
            "" if query is None else str(query),
            as_target(line["ref"]),
            fields={**line, LINE: line},
            cluster=None if nround is None else key,
        )


def _unanswered_sample(row: Fields) -> Sample:
    """Return a sample for a row without an answer. If the row itself was unusable, raise its `DataError` again."""
    failure = row[UNANSWERED]
    if failure["outcome"] == "data_error":
        raise DataError(failure["error"])
    line = {"key": row["key"], "pred": None, "ref": None}
    return Sample(row["key"], "", fields={LINE: line, UNANSWERED: failure["error"]})


@dataclass(frozen=True)
class WithUnanswered:
    """The rows of a prediction file, followed by the rows for which it has no line."""

    lines: Path | Callable[[], Iterator[object]]
    """The prediction file, or a function that yields its rows."""
    unanswered: Sequence[Fields]
    name: str

    def __call__(self) -> Iterator[object]:
        if isinstance(self.lines, Path):
            yield from _rows_of(self.lines)
        else:
            yield from self.lines()
        yield from self.unanswered


def unanswered_rows(
    run: Path,
    file: Path,
) -> list[Record]:
    """Return a row for each sample that has no line in the prediction file, with its error."""
    if not run.is_dir():
        return []
    keys = {str(row.get("key")) for row in _rows_of(file) if isinstance(row, Mapping)}
    reader, task = RunReader(run), file.stem
    result = next((result for result in reader.results if result.task == task), None)
    if result is None:
        return []
    records = [
        record
        for scorer in reader.scorers(task, result.model)[:1]
        for record in reader.scores(task, result.model, scorer)
    ]
    # The id of a sample is its key; in a dialogue, `#` and the round follow.
    key_of = {record.id: record.id.partition("#")[0] for record in records}
    failures: dict[str, Fields] = {}
    for record in records:
        if record.outcome in UNRESOLVED:
            details = record.details
            reason = details.get("error") or details.get("reason") or "no answer"
            failures[record.id] = {"outcome": str(record.outcome), "error": str(reason)}
    if keys and keys <= set(key_of.values()):  # otherwise the file has other data
        for id, key in key_of.items():
            if key not in keys:
                failures.setdefault(id, REMOVED)
    for number in range(len(records), result.n_expected or 0):
        failures[f"(not asked {number + 1})"] = NEVER_ASKED
    return [
        {"key": id, UNANSWERED: failure}
        for id, failure in failures.items()
        if id not in keys
    ]


def _rows_of(file: Path) -> Iterator[object]:
    return (row for _, _, row in open_file(file).rows())


def lines_in(
    rows: object,
    reader: ReadLine,
) -> Iterator[tuple[str, Fields]]:
    """Yield the id of each sample in a prediction file with its line. Rows without a prediction are left out."""
    for sample in open_dataset(rows, to_sample=reader, where="predictions"):
        if isinstance(sample, Sample) and UNANSWERED not in sample.fields:
            yield sample.id, sample.fields[LINE]


def ask_for_line(sample: Sample) -> Prompt:
    """Return the question of a prediction line as a prompt. Without a question in the file, the prompt is empty."""
    return Prompt((Message("user", (Text(str(sample.input)),)),))


@dataclass(frozen=True)
class Predictions:
    """A model that returns the predictions in a file, in place of the model that wrote them."""

    name: str
    folder: Path = field(compare=False)
    """The folder for relative audio paths that do not exist in the working folder."""
    is_upstream: bool = False
    """True to judge also lines without an answer, as upstream does."""
    abilities: Abilities = field(
        default=Abilities(frozenset({"text", "audio"}), frozenset({"text", "audio"})),
        compare=False,
    )

    @property
    def identity(self) -> Fields:
        """The identity of these predictions: the name of the file.

        The predictions themselves are part of each request.
        """
        return {"dialect": "televal", "predictions": self.name}

    def prompt(
        self,
        sample: Sample,
        prompt: Prompt,
    ) -> Prompt:
        """Add the prediction to the prompt, so that a changed prediction is a new request."""
        line = sample.fields[LINE]
        answer = {"pred": line["pred"], "pred_audio": line.get("pred_audio")}
        if UNANSWERED in sample.fields:
            answer["error"] = sample.fields[UNANSWERED]
        return with_head(prompt, answer)

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Return the predictions in the file as answers."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Output:
        answer = head_of(request)
        reason = ""
        if "error" in answer:
            reason = f"--mode infer did not answer it: {answer['error']}"
        elif answer.get("pred") is None and not self.is_upstream:
            reason = "the line has no prediction"
        if reason:
            return Output.failed("missing", reason, retryable=False)
        spoken = answer.get("pred_audio")
        paths: list[Path] = []
        if spoken and isinstance(spoken, str):
            paths = [Path(spoken).resolve(), (self.folder / spoken).resolve()]
        return spoken_output(answer["pred"], *paths)
