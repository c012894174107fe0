"""Export a run as the results file of lm-eval."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ..core import Result
from ..core.errors import plural
from ..store import RunReader
from .exporter import Cell, cells_of, hub_name, only_model, write_json_output


class LmEvalJson:
    """Exports the metrics of one model under the keys of lm-eval's results files."""

    file_name = "results.json"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write the results file of one model."""
        document = lm_eval_document(reader, model)
        write_json_output(path, document)
        return plural(len(document["results"]), "task")


def lm_eval_document(
    reader: RunReader,
    model: str | None = None,
) -> dict[str, Any]:
    """Return the metrics of one model in the format of lm-eval. `model` is required if
    the run has several.

    `versions` contains the protocol of each task, and `n-samples` the numbers of
    expected and counted samples. Values that lm-eval does not have, such as intervals
    and failures, are in the metadata of each task's config.
    """
    name = only_model(reader, model, "an lm-eval file")
    cells = {cell.task: cell for cell in cells_of(reader, name)}
    manifest = reader.manifest_if_any
    config = dict(manifest.get("config", {}))
    config.pop("models", None)
    config["model"] = name
    # Tools that read these files take the organisation from the name of the weights.
    config["model_args"] = {
        "pretrained": hub_name(name),
        **config.get("model_args", {}),
    }
    results = {}
    for task, cell in cells.items():
        results[task] = {"alias": task, **_metrics(cell.results)}
    return {
        "results": results,
        "group_subtasks": {task: [] for task in cells},
        "configs": {task: _config(cell) for task, cell in cells.items()},
        "versions": {
            task: cell.results[0].protocol or task for task, cell in cells.items()
        },
        "n-shot": {
            task: cell.described.get("num_fewshot", 0) for task, cell in cells.items()
        },
        "higher_is_better": {
            task: {row.metric: row.higher_is_better for row in cell.results}
            for task, cell in cells.items()
        },
        "n-samples": {task: _counts(cell.results) for task, cell in cells.items()},
        "config": config,
        "git_hash": (manifest.get("git") or {}).get("commit"),
        "date": _timestamp(manifest.get("started")),
        "task_hashes": {
            task: cell.described.get("data_sha256", "") for task, cell in cells.items()
        },
        "model_name": name,
    }


def _timestamp(started: object) -> float | None:
    """Return the start time of a run in seconds since 1970, as in lm-eval's files; None if it is unknown."""
    try:
        return datetime.fromisoformat(str(started)).timestamp()
    except ValueError:
        return None


def _metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the metrics of a task under keys such as `acc,none` and `acc_stderr,none`.

    In lm-eval the name of a filter follows the comma; assay has no filters.
    """
    named: dict[str, Any] = {}
    for result in results:
        stderr = "N/A" if result.stderr is None else result.stderr
        named[f"{result.metric},none"] = result.value
        named[f"{result.metric}_stderr,none"] = stderr
    return named


def _config(cell: Cell) -> dict[str, Any]:
    described = cell.described
    return {
        "task": cell.task,
        "num_fewshot": described.get("num_fewshot", 0),
        "repeats": described.get("epochs", 1),
        "generation_kwargs": described.get("options", {}),
        "metadata": {
            "protocol": described.get("protocol"),
            "scorers": described.get("scorers", {}),
            "numbers": {result.metric: _number(result) for result in cell.results},
        },
    }


def _number(result: Result) -> dict[str, Any]:
    """Return the properties of a metric that lm-eval does not have: interval, method, counts and failures."""
    return {
        "ci": list(result.ci) if result.ci else None,
        "interval": result.interval,
        "n": result.n,
        "n_expected": result.n_expected,
        "outcomes": dict(result.outcomes),
        "flags": list(result.flags),
    }


def _counts(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "original": results[0].n_expected,
        "effective": max(result.n for result in results),
    }
