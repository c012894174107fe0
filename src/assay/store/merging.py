"""Merge the journals and media of several runs of the same questions into one new run folder.

The configuration of the parts is not copied, because it may name code of another machine. The user's own command,
without its `--shard`, continues from the merged answers and asks nothing again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import UnusablePath
from .journal import read_lines
from .runs import RunReader, RunWriter

ALIKE = ("template", "to_sample", "shots", "options", "model")
"""Digests that all parts of a task × model must share. The path of the data and the selected part may differ."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Counts of what a merge wrote."""

    lines: int
    media: int
    damaged: int
    """Lines that could not be read and were left out. Their samples will be asked or scored again."""


def merge_runs(parts: Sequence[str | Path], folder: str | Path) -> Merged:
    """Write a new run folder with everything that was answered and scored in the parts."""
    readers = [RunReader(part) for part in parts]
    _check_apart(readers)
    _check_alike(readers)
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise UnusablePath(
            "a run needs a folder, and this is a file",
            where=str(folder),
            fix="-o a new folder for the merged run",
        )
    if target.exists() and any(target.iterdir()):
        raise UnusablePath(
            "the folder is not empty",
            where=str(folder),
            fix="-o a new folder for the merged run",
        )
    lines = media = damaged = 0
    with RunWriter(target) as writer:
        for reader in readers:
            for _, line in read_lines(reader.layout.journal):
                if line is None:
                    damaged += 1
                    continue
                record = json.loads(line)
                del record["crc"]
                writer.journal.append(record)
                lines += 1
            writer.journal.flush()
            for digest in reader.blobs:
                writer.blobs.put(reader.blobs[digest])
                media += 1
    return Merged(lines, media, damaged)


def _check_apart(readers: Sequence[RunReader]) -> None:
    """Raise if the same part is given twice, by its folder or by its samples."""
    folders: dict[tuple[str, str, Any], str] = {}
    for reader in readers:
        folder = reader.layout.folder
        where = str(folder)
        if not reader.layout.journal.is_file():
            fix = "restore the file, or leave the run out"
            raise UnusablePath("has no records.jsonl", where=where, fix=fix)
        for cell in reader.manifest.get("cells", ()):
            task = cell["task"]
            model = cell["model"]
            digests = cell.get("digests", {})
            part = digests.get("view") or folder.resolve()
            name = (task, model, part)
            if name in folders:
                reason = f"holds the same part of {task} on {model} as {folders[name]}"
                fix = "name each of the parts once"
                raise UnusablePath(reason, where=where, fix=fix)
            folders[name] = where


def _check_alike(readers: Sequence[RunReader]) -> None:
    """Raise if the parts of a task × model were asked differently, because they do not form one number."""
    cells: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}
    for reader in readers:
        where = str(reader.layout.folder)
        for cell in reader.manifest.get("cells", ()):
            task = cell["task"]
            model = cell["model"]
            digests = cell.get("digests", {})
            other, before = cells.setdefault((task, model), (where, digests))
            differing = []
            for part in ALIKE:
                if before.get(part) != digests.get(part):
                    differing.append(part)
            if differing:
                parts = ", ".join(differing)
                reason = (
                    f"{task} on {model} was not asked as in {other}: {parts} differ"
                )
                raise UnusablePath(
                    reason,
                    where=where,
                    fix="merge parts of one command, with the same files and options",
                )
