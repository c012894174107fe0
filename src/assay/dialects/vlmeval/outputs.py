"""The files VLMEvalKit promises, made from a run: predictions, score tables, `status.json`, links one level up."""

import json
import os
from collections.abc import Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from ...core import Output, Sample, Task
from ...datasets import open_dataset
from ...datasets.tsv_images import LONGEST_REFERENCE, is_blank
from ...runner.result import RunResult
from ...store import RunReader
from ...store.file_ledger import FileLedger
from ..kits.evaluation_files import evaluation_files, table_digest
from .evaluating import model_label, prediction_of
from .formats import prediction_format
from .kinds import is_mme
from .places import SNAPSHOT
from .score_files import choice_files, mme_files, mmvet_files, prefetch_file, put_table, yes_no_cells


class Predictions:
    """The answered rows of one model on one dataset, as often as they are asked for."""

    def __init__(self, reader: RunReader, task: Task, model: str, samples: Any) -> None:
        self._reader = reader
        self._answers = reader.index.cell(task.name, model).answers
        self._samples = samples
        self._is_dialogue = task.hints.get("type") == "MT"
        self.is_mme = is_mme(str(task.hints.get("dataset", task.name)))
        first = next((sample for sample in samples if isinstance(sample, Sample)), None)
        names = first.fields if first is not None else ()
        self._own = [name for name in names if name not in ("image", "prediction")]

    @property
    def columns(self) -> list[str]:
        """Every column of the table but the picture, and what was answered."""
        return [*self._own, "prediction", *(["raw_prediction", "score"] if self.is_mme else [])]

    def rows(self) -> Iterator[list[Any]]:
        """The cells of each answered row."""
        for sample, text in self.answered():
            own = [sample.fields.get(name) or None for name in self._own]
            yield [*own, *(yes_no_cells(sample, text) if self.is_mme else [text])]

    def answered(self) -> Iterator[tuple[Sample, str]]:
        """The samples that were answered, with their answers as files carry them."""
        for sample in self._samples:
            stored = self._answers.get((sample.id, 0)) if isinstance(sample, Sample) else None
            if not stored or stored[-1] is None or stored[-1].failed:
                continue
            texts = []
            for answer in stored:
                found = () if answer is None else self._reader.index.output(answer).output.get("candidates", ())
                texts.append(str(found[0].get("text", "")) if found else "")
            if self._is_dialogue:
                yield sample, prediction_of(Output(details={"rounds": texts}), True)
            else:
                yield sample, texts[-1]


def write_files(
    folder: Path, stem: str, task: Task, data: str | None, run_folder: Path, result: RunResult
) -> list[str]:
    """All promised files of one model on one dataset; returns their names."""
    reader = RunReader(run_folder)
    source = task.dataset.reading_from(data) if hasattr(task.dataset, "reading_from") else data or task.dataset
    samples = open_dataset(source, to_sample=task.to_sample, where=f"task {task.name!r}")
    if not data:
        write_snapshot(run_folder, samples)
    model = next(cell["model"] for cell in reader.manifest["cells"] if cell["task"] == task.name)
    made = Predictions(reader, task, model, samples)
    predictions = f"{stem}.{prediction_format()}"
    put_table(folder / predictions, made.columns, made.rows())
    digest = table_digest(made.columns, made.rows())
    # Tables of a judge that is not asked this time stay as long as they are about these predictions.
    with evaluation_files(folder, f"{stem}#tables", digest, digest):
        names = [predictions, *_score_tables(folder, stem, task, reader, model, made, result)]
    _write_status(folder, task.name, result, names)
    written = [path.name for path in folder.glob(f"{escape(stem)}*") if path.is_file()]
    for name in sorted({*names, *written}):
        _link(folder, name)
    _unlink_dangling(folder.parent)
    return names


def _score_tables(
    folder: Path, stem: str, task: Task, reader: RunReader, model: str, made: Predictions, result: RunResult
) -> list[str]:
    """What our own scorers have to say, in upstream's files."""
    names: list[str] = []
    judge = str(reader.manifest.get("config", {}).get("judges", {}).get("judge") or "judge")
    scorers = reader.scorers(task.name, model)
    if any(getattr(scorer, "name", "") == "exact_matching" for scorer in task.scorers):
        names += prefetch_file(folder, stem, made.answered())
    for scorer in scorers:
        records = reader.scores(task.name, model, scorer)
        if made.is_mme and scorer in ("yes_no", "YesNo", "judge"):
            if scorer == "judge" or "judge" not in scorers:
                names += mme_files(folder, stem, records, result.results, made.columns, made.rows())
        elif scorer in ("exact_matching", "judge"):
            # The documented revision calls every judge of OpenAI `openai` here, and by its name with MM-Vet.
            label = "openai" if judge.startswith("openai/") else model_label(judge)
            names += choice_files(folder, stem, scorer, label, records)
        elif scorer == "mmvet":
            names += mmvet_files(folder, stem, model_label(judge), records, result.results, made.columns, made.rows())
    return names


def write_snapshot(run_folder: Path, samples: Any) -> None:
    """Keeps the rows of a run, so that they can be judged elsewhere."""
    path = FileLedger(run_folder).claim(run_folder / SNAPSHOT)
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for sample in samples:
            if isinstance(sample, Sample):
                row = {name: cell for name, cell in sample.fields.items() if name != "image" or _is_reference(cell)}
                file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


def _is_reference(cell: Any) -> bool:
    """Whether an image cell names another row: that tells which questions are rotations of one."""
    return not is_blank(cell) and len(str(cell)) <= LONGEST_REFERENCE


def _write_status(folder: Path, dataset: str, result: RunResult, files: Sequence[str]) -> None:
    path = FileLedger(folder).claim(folder / "status.json")
    status = json.loads(path.read_text("utf-8")) if path.exists() else {}
    status[dataset] = {
        "status": result.status,
        "metrics": {r.metric: r.value for r in result.results},
        "failures": {r.metric: dict(r.outcomes) for r in result.results},
        "files": list(files),
    }
    path.write_text(json.dumps(status, indent=2, ensure_ascii=False, default=str), "utf-8")


def _link(folder: Path, name: str) -> None:
    """A link one level up to the newest file of that name; what others put in its place is left alone."""
    link, ledger = folder.parent / name, FileLedger(folder.parent)
    if ledger.holds(link) or not os.path.lexists(link):
        ledger.claim(link).unlink(missing_ok=True)
        os.symlink(Path(folder.name) / name, link)


def _unlink_dangling(home: Path) -> None:
    """Removes our links to files that are no longer there."""
    ledger = FileLedger(home)
    for link in home.iterdir():
        if link.is_symlink() and not link.exists() and ledger.holds(link):
            link.unlink()
