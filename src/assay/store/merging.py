"""Merging: the journals and media of several runs of the same questions as one new run folder.

What the parts were configured with is not taken over: it may name code of another machine. The user's own command,
without its `--shard`, goes on from the merged answers and asks for nothing that is there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import StoreError
from .journal import read_lines
from .runs import RunReader, RunWriter

ALIKE = ("template", "to_sample", "shots", "options", "model")
"""Digests that all parts of a cell must share; where the data lies, and which part of it was asked, may differ."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge brought together."""

    lines: int
    media: int
    damaged: int
    """Lines that could not be read, and were left out: their samples will be asked or scored again."""


def merge_runs(parts: Sequence[str | Path], folder: str | Path) -> Merged:
    """Writes a new run folder with everything that was answered and scored in the parts."""
    readers = [RunReader(part) for part in parts]
    _check_apart(readers)
    _check_alike(readers)
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        raise StoreError(
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
    """Refuses the same part twice, by its folder or by the samples it was asked for: another one was meant."""
    places: dict[tuple[str, str, Any], str] = {}
    for reader in readers:
        where = str(reader.layout.folder)
        for cell in reader.manifest.get("cells", ()):
            view = cell.get("digests", {}).get("view") or reader.layout.folder.resolve()
            name = (cell["task"], cell["model"], view)
            if name in places:
                what = f"holds the same part of {cell['task']} on {cell['model']} as {places[name]}"
                raise StoreError(what, where=where, fix="name each of the parts once")
            places[name] = where


def _check_alike(readers: Sequence[RunReader]) -> None:
    """Refuses parts of which a cell was not asked alike: their answers would not belong to one number."""
    cells: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}
    for reader in readers:
        where = str(reader.layout.folder)
        for cell in reader.manifest.get("cells", ()):
            name, digests = (cell["task"], cell["model"]), cell.get("digests", {})
            other, before = cells.setdefault(name, (where, digests))
            apart = [part for part in ALIKE if before.get(part) != digests.get(part)]
            if apart:
                what = f"{name[0]} on {name[1]} was not asked as in {other}: {', '.join(apart)} differ"
                raise StoreError(
                    what,
                    where=where,
                    fix="merge parts of one command, with the same files and options",
                )
