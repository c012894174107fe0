"""Reading and writing by suffix, `$LMUData`, downloads, checksums.

`load` of a run's prediction file is answered from the run's journal. A pickle is read if `dump` wrote it here, or with
the user's consent. With upstream's rules, tables are read and written by pandas, with all its guesses.
"""

import csv
import hashlib
import json
import mimetypes
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ....core import AssayError, UsageError
from ....store.file_ledger import FileLedger
from ...declared_fetch import fetch_declared
from ..base64_images import decode_base64_to_image_file
from ..rules import as_upstream
from ..state import current
from ..suffix_files import dump_by_suffix, load_by_suffix

__all__ = [
    "download_file",
    "dump",
    "file_size",
    "last_modified",
    "LMUDataRoot",
    "load",
    "ls",
    "md5",
    "mrlines",
    "mwlines",
    "NumpyEncoder",
    "parquet_to_tsv",
    "parse_file",
]

LONGEST_PATH = 4096
_TABLES = {"xlsx": "", "csv": ",", "tsv": "\t"}
"""Suffixes of tables that pandas reads and writes with upstream's rules, and what separates their cells."""
_UNITS = {"GB": 2**30, "MB": 2**20, "KB": 2**10, "B": 1}


def data_root() -> Path:
    """`$LMUData` where that is a folder, else `~/LMUData`; whoever writes there makes it."""
    named = os.environ.get("LMUData", "")  # noqa: SIM112 - the guest's own spelling
    return Path(named) if named and os.path.isdir(named) else Path.home() / "LMUData"


def LMUDataRoot() -> str:
    """`$LMUData` where that is a folder, else `~/LMUData`, which is made."""
    root = data_root()
    root.mkdir(parents=True, exist_ok=True)
    return str(root)


def load(f: str | os.PathLike[str], fmt: str | None = None) -> Any:
    """What a file holds: a data frame of a table, else plain data; a URL is downloaded to `$LMUData/files` first."""
    surroundings = current()
    served = surroundings.served_for(f)
    if served is not None:
        return served()
    path = _downloaded(f) if isinstance(f, str) and is_url(f) else Path(f).expanduser()
    kind = (fmt or path.suffix).lstrip(".").lower()
    if as_upstream() and kind in _TABLES and path.is_file():
        return _table_by_pandas(path, kind)
    return load_by_suffix(path, fmt, trust_pickle=surroundings.trust_pickle)


def dump(data: Any, f: str | os.PathLike[str], **kwargs: Any) -> None:
    """Writes data in the format the name says; what was written, `load` reads back."""
    surroundings = current()
    surroundings.unserve(f)
    path = Path(f).expanduser().absolute()
    folder = surroundings.work_folder
    if folder is not None and path.is_relative_to(folder):
        FileLedger(folder).claim(path)
    if as_upstream() and path.suffix[1:].lower() in _TABLES and hasattr(data, "to_csv"):
        _dump_by_pandas(data, path)
    else:
        dump_by_suffix(data, path, kwargs.get("fmt"))


def _table_by_pandas(path: Path, kind: str) -> Any:
    """Whatever pandas makes of a table's cells, `NA`, `1` and `True` included."""
    import pandas

    return (
        pandas.read_excel(path)
        if kind == "xlsx"
        else pandas.read_csv(path, sep=_TABLES[kind])
    )


def _dump_by_pandas(data: Any, path: Path) -> None:
    """A data frame as a table, every cell of a text table in quotes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix[1:].lower()
    if kind == "xlsx":
        data.to_excel(path, index=False)
    else:
        data.to_csv(
            path,
            sep=_TABLES[kind],
            index=False,
            encoding="utf-8",
            quoting=csv.QUOTE_ALL,
        )


def is_url(text: str) -> bool:
    """Whether a text is an address of the web."""
    if (
        len(text) > LONGEST_PATH
        or not text.startswith(("http://", "https://", "ftp://"))
        or " " in text
    ):
        return False
    try:
        return (
            "." in (urlsplit(text).hostname or "")
            or urlsplit(text).hostname == "localhost"
        )
    except ValueError:
        return False


def _downloaded(url: str) -> Path:
    path = data_root() / "files" / os.path.basename(urlsplit(url).path)
    return path if path.exists() else Path(download_file(url, str(path)))


def download_file(url: str, filename: str | None = None) -> str:
    """The file behind a URL, resumable, from public addresses; one that is there is not fetched again."""
    path = Path(filename) if filename is not None else Path(url.rpartition("/")[2])
    try:
        return str(
            fetch_declared(url, path, allow_private=current().allow_private_urls)
        )
    except AssayError:
        raise
    except OSError as error:
        raise UsageError(
            f"cannot write the download: {error.strerror}", where=str(path)
        ) from error


def md5(s: str) -> str:
    """MD5 of a file's bytes, or of a text that is no file."""
    if len(s) <= LONGEST_PATH and "\0" not in s and os.path.isfile(s):
        with open(s, "rb") as stream:
            return hashlib.file_digest(
                stream, lambda: hashlib.md5(usedforsecurity=False)
            ).hexdigest()
    return hashlib.md5(
        s.encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


def ls(
    dirname: str = ".",
    match: str | Sequence[str] = (),
    mode: str = "all",
    level: int | str = 1,
) -> list[str]:
    """The paths so many folders down that hold all of `match`, and none that follows a `!`.

    `mode` is all, file or dir; `"2+"` as a level gives the files of all levels up to 2.
    """
    if isinstance(level, str):
        return [
            path
            for deep in range(1, int(level.rstrip("+")) + 1)
            for path in ls(dirname, match, "file", deep)
        ]
    if mode not in ("all", "dir", "file") or level < 1:
        raise AssertionError(
            f"mode {mode!r} and level {level!r}: expected all, dir or file, and a positive integer"
        )
    names = sorted(os.listdir(dirname))
    paths = names if dirname == "." else [os.path.join(dirname, name) for name in names]
    if level > 1:
        return [
            path
            for inner in paths
            if os.path.isdir(inner)
            for path in ls(inner, match, mode, level - 1)
        ]
    wanted = [
        piece for piece in ([match] if isinstance(match, str) else match) if piece
    ]
    matches = [
        p
        for p in paths
        if all((w[1:] not in p) if w[0] == "!" else (w in p) for w in wanted)
    ]
    return [
        path
        for path in matches
        if mode == "all" or os.path.isdir(path) == (mode == "dir")
    ]


def mrlines(fname: str, sp: str = "\n") -> list[str]:
    """The lines of a file, without empty ones at its end."""
    lines = Path(fname).read_text("utf-8").split(sp)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def mwlines(lines: Sequence[str], fname: str) -> None:
    """Lines to a file."""
    Path(fname).write_text("\n".join(lines), "utf-8")


def last_modified(pth: str) -> str:
    """When a file was changed, as `yymmddHHMMSS`."""
    return datetime.fromtimestamp(os.path.getmtime(pth)).strftime("%y%m%d%H%M%S")


def parse_file(s: str) -> tuple[str | None, str]:
    """The media type of a text and the file it stands for; `(None, s)` where it is words, `("url", s)` for a page."""
    if s != "." and len(s) <= LONGEST_PATH and "\0" not in s and os.path.exists(s):
        if not os.path.isfile(s):
            if as_upstream():
                raise AssertionError(f"{s} is a folder")
            return None, s
        return _media_type(s) or "unknown", s
    if s.startswith("data:image/"):
        return parse_file(media_path(s))
    if is_url(s):
        found = _media_type(urlsplit(s).path)
        return (found, media_path(s)) if found else ("url", s)
    return None, s


def _media_type(path: str) -> str | None:
    suffix = os.path.splitext(path)[1].lower()
    return "image/webp" if suffix == ".webp" else mimetypes.types_map.get(suffix)


def media_path(source: str) -> str:
    """The local file of a data URL (decoded), of an http(s) URL (fetched), or of a path (as it is)."""
    if source.startswith("data:"):
        _, _, encoded = source.partition("base64,")
        path = data_root() / "files" / f"{md5(encoded)}.png"
        if not path.exists():
            decode_base64_to_image_file(source, path)
        return str(path)
    if source.startswith(("http://", "https://")):
        suffix = os.path.splitext(urlsplit(source).path)[1].lower()
        path = data_root() / "files" / f"{md5(source)}{suffix}"
        return str(
            fetch_declared(source, path, allow_private=current().allow_private_urls)
        )
    return source


def file_size(f: str, unit: str = "GB") -> float:
    """The size of a file in B, KB, MB or GB."""
    return os.stat(f).st_size / _UNITS[unit]


def parquet_to_tsv(file_path: str) -> None:
    """A parquet table again as `.tsv`, beside it."""
    import pandas

    pandas.read_parquet(file_path).to_csv(
        os.path.join(
            os.path.dirname(file_path),
            f"{os.path.basename(file_path).split('.')[0]}.tsv",
        ),
        sep="\t",
        index=False,
    )


class NumpyEncoder(json.JSONEncoder):
    """JSON of numpy's numbers and arrays."""

    def default(self, o: Any) -> Any:
        """Plain data of what JSON does not know."""
        if type(o).__name__ == "void":
            return None
        value = o.tolist() if hasattr(o, "tolist") else o
        if isinstance(value, complex):
            return {"real": value.real, "imag": value.imag}
        return value if value is not o else super().default(o)
