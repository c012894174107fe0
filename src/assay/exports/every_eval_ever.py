"""Export a run in the schema of Every Eval Ever: two files (metrics, samples) per task × model."""

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ..core import Result, ScoreRecord, UsageError
from ..core.errors import plural
from ..core.score import UNRESOLVED
from ..store import RunReader
from ..store.export import as_text, candidate_text, prompt_text
from ..store.file_ledger import write_output
from .exporter import (
    LOCAL,
    Cell,
    ExportedSample,
    cells_of,
    file_stem,
    folder_for,
    hub_data,
    hub_name,
    is_self_deployed,
    samples_of,
    write_json_output,
)

SCHEMA_VERSION = "0.3.0"
LEVEL = 0.95
SHARES = ("wilson", "clopper-pearson", "exact")
"""Prefixes of the names of interval methods that are used for scores between 0 and 1."""


class EveryEvalEver:
    """Exports metrics and samples to files in the layout of Every Eval Ever: `data/TASK/ORG/MODEL/ID.json`."""

    file_name = "every_eval_ever"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write two files for each task × model into the folder `path`."""
        cells = [cell for cell in cells_of(reader, model) if _has_value(cell)]
        if not cells:
            raise UsageError(
                "the run has no number to export",
                where=str(reader.layout.folder),
                fix="a schema of numbers needs at least one",
            )
        root = folder_for(path)
        for cell in cells:
            organisation, _, name = hub_name(cell.model).partition("/")
            parts = ("data", file_stem(cell.task), organisation, name)
            folder = folder_for(root.joinpath(*parts))
            _write_cell(reader, cell, folder, "/".join(parts))
        return plural(len(cells), "evaluation")


def _has_value(cell: Cell) -> bool:
    return any(result.value is not None for result in cell.results)


def _write_cell(
    reader: RunReader,
    cell: Cell,
    folder: Path,
    place: str,
) -> None:
    """Write the samples of a task × model, then its metrics. The metrics file contains
    the digest of the samples file.
    """
    stem = _stable_id(reader, cell)
    evaluation_id = f"{cell.task}/{hub_name(cell.model)}/{_start_time(reader)}"
    samples_file = folder / f"{stem}_samples.jsonl"

    def write_samples(draft: Path) -> tuple[int, str]:
        digest = hashlib.sha256()
        count = 0
        with draft.open("wb") as file:
            for row in _sample_rows(reader, cell, evaluation_id):
                # Escape other characters, because the format's own reader treats U+2028 and similar ones as line ends.
                text = json.dumps(row, default=str)
                line = text.encode("utf-8", "backslashreplace") + b"\n"
                file.write(line)
                digest.update(line)
                count += 1
        return count, digest.hexdigest()

    count, checksum = write_output(samples_file, write_samples)
    document = _document(reader, cell, evaluation_id)
    document["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": f"{place}/{samples_file.name}",
        "hash_algorithm": "sha256",
        "checksum": checksum,
        "total_rows": count,
    }
    write_json_output(folder / f"{stem}.json", document)


def _stable_id(reader: RunReader, cell: Cell) -> str:
    """Return an id that depends only on the run, so that repeated exports are not counted twice.

    It has the form of a random UUID (version 4), which the schema requires.
    """
    manifest = reader.manifest_if_any
    parts = (manifest.get("started"), cell.task, cell.model, manifest.get("journal"))
    digest = hashlib.sha256(json.dumps(parts, default=str).encode()).digest()
    return str(
        uuid.UUID(
            bytes=digest[:16],
            version=4,
        )
    )


def _start_time(reader: RunReader) -> str:
    """Return the time at which the run began, in seconds since 1970."""
    started = reader.manifest_if_any.get("started")
    try:
        return str(int(datetime.fromisoformat(str(started)).timestamp()))
    except ValueError:
        return str(int(time.time()))


def _document(
    reader: RunReader,
    cell: Cell,
    evaluation_id: str,
) -> dict[str, Any]:
    manifest = reader.manifest_if_any
    version = str(manifest.get("versions", {}).get("assay", "unknown"))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "evaluation_timestamp": _start_time(reader),
        "retrieved_timestamp": _start_time(reader),
        "source_metadata": {
            "source_name": "assay",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "assay", "version": version},
        "model_info": _model_info(cell),
        "evaluation_results": [
            _evaluation(reader, cell, result)
            for result in cell.results
            if result.value is not None
        ],
    }


def _model_info(cell: Cell) -> dict[str, Any]:
    identifier = hub_name(cell.model)
    organisation = identifier.partition("/")[0]
    deployed = is_self_deployed(cell.model)
    types = {True: "self_deployed", False: "externally_managed", None: "unknown"}
    has_weights = deployed and organisation != LOCAL
    return {
        "name": cell.model,
        "id": identifier,
        "developer": organisation,
        "additional_details": {
            "deployment_type": types[deployed],
            "model_availability": "open_weights" if has_weights else "unknown",
            "identity": json.dumps(cell.described.get("identity"), default=str),
        },
    }


def _evaluation(
    reader: RunReader,
    cell: Cell,
    result: Result,
) -> dict[str, Any]:
    """Return the entry of one metric, with its uncertainty and failures."""
    low, high = result.details.get("scale") or (
        (0.0, 1.0) if result.interval.startswith(SHARES) else (None, None)
    )
    metric: dict[str, Any] = {
        "metric_id": f"assay.{result.metric}",
        "metric_name": result.metric,
        "lower_is_better": not result.higher_is_better,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
        "additional_details": {"protocol": result.protocol},
    }
    evaluation: dict[str, Any] = {
        "evaluation_result_id": f"{result.task}:{result.metric}",
        "evaluation_name": result.task,
        "source_data": _source_data(cell),
        "evaluation_timestamp": _start_time(reader),
        "metric_config": metric,
        "score_details": {
            "score": result.value,
            "details": _details(result),
            "uncertainty": _uncertainty(result),
        },
    }
    options = cell.described.get("options") or {}
    names = ("temperature", "top_p", "top_k", "max_tokens")
    chosen = {n: options[n] for n in names if options.get(n) is not None}
    if chosen:
        evaluation["generation_config"] = {"generation_args": chosen}
    return evaluation


def _source_data(cell: Cell) -> dict[str, Any]:
    files = [str(file) for file in cell.described.get("data") or ()]
    digest = cell.described.get("data_sha256") or "unknown"
    source: dict[str, Any] = {
        "dataset_name": cell.task,
        "additional_details": {"data_sha256": str(digest)},
    }
    data = hub_data(cell.task, files)
    if data is None:
        source["source_type"] = "other"
        return source
    source["source_type"] = "hf_dataset"
    source["hf_repo"] = data.repository
    if data.split:
        source["hf_split"] = data.split
    return source


def _details(result: Result) -> dict[str, str]:
    """Return failure counts and other reliability information about a metric, with all values as text."""
    details = {f"outcome.{name}": str(n) for name, n in result.outcomes.items()}
    details["n"] = str(result.n)
    details["n_expected"] = str(result.n_expected)
    if result.bounds:
        details["worst_case"] = str(result.bounds[0])
        details["best_case"] = str(result.bounds[1])
    if result.flags:
        details["flags"] = "; ".join(result.flags)
    return details


def _uncertainty(result: Result) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": result.n}
    if result.stderr is not None:
        uncertainty["standard_error"] = {"value": result.stderr}
    if result.ci is not None:
        uncertainty["confidence_interval"] = {
            "lower": result.ci[0],
            "upper": result.ci[1],
            "confidence_level": LEVEL,
            "method": result.interval,
        }
    return uncertainty


def _sample_rows(
    reader: RunReader,
    cell: Cell,
    evaluation_id: str,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each sample, epoch and metric.

    Samples without a verdict have no row, but are counted in the metrics.
    """
    metrics = {result.metric for result in cell.results}
    for sample in samples_of(reader, cell.task, cell.model):
        if not sample.rounds:
            continue
        for score in sample.scores:
            if score.outcome in UNRESOLVED:
                continue
            for metric, value in score.values.items():
                if value is None or metric not in metrics:
                    continue
                row = _sample_row(cell, sample, score, value)
                row["evaluation_id"] = evaluation_id
                row["evaluation_result_id"] = f"{cell.task}:{metric}"
                yield row


def _sample_row(
    cell: Cell,
    sample: ExportedSample,
    score: ScoreRecord,
    value: float,
) -> dict[str, Any]:
    last = sample.rounds[-1]
    question = prompt_text(last.prompt)
    references = _references(last.target)
    joined = question + "".join(references)
    answers = [candidate_text(entry) for entry in last.output.get("candidates", ())]
    output: dict[str, Any] = {"raw": answers or [""]}
    reasoning = [
        str(part.get("text", ""))
        for entry in last.output.get("candidates", ())
        for part in entry.get("parts", ())
        if part.get("type") == "reasoning"
    ]
    if reasoning:
        output["reasoning_trace"] = reasoning
    row: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "model_id": hub_name(cell.model),
        "evaluation_name": cell.task,
        "sample_id": sample.id,
        "sample_hash": hashlib.sha256(joined.encode("utf-8", "replace")).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": question, "reference": references},
        "output": output,
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": score.answer or "",
                "extraction_method": score.scorer,
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": value, "is_correct": value >= 1.0},
        "metadata": {
            "epoch": str(sample.epoch),
            "outcome": str(score.outcome),
            **{str(name): str(tag) for name, tag in score.tags.items()},
        },
    }
    usage = last.output.get("usage") or {}
    if usage:
        row["token_usage"] = _token_usage(usage)
    if last.output.get("seconds") is not None:
        row["performance"] = {"latency_ms": 1000 * float(last.output["seconds"])}
    return row


def _references(target: object) -> list[str]:
    if target is None:
        return []
    if isinstance(target, (list, tuple)):
        entries = target
    else:
        entries = [target]
    return [as_text(entry) or "" for entry in entries]


def _token_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    tokens_in = int(usage.get("input_tokens") or 0)
    tokens_out = int(usage.get("output_tokens") or 0)
    return {
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
