"""The interface of an exporter, the exporters of tables, and functions that several exporters use."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..core import (
    DataSource,
    OutputRecord,
    Result,
    ScoreRecord,
    Suite,
    Task,
    UsageError,
)
from ..core.record import with_whole_prompts
from ..core.score import UNRESOLVED
from ..datasets.hub import HubName, is_hub_name
from ..registry import models, tasks
from ..store import RunReader
from ..store.export import places_of, write_csv, write_parquet
from ..store.file_ledger import write_output_text
from ..store.layout import disk_error


class Exporter(Protocol):
    """The interface for classes that write a run in the format of another tool."""

    file_name: str
    """The name of the file or folder in the run folder. It is used unless the user sets `-o`."""

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write the run to `path`, and return a description of what was written, such as "2 tasks".

        `model` selects one of several models. With None, all are exported, or an error
        is raised if the format supports only one.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """One task × model of a run, with its metrics."""

    task: str
    model: str
    results: tuple[Result, ...]
    described: dict[str, Any]
    """The entry of this task × model in `run.json`; empty if it has none."""

    @property
    def failures(self) -> dict[str, int]:
        """The number of samples without a verdict, by outcome, for the first metric."""
        if not self.results:
            return {}
        outcomes = self.results[0].outcomes
        return {
            str(outcome): outcomes[str(outcome)]
            for outcome in UNRESOLVED
            if outcomes.get(str(outcome))
        }


def finished_results(
    reader: RunReader,
    model: str | None = None,
) -> list[Result]:
    """Return the metrics of a run, or only those of `model`. Raise if there are none."""
    results = reader.results
    where = str(reader.layout.folder)
    if not results:
        raise UsageError(
            "the run has no results yet",
            where=where,
            fix="finish the run with `assay run`",
        )
    if model is None:
        return results
    chosen = [result for result in results if result.model == model]
    if not chosen:
        raise _no_such_model(model, model_names(results))
    return chosen


def check_model(
    reader: RunReader,
    model: str | None,
) -> None:
    """Raise if the run has no such model.

    The run need not have results, because tables of answers can be exported without them.
    """
    names = list(dict.fromkeys(name for _, name in reader.index.cells))
    if model is not None and model not in names:
        raise _no_such_model(model, names)


def _no_such_model(model: str, names: Iterable[str]) -> UsageError:
    fix = f"choose one of {', '.join(names)}"
    return UsageError(f"the run has no model {model!r}", fix=fix)


def only_model(
    reader: RunReader,
    model: str | None,
    file: str,
) -> str:
    """Return the model to export to a file that supports only one.

    Raise if the run has several models and `model` is not set.
    """
    names = model_names(finished_results(reader, model))
    if len(names) > 1:
        raise UsageError(
            f"{file} holds one model",
            where=str(reader.layout.folder),
            fix=f"--model {names[0]}",
        )
    return names[0]


def model_names(results: Iterable[Result]) -> list[str]:
    """Return the distinct models of some results in their order."""
    return list(dict.fromkeys(result.model for result in results))


def cells_of(
    reader: RunReader,
    model: str | None = None,
) -> list[Cell]:
    """Return every task × model of a run with its metrics."""
    results = finished_results(reader, model)
    described: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in reader.manifest_if_any.get("cells", ()):
        described[entry["task"], entry["model"]] = entry

    numbers: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        key = (result.task, result.model)
        numbers.setdefault(key, []).append(result)

    cells = []
    for key, rows in numbers.items():
        task, name = key
        entry = dict(described.get(key, {}))
        cells.append(Cell(task, name, tuple(rows), entry))
    return cells


@dataclass(frozen=True, slots=True)
class ExportedSample:
    """One sample in one epoch, with its rounds and with the verdicts that the last summary counted."""

    id: str
    epoch: int
    """The repeat of the sample, counted from 0."""
    rounds: list[OutputRecord]
    scores: list[ScoreRecord]

    @property
    def error(self) -> str | None:
        """The reason why an answer or a verdict is missing; None if nothing failed."""
        if self.rounds and (error := self.rounds[-1].output.get("error")):
            return f"{error['kind']}: {error['message']}"
        for score in self.scores:
            if score.outcome in UNRESOLVED:
                return f"{score.outcome}: {score.details.get('error', 'no verdict')}"
        return None


def samples_of(
    reader: RunReader,
    task: str,
    model: str,
) -> Iterator[ExportedSample]:
    """Yield the samples of a task × model one at a time, in natural order of their ids."""
    cell = reader.index.cell(task, model)
    view = reader.view(task, model)
    scored = [cell.scores[scorer] for scorer in reader.scorers(task, model)]
    for key in places_of(cell):
        if key not in view:
            continue
        rounds = with_whole_prompts(reader.rounds(task, model, key))
        scores = []
        for verdicts in scored:
            if key in verdicts:
                offset = verdicts[key][0]
                scores.append(reader.index.score(offset))
        if rounds or scores:
            id, epoch = key
            yield ExportedSample(id, epoch, rounds, scores)


def write_json_output(path: Path, document: object) -> None:
    """Write a JSON file completely or not at all. Raise if the file exists and assay did not write it."""
    text = json.dumps(
        document,
        indent=2,
        ensure_ascii=False,
        default=str,
    )
    write_output_text(path, text + "\n")


def folder_for(path: Path) -> Path:
    """Return `path` as a folder, and create it if necessary. Raise if it is a file."""
    if path.exists() and not path.is_dir():
        raise UsageError(
            "this is a file",
            where=str(path),
            fix="name a folder with -o",
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, path) from error
    return path


def file_stem(*names: str) -> str:
    """Return a file name joined from several names. Characters other than letters, digits, `.` and `-` are replaced."""
    return "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.") for name in names)


LOCAL = "local"
"""Organisation name for models without one: files of the user, and models of unknown origin."""
WEIGHTS = ("hf", "vllm", "diffusers", "gguf")
"""Prefixes of model names such as `hf/NAME`. A hub id or a path to weights follows the prefix."""


def hub_name(model: str) -> str:
    """Return a model's name as `organisation/name`: its hub id, `service/name` for a service, or `local/name`."""
    scheme, slash, rest = model.partition("/")
    if not slash or scheme not in models:
        return _local_name(model)
    if scheme not in WEIGHTS:
        return f"{scheme}/{_plain_name(rest)}"

    looks_like_id = rest.count("/") == 1 and not rest.startswith((".", "/", "~"))
    if looks_like_id and not Path(rest).exists():
        return rest
    return _local_name(rest)


def _local_name(path: str) -> str:
    """Return `local/NAME`, where NAME is the last part of a path."""
    name = Path(path).name
    return f"{LOCAL}/{_plain_name(name)}"


def _plain_name(text: str) -> str:
    """Return a name in which characters other than letters, digits, `.`, `_` and `-` are replaced."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "model"


def is_self_deployed(model: str) -> bool | None:
    """Return True for a model that runs on this machine, False for a service; None if it is unknown."""
    scheme = model.partition("/")[0]
    if scheme in ("anthropic", "gemini", "litellm"):
        return False
    if scheme in ("openai", "replay", "predictions"):
        return None
    return True


def hub_data(
    task: str,
    files: list[str],
) -> HubName | None:
    """Return the hub dataset that contains a task's rows.

    It is named in `files` or declared by the benchmark. Otherwise return None.
    """
    for file in files:
        if is_hub_name(file):
            return HubName.of(file)
    name = task.partition("@")[0]
    if name not in tasks:
        return None
    shipped = tasks.get(name)
    if callable(shipped) and not isinstance(shipped, (Task, Suite)):
        shipped = shipped()
    if isinstance(shipped, Task):
        source = shipped.dataset
    else:
        source = None
    if isinstance(source, DataSource) and source.hub:
        config, split = source.config or None, source.split or None
        return HubName(source.hub, config, split=split)
    return None


class SampleTable:
    """Exports a file with one row per sample and scorer. Subclasses choose its format."""

    file_name: ClassVar[str]
    write_rows: "ClassVar[staticmethod[[RunReader, Path, str | None], int]]"
    """Writes the rows and returns their number."""

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write the rows of one model, or of all models. The column `model` has the model of each row."""
        check_model(reader, model)
        return f"{self.write_rows(reader, path, model)} rows"


class Csv(SampleTable):
    """Exports a CSV file, safe to open in a spreadsheet."""

    file_name = "samples.csv"
    write_rows = staticmethod(write_csv)


class Parquet(SampleTable):
    """Exports a Parquet file with unchanged texts."""

    file_name = "samples.parquet"
    write_rows = staticmethod(write_parquet)
