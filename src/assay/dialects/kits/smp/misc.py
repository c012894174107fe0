"""The toolkits' `smp.misc`: small helpers for names, lists, time, the machine and its environment.

Text that the toolkits evaluate as Python is only parsed as a literal here.
"""

import ast
import json
import operator
import os
import re
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....datasets.cells import as_text_list
from ....datasets.faults import RowFault
from ....scorers.text.normalize_text import strip_marks
from ...shapes import Fields
from ..state import as_upstream

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "cn_string",
    "d2df",
    "extract_json_objects",
    "get_cache_path",
    "get_gpu_memory",
    "get_rank_and_world_size",
    "githash",
    "istype",
    "listinstr",
    "load_env",
    "modelscope_flag_set",
    "process_punctuation",
    "proxy_set",
    "splitlen",
    "timestr",
    "toliststr",
    "version_cmp",
]


_CHINESE = re.compile("[\u4e00-\u9fff]")
_KEPT = {"second": 14, "minute": 12, "hour": 10, "day": 8}


def listinstr(
    lst: Iterable[str],
    s: str,
) -> bool:
    """Return True if a string in `lst` occurs in `s`."""
    if as_upstream() and not isinstance(lst, list):
        raise AssertionError("listinstr takes a list")
    return any(piece in s for piece in lst)


def splitlen(s: str, sym: str = "/") -> int:
    """Return the number of pieces into which `sym` splits `s`."""
    return len(s.split(sym))


def cn_string(s: str) -> bool:
    """Return True if a string contains Chinese characters."""
    return bool(_CHINESE.search(s))


def d2df(D: Fields) -> "DataFrame":
    """Return a dictionary as a data frame with one row."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in D.items()})


def timestr(
    granularity: str | bool = "second",
    minute: bool = False,
    *,
    second: bool | None = None,
) -> str:
    """Return the current time as `YYYYMMDDHHMMSS`; `granularity` may cut it after the day, hour or minute.

    With the parameters of VLMEvalKit's documented revision, `timestr(second=True,
    minute=False)`, the year has two digits.
    """
    now = time.strftime("%Y%m%d%H%M%S")
    if isinstance(granularity, bool) or second is not None or minute:
        if isinstance(granularity, bool):
            is_whole = granularity
        else:
            is_whole = second is not False
        if is_whole and second is not False:
            return now[2:14]
        return now[2 : 12 if minute else 10]
    if granularity not in _KEPT:
        raise AssertionError(
            f"granularity {granularity!r} is none of {', '.join(_KEPT)}"
        )
    return now[: _KEPT[granularity]]


def toliststr(s: object) -> list[str]:
    """Return a cell as a list of strings: the entries of a list literal (without running it), or the cell itself."""
    if as_upstream():
        return _as_upstream(s)
    try:
        return as_text_list(s)
    except RowFault as fault:
        raise ValueError(fault.what) from fault


def _as_upstream(s: object) -> list[str]:
    if isinstance(s, str):
        is_list = len(s) > 1 and s[0] == "[" and s[-1] == "]"
        if is_list:
            return [str(entry) for entry in ast.literal_eval(s)]
        return [s]
    if isinstance(s, list):
        return [str(entry) for entry in s]
    raise NotImplementedError(f"neither a text nor a list: {s!r}")


def istype(s: object, type: type) -> bool:
    """Return True if `s` is a Python literal of the given type: `istype("7", int)`. Nothing is run."""
    if isinstance(s, type):
        return True
    if not isinstance(s, str):
        return False
    try:
        return isinstance(ast.literal_eval(s.strip(" \t")), type)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def extract_json_objects(
    text: str,
    decoder: json.JSONDecoder | None = None,
) -> Iterator[Any]:
    """Yield the JSON objects in a string."""
    reader = decoder or json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        try:
            value, position = reader.raw_decode(text, position)
            yield value
        except ValueError:
            position += 1
        position = text.find("{", position)


def process_punctuation(inText: str) -> str:
    """Remove punctuation as in the VQA metric: a mark becomes a space, unless it is next to one."""
    return strip_marks(inText, as_vlmeval=True)


def build_option_str(option_dict: Fields) -> str:
    """Return the options of a question as text: an introduction, then a line such as `A. blue` for each option."""
    lines = [
        f"{letter}. {text}\n"
        for letter, text in option_dict.items()
        if text is not None and text == text
    ]
    return "There are several options: \n" + "".join(lines)


_CACHES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def modelscope_flag_set() -> bool:
    """Return True if `$VLMEVALKIT_USE_MODELSCOPE` requests downloads from ModelScope instead of Hugging Face."""
    return os.environ.get("VLMEVALKIT_USE_MODELSCOPE") in ("1", "True")


def HFCacheRoot() -> str:
    """Return the folder in which the Hugging Face hub's downloads are stored."""
    for name in _CACHES:
        folder = os.environ.get(name)
        if folder and os.path.exists(folder):
            if folder.split("/")[-1] == "hub":
                return folder
            return os.path.join(folder, "hub")
    root = os.path.join(os.path.expanduser("~"), ".cache", "huggingface", "hub")
    os.makedirs(root, exist_ok=True)
    return root


def get_cache_path(
    repo_id: str,
    branch: str | None = "main",
    repo_type: str = "datasets",
) -> str | None:
    """Return the folder with the downloaded snapshot of a repository on the Hugging Face hub, or `None`.

    It is the snapshot of `branch`, or the newest one if `branch` is None.
    """
    repo = Path(HFCacheRoot()) / f"{repo_type}--{repo_id.replace('/', '--')}"
    if branch is not None:
        reference = repo / "refs" / branch
        if not reference.is_file():
            return None
        snapshot = repo / "snapshots" / reference.read_text("utf-8").strip()
        return str(snapshot) if snapshot.is_dir() else None
    snapshots = [folder for folder in (repo / "snapshots").glob("*") if folder.is_dir()]
    if snapshots:
        return str(max(snapshots, key=lambda folder: folder.stat().st_mtime))
    return None


def proxy_set(s: str) -> None:
    """Set a proxy for all web requests of this process."""
    for key in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        os.environ[key] = s


def get_rank_and_world_size() -> tuple[int, int]:
    """Return `$RANK` (default 0) and `$WORLD_SIZE` (default 1), for distributed scripts. assay ignores them."""
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def get_gpu_memory() -> list[int]:
    """Return the free memory of each GPU in MiB; an empty list without a GPU."""
    command = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        output = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
        return [int(line) for line in output.split()]
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def githash(
    fallback: str = "unknown",
    digits: int | None = 8,
) -> str:
    """Return the first `digits` characters of the working folder's git commit, or `fallback` outside a repository."""
    if digits is not None and not isinstance(digits, int):
        raise TypeError("digits must be None or an integer")
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return fallback
    return done.stdout.strip()[:digits]


def load_env() -> None:
    """Do nothing. VLMEvalKit reads keys from a file next to its package; assay takes them from the environment only."""


def version_cmp(
    v1: str,
    v2: str,
    op: str = "eq",
) -> bool:
    """Compare two version numbers by an operator: `eq`, `ge`, `lt` and so on."""
    from packaging import version

    return bool(getattr(operator, op)(version.parse(v1), version.parse(v2)))


def gpt_key_set() -> bool:
    """Return True if a judge can be called: the run has a judge, or the environment has an API key."""
    from ..state import current

    if current().judge is not None:
        return True
    key = os.environ.get("OPENAI_API_KEY")
    if key is not None:
        return key.startswith("sk-")
    return "AZURE_OPENAI_API_KEY" in os.environ
