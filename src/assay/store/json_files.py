"""JSON files of a run folder: read with a check of their form, and written whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import UnusablePath
from .layout import write_whole

_MAPPINGS = ("config", "versions")
_TEXTS_OF_CELL = ("task", "model")
_MAPPINGS_OF_CELL = (
    "scorers",
    "digests",
    "options",
    "identity",
    "abilities",
)
_COUNTS_OF_CELL = ("epochs", "n_expected", "num_fewshot")
_LISTS_OF_ABILITIES = ("accepts", "produces")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file."""
    again = "move it away, then `assay run` the same command again: the journal is enough to write it again"
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise UnusablePath(f"cannot read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise UnusablePath(
            f"not valid JSON: {error}",
            where=str(path),
            fix=again,
        ) from error
    if not isinstance(value, dict):
        raise UnusablePath("expected a JSON object", where=str(path), fix=again)
    return value


def read_run_json(path: Path) -> dict[str, Any]:
    """Read `run.json`; raise UnusablePath if it does not have the form that a run writes."""
    manifest = read_json(path)
    fault = fault_of_manifest(manifest)
    if fault:
        raise UnusablePath(
            f"run.json does not have the form of a run: {fault}",
            where=str(path.parent),
            fix="restore the file, or run the same command again",
        )
    return manifest


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object to a file, completely or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    document = f"{text}\n".encode("utf-8", "replace")
    write_whole(path, document)


def fault_of_manifest(manifest: Mapping[str, Any]) -> str:
    """Return what is wrong with a `run.json`; empty if nothing is."""
    for name in _MAPPINGS:
        entry = manifest.get(name, {})
        if not isinstance(entry, Mapping):
            return f"`{name}` is not a mapping"
    cells = manifest.get("cells", [])
    if not isinstance(cells, list):
        return "`cells` is not a list"
    for cell in cells:
        fault = _fault_of_cell(cell)
        if fault:
            return fault
    return ""


def _fault_of_cell(cell: object) -> str:
    """Return what is wrong with an entry of `cells`; empty if nothing is."""
    if not isinstance(cell, Mapping):
        return "an entry of `cells` is not a mapping"
    for name in _TEXTS_OF_CELL:
        if not isinstance(cell.get(name), str):
            return f"an entry of `cells` has no {name}"
    for name in _MAPPINGS_OF_CELL:
        if not isinstance(cell.get(name, {}), Mapping):
            return f"`{name}` of task {cell['task']!r} is not a mapping"
    for name in _COUNTS_OF_CELL:
        if not isinstance(cell.get(name), int | None):
            return f"`{name}` of task {cell['task']!r} is not a number"
    abilities = cell.get("abilities", {})
    for name in _LISTS_OF_ABILITIES:
        kinds = abilities.get(name, [])
        is_list = isinstance(kinds, list)
        if not is_list or not all(isinstance(kind, str) for kind in kinds):
            return f"`abilities` of task {cell['task']!r} have no list {name!r}"
    return ""
