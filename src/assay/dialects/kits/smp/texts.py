"""Small helpers on texts, lists, dictionaries and time. What upstream evaluates as Python is read as a literal here."""

import ast
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ....datasets.faults import RowFault
from ....datasets.list_literals import as_text_list
from ....scorers.text.vqa_text import strip_marks
from ..rules import as_upstream

__all__ = [
    "bincount",
    "cn_string",
    "colored",
    "d2df",
    "dict_merge",
    "extract_json_objects",
    "fg",
    "h2r",
    "istype",
    "listinstr",
    "process_punctuation",
    "r2h",
    "splitlen",
    "timestr",
    "toliststr",
]

_CHINESE = re.compile("[\u4e00-\u9fff]")
_KEPT = {"second": 14, "minute": 12, "hour": 10, "day": 8}


def listinstr(lst: Iterable[str], s: str) -> bool:
    """Whether any of the texts occurs in `s`."""
    if as_upstream() and not isinstance(lst, list):
        raise AssertionError("listinstr takes a list")
    return any(piece in s for piece in lst)


def splitlen(s: str, sym: str = "/") -> int:
    """How many pieces a text has."""
    return len(s.split(sym))


def cn_string(s: str) -> bool:
    """Whether a text has Chinese characters."""
    return bool(_CHINESE.search(s))


def d2df(D: Mapping[str, Any]) -> Any:
    """A dictionary as a data frame of one row."""
    import pandas

    return pandas.DataFrame({name: [value] for name, value in D.items()})


def timestr(
    granularity: str | bool = "second",
    minute: bool = False,
    *,
    second: bool | None = None,
) -> str:
    """Now as `YYYYMMDDHHMMSS`, cut at the day, hour or minute if asked.

    Called as the documented revision has it, `timestr(second=True, minute=False)`, the year has two digits.
    """
    now = time.strftime("%Y%m%d%H%M%S")
    if isinstance(granularity, bool) or second is not None or minute:
        is_whole = granularity if isinstance(granularity, bool) else second is not False
        return (
            now[2:14]
            if is_whole and second is not False
            else now[2 : 12 if minute else 10]
        )
    if granularity not in _KEPT:
        raise AssertionError(
            f"granularity {granularity!r} is none of {', '.join(_KEPT)}"
        )
    return now[: _KEPT[granularity]]


def toliststr(s: Any) -> list[str]:
    """A cell as texts: of a list literal its entries (nothing in it is executed), of anything else the text itself."""
    if as_upstream():
        return _as_upstream(s)
    try:
        return as_text_list(s)
    except RowFault as fault:
        raise ValueError(fault.what) from fault


def _as_upstream(s: Any) -> list[str]:
    if isinstance(s, str):
        is_list = len(s) > 1 and s[0] == "[" and s[-1] == "]"
        return [str(entry) for entry in ast.literal_eval(s)] if is_list else [s]
    if isinstance(s, list):
        return [str(entry) for entry in s]
    raise NotImplementedError(f"neither a text nor a list: {s!r}")


def istype(s: Any, type: type) -> bool:
    """Whether a text is the literal of a value of that type: `istype("7", int)`; nothing in it is executed."""
    if isinstance(s, type):
        return True
    if not isinstance(s, str):
        return False
    try:
        return isinstance(ast.literal_eval(s.strip(" \t")), type)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def bincount(lst: Iterable[Any]) -> dict[Any, int]:
    """How often each entry occurs; 0 for any other."""
    bins: dict[Any, int] = defaultdict(int)
    for item in lst:
        bins[item] += 1
    return bins


def dict_merge(dct: dict[str, Any], merge_dct: Mapping[str, Any]) -> None:
    """Puts the second dictionary into the first, dictionaries within them too."""
    for name, value in merge_dct.items():
        if isinstance(dct.get(name), dict) and isinstance(value, dict):
            dict_merge(dct[name], value)
        else:
            dct[name] = value


def extract_json_objects(
    text: str, decoder: json.JSONDecoder | None = None
) -> Iterator[Any]:
    """The JSON objects that occur in a text."""
    reader = decoder or json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, place = reader.raw_decode(text, place)
            yield value
        except ValueError:
            place += 1
        place = text.find("{", place)


def process_punctuation(inText: str) -> str:
    """A text without punctuation, as the VQA metric wants it: a mark beside a space goes, any other becomes one."""
    return strip_marks(inText, as_vlmeval=True)


def h2r(value: str) -> tuple[int, ...]:
    """`#ff8000` as red, green and blue."""
    digits = value.removeprefix("#")
    if len(digits) != 6:
        raise AssertionError(f"{value!r} does not have six digits")
    return tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))


def r2h(rgb: tuple[int, int, int]) -> str:
    """Red, green and blue as `#ff8000`."""
    return "#{:02x}{:02x}{:02x}".format(*rgb)


class TerminalColours:
    """What starts a colour on a terminal: `fg.red`, `fg(255, 128, 0)`; `fg.rs` ends it."""

    rs = "\033[39m"
    black, red, green, yellow, blue, magenta, cyan, li_grey = (
        f"\033[{30 + number}m" for number in range(8)
    )
    da_grey, li_red, li_green, li_yellow, li_blue, li_magenta, li_cyan, white = (
        f"\033[{90 + number}m" for number in range(8)
    )
    grey = li_grey

    def __call__(self, *rgb: int) -> str:
        return (
            f"\033[38;2;{';'.join(map(str, rgb))}m"
            if len(rgb) == 3
            else f"\033[38;5;{rgb[0]}m"
        )


fg = TerminalColours()


def colored(s: str, color: Any) -> str:
    """A text in a colour, by its name, as `#ff8000`, or as red, green and blue."""
    if isinstance(color, str):
        named = getattr(fg, color, None)
        if named is not None:
            return f"{named}{s}{fg.rs}"
        color = h2r(color)
    return f"{fg(*color)}{s}{fg.rs}"


def build_option_str(option_dict: Mapping[str, Any]) -> str:
    """Options as lines after their letters, under a line that announces them; empty ones are left out."""
    lines = [
        f"{letter}. {text}\n"
        for letter, text in option_dict.items()
        if text is not None and text == text
    ]
    return "There are several options: \n" + "".join(lines)
