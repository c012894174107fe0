"""Export a run as log files of inspect_ai, one `.eval` file for each task × model.

A `.eval` file is a zip of JSON files. It is written here without inspect_ai, one sample
at a time, so that large runs need little memory. inspect_ai reads version 2 of the log
in its viewer, its data frames and `inspect score`.
"""

import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..core import OutputRecord, Result, ScoreRecord
from ..core.errors import plural
from ..core.score import UNRESOLVED
from ..store import RunReader
from ..store.export import as_text, candidate_text, prompt_text
from ..store.file_ledger import write_output
from .chat_content import inspect_messages, inspect_output
from .exporter import (
    Cell,
    ExportedSample,
    cells_of,
    file_stem,
    folder_for,
    samples_of,
)

LOG_VERSION = 2
SUMMARY_TEXT = 1000
"""Maximum number of characters of a question or target in the list of samples.

It is limited because the viewer loads the whole list at once.
"""


class Inspect:
    """Exports log files for inspect_ai's viewer, data frames and `inspect score`."""

    file_name = "inspect"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write one `.eval` file for each task × model into the folder `path`.

        If there is only one, write it to `path` itself.
        """
        cells = cells_of(reader, model)
        if path.suffix == ".eval" and len(cells) == 1:
            count = _write_log(reader, cells[0], path)
            return f"{count} samples"
        folder = folder_for(path)
        for cell in cells:
            name = f"{file_stem(cell.task, cell.model)}.eval"
            _write_log(reader, cell, folder / name)
        return plural(len(cells), "log file")


def _write_log(
    reader: RunReader,
    cell: Cell,
    path: Path,
) -> int:
    """Write one log file, and return the number of samples."""
    return write_output(path, lambda draft: _write_zip(reader, cell, draft))


def _write_zip(
    reader: RunReader,
    cell: Cell,
    draft: Path,
) -> int:
    """Write the entries of a log to a zip file: the samples, the list of samples and the header.

    Return the number of samples.
    """
    count = 0
    ids: dict[str, None] = {}
    with (
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive,
        tempfile.TemporaryFile("w+b") as summaries,
    ):
        spec = _spec(reader, cell)
        plan = {"name": "plan", "steps": [], "config": {}}
        start = {"version": LOG_VERSION, "eval": spec, "plan": plan}
        _add(archive, "_journal/start.json", start)
        for sample in samples_of(reader, cell.task, cell.model):
            logged = _logged_sample(reader, cell, sample)
            name = f"samples/{sample.id}_epoch_{sample.epoch + 1}.json"
            _add(archive, name, logged)
            summaries.write(b"," if count else b"[")
            summaries.write(_encode(_summary(logged)))
            ids[sample.id] = None
            count += 1
        summaries.write(b"]" if count else b"[]")
        _copy_into(archive, "summaries.json", summaries)
        spec["dataset"]["samples"] = len(ids)
        spec["dataset"]["sample_ids"] = list(ids)
        _add(archive, "header.json", _header(reader, cell, spec, plan, count))
    return count


def _copy_into(
    archive: zipfile.ZipFile,
    name: str,
    source: IO[bytes],
) -> None:
    """Copy the content of a temporary file into an entry of the zip."""
    source.seek(0)
    with archive.open(name, "w", force_zip64=True) as entry:
        while block := source.read(1 << 20):
            entry.write(block)


def _add(
    archive: zipfile.ZipFile,
    name: str,
    document: Mapping[str, Any],
) -> None:
    archive.writestr(name, _encode(document))


def _encode(document: object) -> bytes:
    text = json.dumps(
        document,
        ensure_ascii=False,
        default=str,
    )
    return text.encode("utf-8", "backslashreplace")


def model_for_inspect(name: str) -> str:
    """Return a model's name with the provider that assay registers in inspect_ai, so that `inspect score` finds it."""
    return f"assay/{name}"


def _spec(reader: RunReader, cell: Cell) -> dict[str, Any]:
    """Return the log's description of the evaluation: task, model, dataset and settings."""
    manifest = reader.manifest_if_any
    described = cell.described
    run_name = reader.layout.folder.resolve().name
    data = described.get("data") or []
    return {
        "run_id": run_name,
        "eval_id": file_stem(run_name, cell.task, cell.model),
        "task_id": file_stem(cell.task, cell.model),
        "created": _timestamp(manifest.get("started")),
        "task": cell.task,
        "task_version": str(described.get("protocol") or cell.task),
        "task_attribs": {},
        "task_args": {},
        "dataset": {
            "name": cell.task,
            "location": str(data[0]) if data else None,
        },
        "model": model_for_inspect(cell.model),
        "model_args": {},
        "model_generate_config": _generate_config(described.get("options") or {}),
        "config": {"epochs": described.get("epochs", 1)},
        "packages": {"assay": str(manifest.get("versions", {}).get("assay", ""))},
        "metadata": {
            "model": cell.model,
            "protocol": described.get("protocol"),
            "data_sha256": described.get("data_sha256"),
            "num_fewshot": described.get("num_fewshot", 0),
            "identity": described.get("identity"),
        },
        "scorers": [{"name": name} for name in described.get("scorers") or ()],
    }


def _generate_config(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the generation options that inspect_ai also has, under the same name."""
    names = ("temperature", "top_p", "top_k", "max_tokens", "seed")
    return {name: options[name] for name in names if options.get(name) is not None}


def _timestamp(moment: object) -> str:
    """Return a time with its UTC offset, in the form that inspect_ai reads."""
    return str(moment) if moment else "1970-01-01T00:00:00+0000"


def _header(
    reader: RunReader,
    cell: Cell,
    spec: Mapping[str, Any],
    plan: Mapping[str, Any],
    count: int,
) -> dict[str, Any]:
    manifest = reader.manifest_if_any
    finished = manifest.get("status") in ("complete", "partial")
    failed = sum(cell.failures.values())
    return {
        "version": LOG_VERSION,
        "status": "success" if finished else "cancelled",
        "eval": spec,
        "plan": plan,
        "results": {
            "total_samples": count,
            "completed_samples": max(count - failed, 0),
            "scores": [_eval_score(reader, cell, result) for result in cell.results],
        },
        "stats": {
            "started_at": _timestamp(manifest.get("started")),
            "completed_at": _timestamp(manifest.get("finished")),
            "model_usage": {},
        },
    }


def _eval_score(
    reader: RunReader,
    cell: Cell,
    result: Result,
) -> dict[str, Any]:
    """Return the log's entry for one metric, with its interval, the interval's method and its failures."""
    scorer = result.metric
    for name in reader.scorers(cell.task, cell.model):
        if result.metric == name or result.metric.startswith(f"{name}."):
            scorer = name
    low, high = result.ci if result.ci is not None else (None, None)
    numbers = {
        "mean": result.value,
        "stderr": result.stderr,
        "ci_low": low,
        "ci_high": high,
    }
    metrics = {
        name: {"name": name, "value": value, "params": {}}
        for name, value in numbers.items()
        if value is not None
    }
    if result.n_expected is None:
        expected = result.n
    else:
        expected = result.n_expected
    return {
        "name": result.metric,
        "scorer": scorer,
        "scored_samples": result.n,
        "unscored_samples": max(expected - result.n, 0),
        "params": {},
        "metrics": metrics,
        "metadata": {
            "interval": result.interval,
            "confidence": 0.95,
            "outcomes": dict(result.outcomes),
            "bounds": list(result.bounds) if result.bounds else None,
            "flags": list(result.flags),
            "higher_is_better": result.higher_is_better,
            "protocol": result.protocol,
        },
    }


def _logged_sample(
    reader: RunReader,
    cell: Cell,
    sample: ExportedSample,
) -> dict[str, Any]:
    """Return the log's entry for one sample: prompt, answer, and verdicts."""
    if sample.rounds:
        last = sample.rounds[-1]
    else:
        last = None
    logged: dict[str, Any] = {
        "id": sample.id,
        "epoch": sample.epoch + 1,
        "input": _question(reader, last),
        "target": _target(last),
        "messages": [],
        "output": {"model": cell.model, "choices": []},
        "scores": dict(_scores(sample.scores)),
        "metadata": _tags(sample.scores),
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }
    if last is not None:
        logged["output"] = inspect_output(last.output, cell.model, reader.blobs)
        logged["messages"] = inspect_messages(last.prompt, reader.blobs)
        answers = [choice["message"] for choice in logged["output"]["choices"]]
        logged["messages"] += answers[:1]
        if usage := logged["output"].get("usage"):
            logged["model_usage"] = {model_for_inspect(cell.model): usage}
        if seconds := last.output.get("seconds"):
            logged["total_time"] = seconds
    if error := sample.error:
        logged["error"] = {"message": error, "traceback": error, "traceback_ansi": ""}
    return logged


def _question(
    reader: RunReader,
    last: OutputRecord | None,
) -> str | list[dict[str, Any]]:
    """Return the prompt as a string if it consists of one text, otherwise as messages."""
    if last is None:
        return ""
    messages = inspect_messages(last.prompt, reader.blobs)
    is_text = len(messages) == 1 and isinstance(messages[0]["content"], str)
    return prompt_text(last.prompt) if is_text else messages


def _target(last: OutputRecord | None) -> str | list[str]:
    if last is None:
        target = None
    else:
        target = last.target
    if isinstance(target, (list, tuple)):
        return [as_text(entry) or "" for entry in target]
    return as_text(target) or ""


def _scores(scores: Sequence[ScoreRecord]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the verdict of each scorer.

    A scorer that failed to give a verdict is left out. The error of the sample has the
    reason.
    """
    for score in scores:
        if score.outcome in UNRESOLVED:
            continue
        values = dict(score.values)
        if len(values) < 2:
            only_value = next(iter(values.values()), 0.0)
        else:
            only_value = None
        logged: dict[str, Any] = {
            "value": only_value if only_value is not None else values,
            "answer": score.answer,
            "metadata": dict(score.details),
        }
        if score.outcome != "scored":
            logged["reason"] = str(score.outcome)
        yield score.scorer, logged


def _tags(scores: Sequence[ScoreRecord]) -> dict[str, Any]:
    if scores:
        return dict(scores[0].tags)
    return {}


def _summary(logged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a sample in the list of samples for inspect_ai's viewer."""
    question = logged["input"]
    if not isinstance(question, str):
        question = " ".join(_message_text(message) for message in question)
    summary: dict[str, Any] = {
        "id": logged["id"],
        "epoch": logged["epoch"],
        "input": question[:SUMMARY_TEXT],
        "target": _shortened(logged["target"]),
        "scores": {
            name: {"value": score["value"], "answer": _shortened(score["answer"])}
            for name, score in logged["scores"].items()
        },
        "metadata": logged["metadata"],
        "model_usage": logged["model_usage"],
        "completed": True,
        "message_count": len(logged["messages"]),
    }
    if "error" in logged:
        summary["error"] = logged["error"]["message"]
    if "total_time" in logged:
        summary["total_time"] = logged["total_time"]
    return summary


def _message_text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return candidate_text({"parts": [part for part in content if "text" in part]})


def _shortened(value: object) -> object:
    if isinstance(value, str):
        return value[:SUMMARY_TEXT]
    return value
