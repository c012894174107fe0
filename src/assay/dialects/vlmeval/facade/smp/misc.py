"""`vlmeval.smp.misc`: small helpers on names, lists and time."""

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .....datasets.faults import RowFault
from .....datasets.list_literals import as_text_list
from ...session import session

__all__ = [
    "cn_string", "d2df", "get_rank_and_world_size", "gpt_key_set", "istype", "listinstr", "timestr", "toliststr",
]  # fmt: skip

_CHINESE = re.compile("[\u4e00-\u9fff]")


def listinstr(lst: Iterable[str], s: str) -> bool:
    """Whether any of the strings occurs in `s`."""
    return any(piece in s for piece in lst)


def cn_string(s: str) -> bool:
    """Whether a text has Chinese characters."""
    return bool(_CHINESE.search(s))


def d2df(d: Mapping[str, Any]) -> Any:
    """A dictionary as a data frame of one row."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in d.items()})


def timestr(granularity: str = "second") -> str:
    """The time as `241231235959`; `day` and `minute` end earlier."""
    stamp = time.strftime("%y%m%d%H%M%S")
    return {"second": stamp, "minute": stamp[:-2], "day": stamp[:6]}[granularity]


def toliststr(s: Any) -> list[str]:
    """A cell as texts: of a list literal its entries (nothing in it is executed), of anything else the text itself."""
    try:
        return as_text_list(s)
    except RowFault as fault:
        raise ValueError(fault.what) from fault


def istype(s: Any, kind: type) -> bool:
    """Whether a text is the literal of a value of that type; nothing in it is executed."""
    import ast

    if isinstance(s, kind):
        return True
    try:
        return isinstance(ast.literal_eval(str(s)), kind)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def gpt_key_set() -> bool:
    """Whether a judge was given to this run."""
    return session.judge is not None


def get_rank_and_world_size() -> tuple[int, int]:
    """0 of 1: assay spreads the work itself."""
    return 0, 1
