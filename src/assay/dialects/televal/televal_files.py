"""Write the files that TELEVAL users expect: predictions, results and summaries as JSONL, clips, and one table."""

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...core import Output, Sample, ScoreRecord, Task
from ...datasets import open_dataset
from ...store import RunReader, safe_name
from ...store.file_ledger import FileLedger
from ...store.layout import write_whole
from ..run_answers import answered, output_of
from ..shapes import Fields, Record
from .eras import Era
from .spoken import file_stem
from .structures import encoded
from .televal_lines import info_of, prediction_lines
from .televal_rows import STRUCTURE


class Folder:
    """`<save_dir>`: the folder with the files of all models and tasks."""

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
        """Return assay's run folder for a stage."""
        return self.root / "run" / self._model_folder / label

    def file(self, stage: str, label: str) -> Path:
        """Return the file of a stage: `prediction`, `result` or `summary`."""
        return self.root / stage / self._model_folder / f"{label}.jsonl"

    def sounds(self, label: str) -> Path:
        """Return the folder with the audio clips of a prediction file."""
        return self.root / "prediction" / self._model_folder / label

    def write(
        self,
        stage: str,
        label: str,
        lines: Sequence[Fields],
    ) -> Path:
        """Write a file atomically. An earlier file is replaced only when the new one is complete."""
        file = self.ledger.claim(self.file(stage, label))
        text = "".join(
            json.dumps(
                encoded(line),
                ensure_ascii=False,
                default=str,
            )
            + "\n"
            for line in lines
        )
        write_whole(file, text.encode("utf-8", "replace"))
        return file

    def remove(self, stage: str, label: str) -> None:
        """Remove a file that assay wrote, because its numbers no longer describe the results next to it."""
        file = self.file(stage, label)
        if file.is_file():
            self.ledger.claim(file).unlink()

    def write_table(self) -> Path:
        """Write `results.csv` in TELEVAL's own format: a row for each summary, a column for each model."""
        cells: dict[str, dict[str, str]] = {}
        models: list[str] = []
        for file in sorted(self.root.glob("summary/*/*.jsonl")):
            model = file.parent.name
            if model not in models:
                models.append(model)
            first_line = file.read_text(encoding="utf-8").splitlines()[0]
            statistic = json.loads(first_line)
            text = "".join(f"{value} " for value in statistic.values())
            row = cells.setdefault(file.stem, {})
            row[model] = text
        path = self.ledger.claim(self.root / "results.csv")
        stream = io.StringIO(newline="")
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["", *models])
        table.writerows(
            [name, *(row.get(model, "") for model in models)]
            for name, row in cells.items()
        )
        write_whole(path, stream.getvalue().encode("utf-8", "replace"))
        return path


def predictions_of(
    task: Task,
    reader: RunReader,
    model: str,
    folder: Folder,
    era: Era,
) -> list[Record]:
    """Return the prediction lines of a run in the order of the data, with audio clips under TELEVAL's names."""
    loader = task.to_sample.loader
    lines: list[Record] = []
    for sample, output in _answered(task, reader, model):
        for line in prediction_lines(sample, output, loader, era):
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
    """Return the result lines of a run. If names collide, the evaluator's value replaces the prediction's.

    Upstream's lines contain only the evaluator's dictionary, and there the prediction's value is used.
    """
    scores = {record.id: record for record in reader.scores(task.name, model, scorer)}
    lines = []
    for sample, output in _answered(task, reader, model):
        record = scores.get(sample.id)
        line = prediction_lines(sample, output, None)[0]
        if record is None:
            continue
        if is_upstream and "result" in record.details:
            lines.append({**record.details["result"], **info_of(line)})
        else:
            lines.append(
                {**(info_of(line) if keep_meta_info else {}), **_verdict(record, line)}
            )
    return lines


def _verdict(record: ScoreRecord, line: Fields) -> Record:
    columns: Record = {
        "key": line["key"],
        "pred": line["pred"],
        "ref": line["ref"],
    }
    from .summaries import raw_score

    if "result" in record.details:
        return {**columns, **record.details["result"]}
    if record.outcome in ("judge_error", "data_error", "model_error"):
        reason = record.details.get("reason")
        return {**columns, "score": None, "outcome": record.outcome, "error": reason}
    return {**columns, "score": raw_score(record)}


def _answered(
    task: Task,
    reader: RunReader,
    model: str,
) -> Iterator[tuple[Sample, Output]]:
    """Yield every answered sample with its answer; for a dialogue, the last one with the texts of all."""
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
    source = Path(str(line["pred_audio"]))
    if "nround" in line:
        nround = f"_round{line['nround']}"
    else:
        nround = ""
    target = (
        folder.sounds(label)
        / f"{file_stem(sample.id)}_pred{nround}{source.suffix or '.wav'}"
    )
    if source.is_file():
        folder.ledger.claim(target).unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
    return str(target)
