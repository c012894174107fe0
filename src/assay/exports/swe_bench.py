"""Export a run as predictions for the harness of SWE-bench: one patch for each sample, in JSON lines."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import UsageError
from ..core.errors import plural
from ..core.record import output_from_plain
from ..store import RunReader
from ..store.file_ledger import write_output_text
from .exporter import ExportedSample, cells_of, only_model, samples_of

PATCH = "patch"
"""Key in the details of an agent's answer: the changes in its git repository, as a patch."""
_FENCED = re.compile(r"```(?:diff|patch)[^\n]*\n(.*?)```", re.DOTALL)
_FIRST_LINE = re.compile(r"^(?:diff --git |--- (?:a/|/dev/null))", re.MULTILINE)


class SweBench:
    """Exports the predictions of one model as input for `swebench.harness.run_evaluation`."""

    file_name = "predictions.jsonl"

    def write(
        self,
        reader: RunReader,
        path: Path,
        model: str | None,
    ) -> str:
        """Write one line for each sample that has an answer."""
        name = only_model(reader, model, "a file of predictions")
        lines = [json.dumps(entry) for entry in _predictions(reader, name)]
        write_output_text(path, "\n".join([*lines, ""]))
        return plural(len(lines), "prediction")


def _predictions(reader: RunReader, model: str) -> Iterator[dict[str, str]]:
    """Yield the predictions. Raise if a sample has several, because the harness expects one per sample."""
    ids: set[str] = set()
    for cell in cells_of(reader, model):
        for sample in samples_of(reader, cell.task, model):
            if not _has_answer(sample):
                continue
            if sample.id in ids:
                raise UsageError(
                    f"the sample {sample.id!r} has several answers, and the harness reads one",
                    where=str(reader.layout.folder),
                    fix="export a run with one epoch and one task",
                )
            ids.add(sample.id)
            yield {
                "instance_id": sample.id,
                "model_name_or_path": model,
                "model_patch": patch_of(sample.rounds[-1].output),
            }


def _has_answer(sample: ExportedSample) -> bool:
    return bool(sample.rounds) and "error" not in sample.rounds[-1].output


def patch_of(output: Mapping[str, Any]) -> str:
    """Return the patch of an answer: from the git repository, from a file that the agent wrote, or from its text."""
    details = output.get("details", {})
    if isinstance(details.get(PATCH), str):
        return str(details[PATCH])
    for name, content in details.get("files", {}).items():
        if name.endswith((".patch", ".diff")) and isinstance(content, str):
            return content
    text = output_from_plain({**output, "details": {}}, {}).text
    return patch_in(text)


def patch_in(text: str) -> str:
    """Return the patch in a text, without a code block around it; empty if there is none."""
    fenced = _FENCED.search(text)
    if fenced:
        return fenced[1]
    start = _FIRST_LINE.search(text)
    if start is None:
        return ""
    patch = text[start.start() :].partition("\n```")[0]
    if patch.endswith("\n"):
        return patch
    return f"{patch}\n"
