"""Find and open the files (shards) with the rows of a path.

The file name determines the format: `.jsonl`, `.json`, `.csv`, `.tsv`, `.parquet`,
`.arrow`; text formats also with `.gz` or `.zst`. A folder stands for all such files in
it, in natural order of their names (2 before 10).
"""

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..core import DataError, UsageError, nearest
from .faults import RowFault
from .json_row import decode_row
from .json_shards import JsonArray, JsonLines
from .lines import COMPRESSED, is_compressed, read_lines
from .parquet import Arrow, Parquet, check_schemas, holds_rows, split_by_folder
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
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
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
"""Names of JSON files that describe a dataset and contain no rows."""


def format_of(path: Path) -> str | None:
    """Return the format of a file by its name; None if assay cannot read it."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes:
        return FORMATS.get(suffixes[-1])
    return None


def stem_of(path: Path) -> str:
    """Return the name without its format: `test` for `test.jsonl.gz`."""
    name = path.name
    for suffix in reversed(path.suffixes):
        if suffix.lower() in COMPRESSED or suffix.lower() in FORMATS:
            name = name.removesuffix(suffix)
        else:
            break
    return name


def is_data_path(path: Path) -> bool:
    """Return True if a path is, by its name, a data file, or a folder that contains one."""
    if path.is_dir():
        return any(_is_data(inner, path) for inner in path.rglob("*"))
    return format_of(path) is not None


def why_no_data(path: Path) -> tuple[str, str]:
    """Return the reason why no rows can be read from a path, and how to fix it."""
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
    if path.suffix.lower() in SPREADSHEETS:
        return (
            "a spreadsheet, which may have several sheets",
            "save the sheet as CSV, or the rows as Parquet with pandas",
        )
    return (
        "not a data file assay can read",
        f"{READABLE}, a folder of them, YAML or Python",
    )


def open_files(
    path: Path,
    split: str | None,
    where: str,
) -> tuple[list[Shard], bool]:
    """Return the shards of a file or a folder. The second value is True if their file
    names already select the split.
    """
    if not path.exists():
        raise _no_data_error(path, where)
    if path.is_dir():
        paths, is_selected = _pick(path, split, where)
    else:
        paths = [path]
        is_selected = split is not None and _split_of(path) == split
    shards = [open_file(file) for file in paths]
    member = _member_shard(shards, split)
    if member is not None:
        return [member], True
    parquet = [shard for shard in shards if isinstance(shard, Parquet)]
    if len(shards) > 1 and len(parquet) == len(shards):
        check_schemas(parquet)
    return shards, is_selected


def _member_shard(
    shards: Sequence[Shard],
    split: str | None,
) -> JsonArray | None:
    """Return the array named like the split.

    This requires a single shard, and a JSON object that contains such an array.
    Otherwise return None.
    """
    shard = shards[0]
    if split is None or len(shards) > 1 or not isinstance(shard, JsonArray):
        return None
    if shard.holds(split):
        return JsonArray(shard.path, split)
    return None


def open_file(path: Path, *, zeros: bool = False) -> Shard:
    """Return the reader of one file. With `zeros`, its texts may contain NUL characters."""
    kind = format_of(path)
    if kind is None:
        suffixes = ", ".join(FORMATS)
        raise UsageError(
            f"cannot tell the format of {path}",
            fix=f"name it one of {suffixes} (text ones also .gz or .zst)",
        )
    if path.stat().st_size == 0:
        raise DataError(
            "the file is empty",
            file=str(path),
            fix="write at least one row",
        )
    if kind in ("Parquet", "Arrow"):
        if is_compressed(path):
            raise UsageError(
                f"a packed {kind} file cannot be read: {path}",
                fix=f"unpack it: {kind} is read in place",
            )
        if kind == "Parquet":
            return Parquet(path)
        return Arrow(path)
    if kind in ("CSV", "TSV"):
        return Table(path, "," if kind == "CSV" else "\t", zeros=zeros)
    if kind == "JSON" and not _is_one_object_a_line(path):
        return JsonArray(path, zeros=zeros)
    return JsonLines(path, zeros=zeros)


def _is_one_object_a_line(path: Path) -> bool:
    """Return True if a `.json` file is JSONL: its first line is a whole object and more lines follow."""
    lines = (line for _, _, line in read_lines(path) if line is None or line.strip())
    first = next(lines, None)
    if first is None or not first.lstrip().startswith(b"{"):
        return False
    try:
        decode_row(first, zeros=True)
    except RowFault:
        return False
    return next(lines, None) is not None


def open_every_file(folder: Path, where: str) -> list[Shard]:
    """Return the shards of all splits of a folder, in the order of their names."""
    return [
        open_file(path)
        for path in _of_one_format(_find_data_files(folder, where), folder, where)
    ]


def _find_data_files(folder: Path, where: str) -> list[Path]:
    paths = [path for path in folder.rglob("*") if _is_data(path, folder)]
    if not paths:
        raise _no_data_error(folder, where)
    return paths


def _no_data_error(path: Path, where: str) -> UsageError:
    reason, fix = why_no_data(path)
    return UsageError(f"{reason}: {path}", where=where or None, fix=fix)


def _pick(
    folder: Path,
    split: str | None,
    where: str,
) -> tuple[list[Path], bool]:
    paths = _find_data_files(folder, where)
    by_split: dict[str | None, list[Path]] = {}
    for path in paths:
        by_split.setdefault(_split_of(path, folder), []).append(path)
    named = sorted(str(name) for name in by_split if name is not None)
    is_selected = False
    if split is not None and split in by_split:
        paths = by_split[split]
        is_selected = True
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
    return _of_one_format(paths, folder, where), is_selected


def _of_one_format(
    found: list[Path],
    folder: Path,
    where: str,
) -> list[Path]:
    kinds = sorted({str(format_of(path)) for path in found})
    if len(kinds) > 1:
        raise UsageError(
            f"{folder} mixes {' and '.join(kinds)} files",
            where=where or None,
            fix="name the file to read, or move the others",
        )
    return sorted(found, key=lambda path: natural_key(str(path)))


def _is_data(path: Path, folder: Path) -> bool:
    inner = path.relative_to(folder).parts
    is_hidden = any(part.startswith((".", "_")) for part in inner)
    if is_hidden or path.name in DESCRIPTIONS:
        return False
    kind = format_of(path)
    if kind is None or not path.is_file():
        return False
    if kind != "Arrow":
        return True
    # The `datasets` library writes its cache files next to the data, as cache-….arrow.
    is_cache = path.name.startswith("cache-")
    return holds_rows(path) and not is_cache


def _split_of(
    path: Path,
    folder: Path | None = None,
) -> str | None:
    """Return the split named in a path such as `test.jsonl`, `test-00000-of-00002.parquet` or `test/part.jsonl`."""
    if folder is not None:
        split = split_by_folder(path, folder)
        if split is not None:
            return split
    words = re.split(r"[-_.]", stem_of(path).lower())
    for word in (words[0], words[-1]):
        if word in SPLITS:
            return word
    if folder is None:
        return None
    parents = path.relative_to(folder).parts[:-1]
    for parent in reversed(parents):
        if parent.lower() in SPLITS:
            return parent.lower()
    return None


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts `q2` before `q10`."""
    keys = []
    for piece in re.split(r"(\d{1,18})", text):
        keys.append((int(piece), "") if piece.isdecimal() else (-1, piece))
    return keys


def _missing_hint(path: Path) -> str:
    parent = path.parent
    beside: Sequence[str] = (
        [neighbour.name for neighbour in parent.iterdir()] if parent.is_dir() else []
    )
    close = nearest(path.name, beside)
    if close:
        return f"did you mean {parent / close}?"
    return "check the path"
