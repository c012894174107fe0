"""Write lmms-eval's `samples_TASK.jsonl`, with the fields that `--log_samples` writes."""

import json
from collections.abc import Sequence
from pathlib import Path

from ..harness.loaded import Document, LoadedTask
from . import lmms_package


def write_samples(
    folder: Path,
    subtask: LoadedTask,
    documents: Sequence[Document],
) -> Path:
    """Write a line for each document and filter, filter by filter, and return the path of the file."""
    handle = lmms_package.module("utils").handle_non_serializable
    file = folder / f"samples_{subtask.name.replace('/', '__')}.jsonl"
    filters = max((len(document.logged) for document in documents), default=0)
    with file.open("w", encoding="utf-8") as out:
        for number in range(filters):
            for document in documents:
                sample = document.logged[number]
                line = json.dumps(
                    sample,
                    default=handle,
                    ensure_ascii=False,
                )
                out.write(f"{line}\n")
    return file
