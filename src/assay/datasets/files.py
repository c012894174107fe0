"""Files: from a path to the shards that hold its rows.

A file is known by its name: `.jsonl`, `.json`, `.csv`, `.tsv`, `.parquet`, `.arrow`, the text ones also with `.gz` or
`.zst`. A folder is all such files in it, in the order of their names with numbers counted as numbers.
"""

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..core import DataError, UsageError, nearest
from .arrow import Arrow, holds_rows, split_by_folder
from .faults import RowFault
from .json_arrays import JsonArray
from .json_lines import JsonLines
from .json_row import decode_row
from .lines import COMPRESSED, is_compressed, read_lines
from .parquet import Parquet, check_schemas
from .shards import Shard
from .tables import Table

FORMATS = {
    ".jsonl": "JSONL",
    ".ndjson": "JSONL",
    ".json": "JSON",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".parquet": "Parquet",
    ".arrow": "Arrow",
}
READABLE = "TSV, CSV, JSON, JSONL (also .gz, .zst), Parquet, Arrow"
SPLITS = ("test", "validation", "valid", "val", "dev", "train")
DESCRIPTIONS = frozenset(
    {
        "dataset_info.json",
        "dataset_infos.json",
        "dataset_dict.json",
        "state.json",
        "package.json",
    }
)
"""JSON files that describe a dataset instead of holding rows."""


def format_of(path: Path) -> str | None:
    """What the name says the file holds; `None` if it says nothing we read."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def stem_of(path: Path) -> str:
    """The name without its format: `test` for `test.jsonl.gz`."""
    name = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() in COMPRESSED or suffix.lower() in FORMATS:
            name = name.removesuffix(suffix)
        else:
            break
    return name


def is_data_path(path: Path) -> bool:
    """Whether a path is, by its name, a data file, or a folder that holds some."""
    if path.is_dir():
        return any(_is_data(inner, path) for inner in path.rglob("*"))
    return format_of(path) is not None


def why_no_data(path: Path) -> tuple[str, str]:
    """Why nothing can be read from a path, and what to do: it is not there, leads nowhere, or holds no data."""
    if not path.exists():
        if not path.is_symlink():
            return "no such file or folder", _missing_hint(path)
        try:
            path.stat()
        except OSError as error:
            if error.errno == errno.ELOOP:
                return (
                    "a symbolic link that leads back to itself",
                    "link it to the data, or name the data itself",
                )
        return (
            f"a symbolic link to {os.readlink(path)}, which is not there",
            "link it to the data",
        )
    if path.is_dir():
        names = sorted(inner.name for inner in path.iterdir())
        if not names:
            return (
                "the folder is empty",
                f"put {', '.join(FORMATS)} files there, or name another",
            )
        listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        return (
            f"no data files in the folder (it has {listed})",
            f"put {', '.join(FORMATS)} files there",
        )
    return (
        "not a data file assay can read",
        f"{READABLE}, a folder of them, YAML or Python",
    )


def open_files(path: Path, split: str | None, where: str) -> tuple[list[Shard], bool]:
    """The shards of a file or a folder, and whether their names already settle the split."""
    if not path.exists():
        what, fix = why_no_data(path)
        raise UsageError(f"{what}: {path}", where=where or None, fix=fix)
    if path.is_dir():
        paths, settled = _pick(path, split, where)
    else:
        paths, settled = [path], split is not None and _split_of(path) == split
    shards = [open_file(one) for one in paths]
    if (
        split is not None
        and len(shards) == 1
        and isinstance(shards[0], JsonArray)
        and shards[0].holds(split)
    ):
        return [JsonArray(shards[0].path, split)], True
    if len(shards) > 1 and all(isinstance(shard, Parquet) for shard in shards):
        check_schemas([shard for shard in shards if isinstance(shard, Parquet)])
    return shards, settled


def open_file(path: Path) -> Shard:
    """The reader of one file."""
    kind = format_of(path)
    if kind is None:
        suffixes = ", ".join(FORMATS)
        raise UsageError(
            f"cannot tell the format of {path}",
            fix=f"name it one of {suffixes} (text ones also .gz or .zst)",
        )
    if path.stat().st_size == 0:
        raise DataError(
            "the file is empty", file=str(path), fix="write at least one row"
        )
    if kind in ("Parquet", "Arrow"):
        if is_compressed(path):
            raise UsageError(
                f"a packed {kind} file cannot be read: {path}",
                fix=f"unpack it: {kind} is read in place",
            )
        return Parquet(path) if kind == "Parquet" else Arrow(path)
    if kind in ("CSV", "TSV"):
        return Table(path, "," if kind == "CSV" else "\t")
    if kind == "JSON" and not _is_one_object_a_line(path):
        return JsonArray(path)
    return JsonLines(path)


def _is_one_object_a_line(path: Path) -> bool:
    """Whether a `.json` file is JSONL: its first line is a whole object and there is more."""
    lines = (line for _, _, line in read_lines(path) if line is None or line.strip())
    first = next(lines, None)
    if first is None or not first.lstrip().startswith(b"{"):
        return False
    try:
        decode_row(first)
    except RowFault:
        return False
    return next(lines, None) is not None


def open_every_file(folder: Path, where: str) -> list[Shard]:
    """The shards of a folder, whatever splits their names tell, in the order of their names."""
    return [
        open_file(path) for path in _of_one_format(_found(folder, where), folder, where)
    ]


def _found(folder: Path, where: str) -> list[Path]:
    found = [path for path in folder.rglob("*") if _is_data(path, folder)]
    if not found:
        what, fix = why_no_data(folder)
        raise UsageError(f"{what}: {folder}", where=where or None, fix=fix)
    return found


def _pick(folder: Path, split: str | None, where: str) -> tuple[list[Path], bool]:
    found = _found(folder, where)
    by_split: dict[str | None, list[Path]] = {}
    for path in found:
        by_split.setdefault(_split_of(path, folder), []).append(path)
    named = sorted(str(name) for name in by_split if name is not None)
    settled = False
    if split is not None and split in by_split:
        found, settled = by_split[split], True
    elif split is not None and named:
        close = nearest(split, named)
        hint = f"did you mean {close!r}? " if close else ""
        raise UsageError(
            f"{folder} has no split {split!r}",
            where=where or None,
            fix=f"{hint}splits: {', '.join(named)}",
        )
    elif len(named) > 1:
        raise UsageError(
            f"{folder} holds several splits: {', '.join(named)}",
            where=where or None,
            fix=f"choose one: split={named[0]}",
        )
    return _of_one_format(found, folder, where), settled


def _of_one_format(found: list[Path], folder: Path, where: str) -> list[Path]:
    kinds = sorted({str(format_of(path)) for path in found})
    if len(kinds) > 1:
        raise UsageError(
            f"{folder} mixes {' and '.join(kinds)} files",
            where=where or None,
            fix="name the file to read, or move the others",
        )
    return sorted(found, key=_natural)


def _is_data(path: Path, folder: Path) -> bool:
    inner = path.relative_to(folder).parts
    hidden = any(part.startswith((".", "_")) for part in inner)
    kind = format_of(path)
    if hidden or kind is None or path.name in DESCRIPTIONS or not path.is_file():
        return False
    # `datasets` leaves results of its own beside the data as cache-….arrow.
    return kind != "Arrow" or (holds_rows(path) and not path.name.startswith("cache-"))


def _split_of(path: Path, folder: Path | None = None) -> str | None:
    """The split that a name tells: `test.jsonl`, `test-00000-of-00002.parquet`, `mmlu_test.csv`, `test/part.jsonl`."""
    if folder is not None and (split := split_by_folder(path, folder)) is not None:
        return split
    words = re.split(r"[-_.]", stem_of(path).lower())
    for word in (words[0], words[-1]):
        if word in SPLITS:
            return word
    if folder is not None:
        parents = [part.lower() for part in path.relative_to(folder).parts[:-1]]
        return next((part for part in reversed(parents) if part in SPLITS), None)
    return None


def _natural(path: Path) -> list[tuple[int, str]]:
    return [
        (int(piece), "") if piece.isdigit() else (-1, piece)
        for piece in re.split(r"(\d+)", str(path))
    ]


def _missing_hint(path: Path) -> str:
    parent = path.parent
    beside: Sequence[str] = (
        [one.name for one in parent.iterdir()] if parent.is_dir() else []
    )
    close = nearest(path.name, beside)
    return f"did you mean {parent / close}?" if close else "check the path"
