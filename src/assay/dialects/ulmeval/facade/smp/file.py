"""`ulmeval.smp.file`: where data lies, and `load` and `dump` by suffix.

`load` of a run's `eval_file` is answered from the run's store. A pickle is read if `dump` wrote it here, or with the
user's consent.
"""

import hashlib
import json
import mimetypes
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from .....datasets.declared_fetch import fetch_declared
from .....datasets.own_pickles import is_ours, sign
from .....datasets.suffix_files import dump_by_suffix, load_by_suffix
from .....media.base64_images import decode_base64_to_image_file
from .....templates.message_lists import detected_kind
from ...context import current


def LMUDataRoot() -> str:
    """`$LMUData` if that is a folder, else `~/LMUData`, which is made."""
    named = os.environ.get("LMUData")  # noqa: SIM112 - spelled as its users do
    if named and os.path.isdir(named):
        return named
    root = os.path.join(os.path.expanduser("~"), "LMUData")
    os.makedirs(root, exist_ok=True)
    return root


def load(f: str | os.PathLike[str], fmt: str | None = None) -> Any:
    """What a file holds: a data frame of a table, else plain data; an `eval_file` comes from the run's store."""
    path = Path(f).expanduser()
    surroundings = current()
    served = surroundings.tables.get(path.absolute())
    if served is not None:
        return served()
    is_pickle = (fmt or path.suffix).lstrip(".").lower() == "pkl"
    trust = surroundings.trust_pickle or (is_pickle and path.is_file() and is_ours(path))
    return load_by_suffix(path, fmt, trust_pickle=trust)


def dump(data: Any, f: str | os.PathLike[str], **kwargs: Any) -> None:
    """Writes data in the format the file's name says; what is written here can be loaded here."""
    path = Path(f).expanduser()
    dump_by_suffix(data, path, kwargs.get("fmt"))
    if path.suffix == ".pkl":
        sign(path)


def download_file(url: str, filename: str | None = None) -> str:
    """The file behind a URL; an existing one is not fetched again."""
    path = Path(filename or url.split("/")[-1])
    fetch_declared(url, path, allow_private=current().allow_private_urls)
    return str(path)


def parse_file(s: str) -> tuple[str | None, str]:
    """The media type of a string and the file it stands for; `(None, s)` where it is words."""
    kind = detected_kind(s)
    if kind is None:
        return None, s
    path = media_path(s)
    guessed = mimetypes.guess_type(path)[0] or ""
    return guessed if guessed.startswith(kind.kind) else f"{kind.kind}/{Path(path).suffix[1:] or 'unknown'}", path


def media_path(source: str) -> str:
    """The local file of a data URL (decoded), of an http(s) URL (fetched), or of a path (as it is)."""
    if source.startswith("data:"):
        path = Path(LMUDataRoot()) / "files" / f"{md5(source)}.png"
        if not path.exists():
            decode_base64_to_image_file(source, path)
        return str(path)
    if source.startswith(("http://", "https://")):
        suffix = os.path.splitext(source.partition("?")[0])[1].lower()
        path = Path(LMUDataRoot()) / "files" / f"{md5(source)}{suffix}"
        return str(fetch_declared(source, path, allow_private=current().allow_private_urls))
    return source


def md5(s: str) -> str:
    """Of a file's bytes where `s` is a file, else of the text."""
    digest = hashlib.md5(usedforsecurity=False)
    if len(s) < 4096 and "\0" not in s and os.path.isfile(s):
        with open(s, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    else:
        digest.update(s.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def ls(dirname: str = ".", match: str | Iterable[str] = (), mode: str = "all", level: int = 1) -> list[str]:
    """The entries of a folder whose names contain all of `match`; `mode` is all, dir or file."""
    wanted = [match] if isinstance(match, str) else list(match)
    found: list[str] = []
    for name in sorted(os.listdir(dirname)):
        path = os.path.join(dirname, name)
        is_folder = os.path.isdir(path)
        if is_folder and level > 1:
            found += ls(path, wanted, mode, level - 1)
        right_kind = mode == "all" or (mode == "dir") == is_folder
        if right_kind and all(part.lstrip("!") not in name if part[:1] == "!" else part in name for part in wanted):
            found.append(path)
    return found


def mrlines(fname: str, sp: str = "\n") -> list[str]:
    """The lines of a file, without an empty last one."""
    lines = Path(fname).read_text("utf-8").split(sp)
    return lines[:-1] if lines and not lines[-1] else lines


def mwlines(lines: Iterable[str], fname: str) -> None:
    """Lines to a file."""
    Path(fname).write_text("\n".join(lines), "utf-8")


def file_size(f: str, unit: str = "GB") -> float:
    """The size of a file in B, KB, MB or GB."""
    return os.path.getsize(f) / float(1024 ** ("B", "KB", "MB", "GB").index(unit))


def last_modified(pth: str) -> str:
    """When a file was changed, as `yymmddHHMMSS`."""
    return datetime.fromtimestamp(os.path.getmtime(pth)).strftime("%y%m%d%H%M%S")


class NumpyEncoder(json.JSONEncoder):
    """JSON of numpy's numbers and arrays."""

    def default(self, o: Any) -> Any:
        """Plain data of what JSON does not know."""
        return o.tolist() if hasattr(o, "tolist") else super().default(o)
