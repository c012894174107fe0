"""Published outputs whose letter is known by the benchmark's own first pattern, `answer is (X)`.

Read are files of MMLU-Pro (JSON, JSON lines, or the published zip: `options`, `model_outputs` or `generated_text`) and
of BIG-Bench Hard (JSON: `outputs` with `input` and `prediction`). The outputs are others' work: none is kept here.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHARED = (
    Path(__file__).resolve().parents[2] / "shared" / "data" / "mmlu_pro" / "slice.jsonl"
)
DECLARED = re.compile(r"answer is \(?([A-J])\)?")
_BBH_OPTION = re.compile(r"^\(([A-Z])\) (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Published:
    """One output, its options, and the letter that the official first pattern finds, if it finds one."""

    text: str
    options: dict[str, str]
    declared: str | None


def published(path: Path) -> Iterator[Published]:
    """Return the single-choice outputs of a file; rows without options or text are left out."""
    for row in _rows(path):
        text = (
            row.get("model_outputs")
            or row.get("generated_text")
            or row.get("prediction")
        )
        question = str(row.get("input", "")).rsplit("\nQ:", 1)[-1]
        listed = dict(
            zip("ABCDEFGHIJ", row.get("options") or (), strict=False)
        ) or dict(_BBH_OPTION.findall(question))
        if isinstance(text, str) and listed:
            found = DECLARED.search(text)
            yield Published(text, listed, found[1] if found else None)


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            names = [
                name
                for name in packed.namelist()
                if name.endswith(".json") and "__MACOSX" not in name
            ]
            return [
                row
                for name in names
                for row in json.loads(packed.read(name))
                if isinstance(row, dict)
            ]
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    content = json.loads(text)
    rows: list[dict[str, Any]] = (
        content["outputs"] if isinstance(content, dict) else content
    )
    return rows
