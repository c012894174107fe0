"""Merge the shards of a run into one folder, and copy a run folder to a URL.

The configuration of the shards is not copied, because it may name code of another
machine. The user's command without its `--shard` continues from the merged answers,
without calling the model again.
"""

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import StoreError, UnusablePath, UsageError, library
from ..core.errors import DiskFull
from .journal import read_lines
from .layout import Layout
from .ownership import is_manifest_of_ours
from .runs import RunReader, RunWriter

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

ALIKE = ("template", "to_sample", "shots", "options", "model")
"""Parts of the configuration whose digests must be equal in all shards of a task × model.

The path of the data and the selected samples may differ.
"""


@dataclass(frozen=True, slots=True)
class Merged:
    """The number of lines and media that a merge wrote, and of lines that it left out."""

    lines: int
    media: int
    damaged: int
    """The number of unreadable lines that were left out. The next run answers or scores their samples again."""


def merge_runs(
    parts: Sequence[str | Path],
    folder: str | Path,
) -> Merged:
    """Write a new run folder with all answers and scores of the shards, which are run folders."""
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
    """Raise if two run folders contain the same shard of a task × model, or if one has no journal."""
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
    """Raise if the shards of a task × model have different settings, because their scores must not be averaged."""
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


def copy_run(
    layout: Layout,
    url: str,
) -> int:
    """Copy a run to a URL, and return the number of files that were sent.

    Media that the target already has are not sent again. `run.json` is sent last,
    because the target becomes a run with it. A target with anything other than a
    run, or an unfinished copy of this run, is refused.
    """
    files, root = _filesystem(url)
    _refuse_foreign(files, root, url, layout)
    media = sorted(
        path
        for path in layout.media.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )
    # Send the journal first, because it distinguishes an interrupted copy from other files.
    parts = [layout.journal, *media, layout.summary, layout.manifest]
    sent = 0
    try:
        for path in [path for path in parts if path.exists()]:
            relative = path.relative_to(layout.folder).as_posix()
            there = f"{root.rstrip('/')}/{relative}"
            if (
                path in media
                and files.exists(there)
                and files.size(there) == path.stat().st_size
            ):
                continue  # Media are named by their content.
            files.makedirs(there.rpartition("/")[0], exist_ok=True)
            _send(files, path, there)
            sent += 1
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise (DiskFull if is_full else StoreError)(
            f"cannot write there: {error.strerror or error}",
            where=url,
            fix="free some space and rerun the command"
            if is_full
            else "check the URL and who may write there",
        ) from error
    return sent


def _is_unfinished_copy(
    files: "AbstractFileSystem",
    root: str,
    names: set[str],
    layout: Layout,
) -> bool:
    """Return True if a target without `run.json` contains an unfinished copy of this run."""
    parts = {layout.journal.name, layout.summary.name, layout.media.name}
    if layout.journal.name not in names or not names <= parts:
        return False
    journal_path = f"{root.rstrip('/')}/{layout.journal.name}"
    start = files.cat_file(journal_path, 0, 1 << 20)
    if not start and names != {layout.journal.name}:
        return False
    with layout.journal.open("rb") as journal:
        return bool(journal.read(len(start)) == start)


def _refuse_foreign(
    files: "AbstractFileSystem",
    root: str,
    url: str,
    layout: Layout,
) -> None:
    try:
        names = {
            str(name).rstrip("/").rpartition("/")[2]
            for name in files.ls(root, detail=False)
        }
        if not names:
            return
        if "run.json" in names:
            plain = json.loads(files.cat_file(f"{root.rstrip('/')}/run.json"))
        elif _is_unfinished_copy(files, root, names, layout):
            return
        else:
            plain = None
    except (FileNotFoundError, NotADirectoryError):
        return  # Nothing is there. A target that cannot be written fails when the first file is sent.
    except (OSError, ValueError):
        plain = None
    if not is_manifest_of_ours(plain):
        raise UsageError(
            "the target holds files that are not an assay run",
            where=url,
            fix="name a new or empty folder",
        )


def _send(
    files: "AbstractFileSystem",
    path: Path,
    there: str,
) -> None:
    """Send a file up to its current size, because a journal may grow in the meantime."""
    left = path.stat().st_size
    with path.open("rb") as source, files.open(there, "wb") as target:
        while left and (block := source.read(min(left, 1 << 20))):
            target.write(block)
            left -= len(block)


def _filesystem(url: str) -> tuple[Any, str]:
    if "://" not in url:
        raise UsageError(
            "not a URL",
            where=url,
            fix=f"file://{Path(url).absolute()}, or -o FILE for csv and the like",
        )
    url_to_fs = library(
        "fsspec.core",
        "fsspec",
        "'assay[storage]'",
        where=url,
    ).url_to_fs
    try:
        files, root = url_to_fs(url)
    except ImportError as error:
        scheme = url.partition(":")[0]
        raise UsageError(
            f"fsspec needs another library for {scheme}: {error}", where=url
        ) from error
    except ValueError as error:
        raise UsageError(
            f"cannot write to this URL: {error}",
            where=url,
            fix="a URL such as s3://bucket/run",
        ) from error
    return files, str(root)
