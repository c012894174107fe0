"""Export results for model repositories on the Hugging Face hub: `.eval_results/*.yaml`, and a model card."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ..core import Result, UsageError
from ..core.errors import plural
from ..datasets.hub import HubName
from ..report import format_value, markdown_text
from ..store import RunReader
from ..store.file_ledger import write_output_text
from .exporter import Cell, cells_of, hub_data, hub_name, only_model


class HfEvalResults:
    """Exports files for a model repository's `.eval_results` folder: for each task with hub data, its first metric."""

    file_name = "eval_results.yaml"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write one YAML file for one model."""
        name = only_model(reader, model, "an .eval_results file")
        entries = []
        for cell in cells_of(reader, name):
            data = _data_of(cell)
            if data is not None and cell.results[0].value is not None:
                entries.append(_entry(reader, cell, data))
        if not entries:
            raise UsageError(
                "no task of the run has a dataset on the hub, which .eval_results files name",
                where=str(reader.layout.folder),
                fix="--to model-card takes any task",
            )
        write_output_text(path, _yaml_text(entries))
        return plural(len(entries), "entry", "entries")


class ModelCard:
    """Exports a model card: the metrics as `model-index` metadata, and as a table with intervals and failures."""

    file_name = "README.md"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write the card of one model."""
        name = only_model(reader, model, "a model card")
        cells = cells_of(reader, name)
        title = hub_name(name)
        index = [{"name": title, "results": [_index_entry(cell) for cell in cells]}]
        metadata = _yaml_text({"model-index": index})
        lines = [
            f"---\n{metadata}---",
            "",
            f"# {title}",
            "",
            "## Evaluation",
            "",
            *_table(cells),
            "",
            f"Measured with assay {_assay_version(reader)}. Every value has its 95 % interval; a sample without a"
            " verdict is counted under failures and is not counted as wrong.",
        ]
        write_output_text(path, "\n".join(lines) + "\n")
        return plural(len(cells), "task")


def _data_of(cell: Cell) -> HubName | None:
    files = cell.described.get("data") or ()
    return hub_data(cell.task, [str(file) for file in files])


def _yaml_text(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def _assay_version(reader: RunReader) -> str:
    return str(reader.manifest_if_any.get("versions", {}).get("assay", ""))


def _entry(
    reader: RunReader,
    cell: Cell,
    data: HubName,
) -> dict[str, Any]:
    result = cell.results[0]
    entry: dict[str, Any] = {
        "dataset": {"id": data.repository, "task_id": data.config or cell.task},
        "value": result.value,
    }
    started = reader.manifest_if_any.get("started")
    if started:
        entry["date"] = str(started)
    notes = [
        f"{result.metric} of {result.protocol or cell.task}",
        _interval_text(result),
        f"n {result.n} of {result.n_expected}",
        f"failures: {_failures_text(result)}",
        f"assay {_assay_version(reader)}",
    ]
    entry["notes"] = ", ".join(notes)
    return entry


def _interval_text(result: Result) -> str:
    if result.ci is None:
        return f"no interval ({result.interval or 'not computed'})"
    low, high = (format_value(end) for end in result.ci)
    return f"95 % interval [{low}, {high}] ({result.interval})"


def _failures_text(result: Result) -> str:
    failures = [
        f"{count} {outcome}"
        for outcome, count in result.outcomes.items()
        if outcome != "scored" and count
    ]
    return " + ".join(failures) or "none"


def _index_entry(cell: Cell) -> dict[str, Any]:
    """Return the metrics of a task × model as an entry of the hub's `model-index` metadata."""
    data = _data_of(cell)
    dataset: dict[str, Any] = {
        "type": data.repository if data else cell.task,
        "name": cell.task,
    }
    if data and data.config:
        dataset["config"] = data.config
    if data and data.split:
        dataset["split"] = data.split
    metrics = []
    for result in cell.results:
        if result.value is None:
            continue
        arguments: dict[str, Any] = {
            "interval": list(result.ci) if result.ci else None,
            "method": result.interval,
            "n": result.n,
            "n_expected": result.n_expected,
            "failures": _failures_text(result),
            "protocol": result.protocol,
        }
        metrics.append(
            {
                "type": result.metric,
                "name": result.metric,
                "value": result.value,
                "args": arguments,
            }
        )
    task = {"type": _task_type(cell), "name": cell.task}
    return {"task": task, "dataset": dataset, "metrics": metrics}


def _task_type(cell: Cell) -> str:
    """Return the hub's name for the type of a task, by what the model produces: text, images or audio."""
    abilities = cell.described.get("abilities") or {}
    produces = set(abilities.get("produces") or ())
    if produces == {"image"}:
        return "text-to-image"
    if produces == {"audio"}:
        return "text-to-speech"
    return "text-generation"


def _table(cells: Sequence[Cell]) -> list[str]:
    lines = [
        "| task | metric | value | 95 % interval | method | n / expected | failures |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        for result in cell.results:
            low_high = ""
            if result.ci is not None:
                low_high = "[{}, {}]".format(*(format_value(end) for end in result.ci))
            columns = (
                result.protocol or result.task,
                result.metric,
                format_value(result.value),
                low_high,
                result.interval,
                f"{result.n} / {result.n_expected}",
                _failures_text(result),
            )
            lines.append(f"| {' | '.join(map(markdown_text, columns))} |")
    return lines
