"""Write VLMEvalKit's files from a run: predictions, score tables, `status.json`, and links in the parent folder."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...code.userfiles import file_digest
from ...core import Output, Sample, ScoreRecord, Task
from ...datasets import Samples
from ...datasets.tsv_images import LONGEST_REFERENCE, is_blank
from ...runner.result import RunResult
from ...scorers.vision.mmvet import MmVet
from ...scorers.vision.vlmeval_published import MmVetVlmeval
from ...store import RunReader
from ...store.file_ledger import FileLedger
from ..kits.evaluation_files import evaluation_files, link_up, table_digest
from ..kits.imported_answers import samples_of
from ..kits.smp.file import get_eval_file_format, get_pred_file_format
from ..run_answers import answered
from ..shapes import Fields
from .dataset_facts import SNAPSHOT, is_mme
from .evaluating import model_label, plain_cell, prediction_of
from .rules import chosen_rules
from .score_files import (
    choice_files,
    prediction_frame,
    prefetch_files,
    prefetch_rating,
    put_frame,
    put_table,
    yes_no_files,
    yes_no_frame,
)
from .vlmeval_ratings import capability_tables
from .vlmeval_scoring import YES_NO, rule_record

if TYPE_CHECKING:
    from pandas import DataFrame


class Predictions:
    """The content of a prediction file: the answered rows of one model on one dataset.

    It can be iterated repeatedly.
    """

    def __init__(
        self,
        reader: RunReader,
        task: Task,
        model: str,
        samples: Samples,
    ) -> None:
        self._reader = reader
        cell = reader.index.cell(task.name, model)
        self._answers = cell.answers
        self._samples = samples
        hints = task.hints
        self._is_dialogue = hints.get("type") == "MT"
        self.dataset = str(hints.get("dataset", task.name))
        self._own = self._columns_of(samples)
        self._has_index = "index" in self._own

    @staticmethod
    def _columns_of(samples: Samples) -> list[str]:
        """Return the columns of the first usable row, without `image` and an existing `prediction`."""
        for sample in samples:
            if isinstance(sample, Sample):
                hidden = ("image", "prediction")
                return [name for name in sample.fields if name not in hidden]
        return []

    @property
    def columns(self) -> list[str]:
        """The columns of the prediction file: those of the dataset except the image, and the prediction."""
        if self._has_index:
            index = []
        else:
            index = ["index"]
        return [*index, *self._own, "prediction"]

    def rows(self) -> Iterator[list[Any]]:
        """Yield the cells of each answered row, in the order of `columns`."""
        for sample, text in self.answered():
            if self._has_index:
                index = []
            else:
                index = [sample.id]
            cells = [plain_cell(sample.fields.get(name)) for name in self._own]
            yield [*index, *cells, text]

    def frame(self) -> "DataFrame":
        """Return the rows with their predictions as a data frame."""
        return prediction_frame(self.columns, self.rows())

    def answered(self) -> Iterator[tuple[Sample, str]]:
        """Yield each answered sample with its answer; for a dialogue, with its answers as a Python list literal."""
        for sample, stored in answered(self._samples, self._answers):
            texts = []
            for answer in stored:
                if answer is None:
                    candidates = ()
                else:
                    candidates = self._reader.index.output(answer).output.get(
                        "candidates", ()
                    )
                texts.append(str(candidates[0].get("text", "")) if candidates else "")
            if self._is_dialogue:
                yield sample, prediction_of(Output(details={"rounds": texts}), True)
            else:
                yield sample, texts[-1]


def write_files(
    folder: Path,
    stem: str,
    task: Task,
    data: str | None,
    run_folder: Path,
    result: RunResult,
    *,
    documented: bool = False,
    imported: str | None = None,
) -> list[str]:
    """Write VLMEvalKit's files for one model on one dataset, and return their names.

    `documented` selects the formats of VLMEvalKit's documented revision. `imported` is
    the digest of the prediction file from which the answers were read, if any.
    """
    reader = RunReader(run_folder)
    samples = samples_of(task, data)
    if not data:
        write_snapshot(run_folder, samples)
    model = next(
        cell["model"] for cell in reader.manifest["cells"] if cell["task"] == task.name
    )
    table_rows = Predictions(reader, task, model, samples)
    predictions = f"{stem}.{get_pred_file_format()}"
    digest = table_digest(table_rows.columns, table_rows.rows())
    # Keep tables of other judges, if they were made from these predictions.
    with evaluation_files(folder, f"{stem}#tables", digest, digest):
        names = _ScoreTables(
            folder,
            stem,
            task,
            reader,
            model,
            table_rows,
            documented,
        ).write()
    if f"{stem}.{get_pred_file_format()}" not in names:
        put_table(folder / predictions, table_rows.columns, table_rows.rows())
        names = [predictions, *names]
    digests = [file_digest(folder / predictions)]
    if imported is not None:
        digests.append(imported)
    else:
        digests += sorted(noted_digests(folder, task.name))
    if documented:
        revision = "documented"
    else:
        revision = "newest"
    _write_status(folder, task.name, result, names, revision, digests)
    files = [path.name for path in folder.glob(f"{escape(stem)}*") if path.is_file()]
    for name in sorted({*names, *files}):
        link_up(folder / name)
    _unlink_dangling(folder.parent)
    return names


@dataclass(frozen=True)
class _ScoreTables:
    """Writes the scores of assay's own scorers to files in VLMEvalKit's formats."""

    folder: Path
    stem: str
    task: Task
    reader: RunReader
    model: str
    predictions: Predictions
    documented: bool

    def write(self) -> list[str]:
        """Write the score tables and return their file names."""
        scorers = self.reader.scorers(self.task.name, self.model)
        scorer_names = {
            getattr(scorer, "name", "") or type(scorer).__name__
            for scorer in self.task.scorers
        }
        names: list[str] = []
        if "exact_matching" in scorer_names:
            names += prefetch_files(self.folder, self.stem, self.predictions.answered())
        if scorer_names & YES_NO:
            names += self._yes_no(
                [scorer for scorer in scorers if scorer in {*YES_NO, "judge"}]
            )
        for scorer in scorers:
            if scorer == "exact_matching" or (
                scorer == "judge" and not scorer_names & YES_NO
            ):
                names += self._choice(scorer)
            elif scorer in self._mmvet_scorers:
                records, frame = self._records(scorer), self.predictions.frame()
                names += mmvet_files(
                    self.folder,
                    self.stem,
                    model_label(self._judge),
                    records,
                    frame,
                )
        return names

    @property
    def _mmvet_scorers(self) -> set[str]:
        """Names of the task's scorers that grade MM-Vet, by assay's or VLMEvalKit's rules."""
        return {
            str(getattr(scorer, "name", "") or type(scorer).__name__)
            for scorer in self.task.scorers
            if isinstance(scorer, (MmVet, MmVetVlmeval))
        }

    def _records(self, scorer: str) -> Sequence[ScoreRecord]:
        return self.reader.scores(self.task.name, self.model, scorer)

    def _choice(self, scorer: str) -> list[str]:
        is_judged = scorer == "judge"
        # The documented revision calls every OpenAI judge `openai` here, but uses its name for MM-Vet.
        is_openai = self._judge.startswith("openai/") or (
            self.documented and chosen_rules().calls_judges_openai
        )
        if is_judged:
            label = "openai" if is_openai else model_label(self._judge)
        else:
            label = scorer
        return choice_files(
            self.folder,
            self.stem,
            label,
            self._records(scorer),
            self.predictions.frame(),
            is_judged=is_judged,
            documented=self.documented,
        )

    def _yes_no(self, scorers: Sequence[str]) -> list[str]:
        """Write the files of a yes-or-no benchmark, including the judge's results if there are any.

        For MME, VLMEvalKit's documented revision also replaces the answers in the
        prediction file by the words read from them.
        """
        frame = self.predictions.frame()
        names: list[str] = []
        if self.documented and is_mme(self.predictions.dataset):
            by_rule = yes_no_frame(
                frame,
                self._rule_records(frame, scorers),
                documented=True,
            )
            names.append(
                put_frame(
                    self.folder / f"{self.stem}.{get_pred_file_format()}", by_rule
                )
            )
            names += prefetch_rating(
                self.folder,
                self.stem,
                self.predictions.dataset,
                by_rule,
            )
        if scorers:
            if "judge" in scorers:
                chosen = "judge"
            else:
                chosen = scorers[-1]
            names += yes_no_files(
                self.folder,
                self.stem,
                self.predictions.dataset,
                self._records(chosen),
                frame,
                documented=self.documented,
            )
        return names

    def _rule_records(
        self,
        frame: object,
        scorers: Sequence[str],
    ) -> Sequence[ScoreRecord]:
        """Return the scores by the yes-or-no rule alone. If the run has none, compute them now."""
        rule = next((scorer for scorer in scorers if scorer != "judge"), None)
        if rule is not None:
            return self._records(rule)
        return [
            rule_record(self.task, sample, text)
            for sample, text in self.predictions.answered()
        ]

    @property
    def _judge(self) -> str:
        return str(
            self.reader.manifest.get("config", {}).get("judges", {}).get("judge")
            or "judge"
        )


def mmvet_files(
    folder: Path,
    stem: str,
    judge: str,
    records: Sequence[ScoreRecord],
    frame: "DataFrame",
) -> list[str]:
    """Write MM-Vet's files and return their names.

    They contain all predictions with their grades and the judge's replies, and the mean
    grades by capability and by combination of capabilities.
    """
    graded = {record.id: record for record in records}
    values: list[float | None] = []
    logs, grades = [], []
    for index in frame["index"]:
        record = graded.get(str(index))
        if record is None:
            values.append(None)
            logs.append("")
            continue
        values.append(record.value)
        logs.append("\n".join(map(str, record.details.get("replies", ()))))
        if record.value is not None:
            grades.append((str(record.tags.get("category", "")), record.value))
    table = frame.assign(score=values, log=logs)
    names = [put_frame(folder / f"{stem}_{judge}.{get_pred_file_format()}", table)]
    if grades:
        twice = chosen_rules().counts_capabilities_twice
        tables = capability_tables(grades, counts_twice=twice)
        for kind, means in zip(("score", "score_fine"), tables, strict=True):
            file = f"{stem}_{judge}_{kind}.{get_eval_file_format()}"
            names.append(put_frame(folder / file, means))
    return names


def write_snapshot(run_folder: Path, samples: Samples) -> None:
    """Save the rows of a run without images in its folder, so that a judge can score the run on another machine."""
    path = FileLedger(run_folder).claim(run_folder / SNAPSHOT)
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for sample in samples:
            if isinstance(sample, Sample):
                row = {
                    name: cell
                    for name, cell in sample.fields.items()
                    if name != "image" or _is_reference(cell)
                }
                file.write(
                    json.dumps(
                        row,
                        ensure_ascii=False,
                        default=str,
                    )
                    + "\n"
                )


def _is_reference(cell: object) -> bool:
    """Return True if an image cell refers to another row by its index, as rotated copies of a question do."""
    return not is_blank(cell) and len(str(cell)) <= LONGEST_REFERENCE


def _noted(folder: Path, dataset: str) -> Fields:
    """Return the entry of a dataset in a folder's `status.json`; empty if there is none."""
    try:
        entry = json.loads((folder / "status.json").read_bytes())[dataset]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    if isinstance(entry, dict):
        return entry
    return {}


def noted_revision(folder: Path, dataset: str) -> str | None:
    """Return the VLMEvalKit revision in whose formats a dataset's files were written, from `status.json`."""
    return _noted(folder, dataset).get("revision")


def noted_digests(folder: Path, dataset: str) -> frozenset[str]:
    """Return the digests of the prediction files that runs on a dataset have read or written, from `status.json`."""
    return frozenset(_noted(folder, dataset).get("predictions_sha256", ()))


def _write_status(
    folder: Path,
    dataset: str,
    result: RunResult,
    files: Sequence[str],
    revision: str,
    digests: Sequence[str],
) -> None:
    path = FileLedger(folder).claim(folder / "status.json")
    if path.exists():
        status = json.loads(path.read_text("utf-8"))
    else:
        status = {}
    status[dataset] = {
        "status": result.status,
        "metrics": {r.metric: r.value for r in result.results},
        "failures": {r.metric: dict(r.outcomes) for r in result.results},
        "files": list(files),
        "revision": revision,
        "predictions_sha256": list(dict.fromkeys(digests)),
    }
    path.write_text(
        json.dumps(
            status,
            indent=2,
            ensure_ascii=False,
            default=str,
        ),
        "utf-8",
    )


def _unlink_dangling(home: Path) -> None:
    """Remove assay's links in a model's folder whose target files no longer exist."""
    ledger = FileLedger(home)
    for link in home.iterdir():
        if link.is_symlink() and not link.exists() and ledger.holds(link):
            link.unlink()
