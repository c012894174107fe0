"""Write lm-eval's `samples_TASK.jsonl`, with the fields that `--log_samples` writes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..harness.loaded import Document, LibraryTask, LoadedTask
from . import lm_eval_package as package


def write_samples(
    folder: Path,
    subtask: LoadedTask,
    documents: Sequence[Document],
) -> Path:
    """Write a line for each document and filter, and return the path of the file."""
    handle = package.module("utils").handle_non_serializable
    file = folder / f"samples_{subtask.name.replace('/', '__')}.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for sample in samples_of(subtask, documents):
            if getattr(subtask.task, "MULTIMODAL", False):
                sample = package.module("utils").hash_dict_images(sample)
            line = json.dumps(
                sample,
                default=handle,
                ensure_ascii=False,
            )
            out.write(f"{line}\n")
    return file


def samples_of(
    subtask: LoadedTask,
    documents: Sequence[Document],
) -> Iterator[dict[str, Any]]:
    """Yield the samples in lm-eval's order: filter by filter, document by document."""
    if documents:
        filters = documents[0].instances[0].filtered_resps
    else:
        filters = {}
    for filter_name in filters:
        for document in documents:
            yield _sample(subtask.task, document, filter_name)


def _sample(
    task: LibraryTask,
    document: Document,
    filter_name: str,
) -> dict[str, Any]:
    utils = package.module("utils")
    requests = sorted(document.instances, key=lambda instance: instance.idx)
    target = task.doc_to_target(document.row)
    metrics = {
        metric: value for metric, name, value in document.metrics if name == filter_name
    }
    row_text = json.dumps(
        requests[0].doc,
        indent=2,
        default=utils.handle_non_serializable,
        ensure_ascii=False,
    )
    arguments = {}
    for number, request in enumerate(requests):
        parts = {f"arg_{n}": part for n, part in enumerate(request.args)}
        arguments[f"gen_args_{number}"] = parts
    filtered = [request.filtered_resps[filter_name] for request in requests]
    return {
        "doc_id": document.number,
        "doc": document.row,
        "target": str(target),
        "arguments": arguments,
        "resps": utils.sanitize_list([request.resps for request in requests]),
        "filtered_resps": utils.sanitize_list(filtered),
        "filter": filter_name,
        "metrics": list(metrics),
        "doc_hash": utils.hash_string(row_text),
        "prompt_hash": utils.hash_string(requests[0].arguments[0]),
        "target_hash": utils.hash_string(str(target)),
        **metrics,
    }
