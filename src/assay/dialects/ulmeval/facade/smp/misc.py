"""`ulmeval.smp.misc`: small helpers. What upstream evaluates as Python is read by a literal parser here."""

import ast
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from typing import Any

from .....datasets.list_literals import as_text_list


def toliststr(s: Any) -> list[str]:
    """A cell as a list of texts: a list, a list literal, or one text."""
    return as_text_list(s)


def istype(s: Any, type: type) -> bool:
    """Whether a text is the literal of a type: `istype("7", int)`."""
    if isinstance(s, type):
        return True
    try:
        return isinstance(ast.literal_eval(str(s)), type)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def listinstr(lst: Iterable[str], s: str) -> bool:
    """Whether any of the texts occurs in `s`."""
    return any(piece in s for piece in lst)


def splitlen(s: str, sym: str = "/") -> int:
    """How many pieces a text has."""
    return len(s.split(sym))


def d2df(D: dict[str, Any]) -> Any:
    """A dictionary as a data frame of one row."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in D.items()})


def cn_string(s: str) -> bool:
    """Whether a text has Chinese characters."""
    return any("\u4e00" <= letter <= "\u9fff" for letter in s)


def timestr(granularity: str = "second") -> str:
    """Now as `YYYYMMDDHHMMSS`, cut at the day, hour or minute if asked."""
    kept = {"second": 14, "minute": 12, "hour": 10, "day": 8}
    return time.strftime("%Y%m%d%H%M%S")[: kept[granularity]]


def githash(fallback: str = "unknown", digits: int = 8) -> str:
    """The commit of the folder one works in; `fallback` outside a repository."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return fallback
    return done.stdout.strip()[:digits]


def dict_merge(dct: dict[str, Any], merge_dct: dict[str, Any]) -> None:
    """Puts the second dictionary into the first, dictionaries within them too."""
    for name, value in merge_dct.items():
        if isinstance(dct.get(name), dict) and isinstance(value, dict):
            dict_merge(dct[name], value)
        else:
            dct[name] = value


def extract_json_objects(text: str) -> Iterator[Any]:
    """The JSON objects that occur in a text."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            value, place = decoder.raw_decode(text, place)
            yield value
        except ValueError:
            place += 1
        place = text.find("{", place)


def get_rank_and_world_size() -> tuple[int, int]:
    """Which process of how many this is, as the environment says."""
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def load_env() -> None:
    """Nothing: keys come from the environment, never from a file beside a package."""
