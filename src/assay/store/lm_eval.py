"""The numbers of a run under the keys that readers of lm-eval's results files look for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..core import UsageError
from .runs import RunReader


def lm_eval_document(reader: RunReader, model: str | None = None) -> dict[str, Any]:
    """The numbers under the keys lm-eval's readers look for; its file holds one model, so of several one is chosen.

    `versions` says by which protocol a task was measured; `n-samples` has the samples expected and those counted.
    """
    manifest, summary = reader.manifest, reader.summary
    rows = summary.get("results", [])
    names = list(dict.fromkeys(row["model"] for row in rows))
    if not rows:
        raise UsageError(
            "the run has no results yet",
            where=str(reader.layout.folder),
            fix="`assay run` it to its end",
        )
    if model is None and len(names) > 1:
        raise UsageError(
            "an lm-eval file holds one model",
            where=str(reader.layout.folder),
            fix=f"--model {names[0]}",
        )
    if model is not None and model not in names:
        raise UsageError(
            f"the run has no model {model!r}", fix=f"it has {', '.join(names)}"
        )
    chosen = model or names[0]
    rows = [row for row in rows if row["model"] == chosen]
    cells = {
        cell["task"]: cell
        for cell in manifest.get("cells", ())
        if cell["model"] == chosen
    }
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    by_task = {task: [row for row in rows if row["task"] == task] for task in tasks}
    return {
        "results": {task: {"alias": task, **_metrics(by_task[task])} for task in tasks},
        "group_subtasks": {task: [] for task in tasks},
        "configs": {task: _lm_eval_config(cells.get(task, {})) for task in tasks},
        "versions": {task: by_task[task][0].get("protocol") or task for task in tasks},
        "n-shot": {task: cells.get(task, {}).get("num_fewshot", 0) for task in tasks},
        "higher_is_better": {
            task: {row["metric"]: row["higher_is_better"] for row in by_task[task]}
            for task in tasks
        },
        "n-samples": {task: _counts(by_task[task]) for task in tasks},
        "config": {
            "model": chosen,
            **{k: v for k, v in manifest.get("config", {}).items() if k != "models"},
        },
        "git_hash": (manifest.get("git") or {}).get("commit"),
        "date": _timestamp(manifest.get("started")),
        "task_hashes": {
            task: cells.get(task, {}).get("data_sha256", "") for task in tasks
        },
        "model_name": chosen,
    }


def _timestamp(started: Any) -> float | None:
    """Seconds since 1970, as lm-eval dates its files."""
    try:
        return datetime.fromisoformat(str(started)).timestamp()
    except ValueError:
        return None


def _metrics(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`acc,none` and `acc_stderr,none`: the part after the comma is the filter, of which assay has none."""
    named: dict[str, Any] = {}
    for row in rows:
        named[f"{row['metric']},none"] = row["value"]
        named[f"{row['metric']}_stderr,none"] = (
            "N/A" if row["stderr"] is None else row["stderr"]
        )
    return named


def _lm_eval_config(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": cell.get("task"),
        "num_fewshot": cell.get("num_fewshot", 0),
        "repeats": cell.get("epochs", 1),
        "generation_kwargs": cell.get("options", {}),
        "metadata": {
            "protocol": cell.get("protocol"),
            "scorers": cell.get("scorers", {}),
        },
    }


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "original": rows[0]["n_expected"],
        "effective": max(row["n"] for row in rows),
    }
