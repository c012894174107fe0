"""JSON rows: the bytes of one object to a dictionary, strictly, with the fault and its place when that fails.

What other readers let pass is a fault here: NaN, a key given twice, half a surrogate pair, a zero byte. msgspec reads
the good rows; only a row that it refuses, or that looks odd, is read again slowly to say what is wrong.
"""

import json
import re
from typing import Any

import msgspec

from . import faults
from .faults import RowFault, too_long

TAB, BACKSLASH = 9, 92
_decode = msgspec.json.Decoder().decode
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_LONG_INTEGER = re.compile(r"\d{400,}")
_TRAILING_COMMA = re.compile(r",\s*[}\]]")


def decode_row(line: bytes) -> dict[str, Any]:
    """The object on a line; raises `RowFault`."""
    if len(line) > faults.CELL_LIMIT:
        _check_cell_sizes(line)
    try:
        row = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise diagnose(line, error) from None
    if type(row) is not dict:
        kind = {list: "an array", str: "a text", type(None): "null"}.get(
            type(row), "a bare value"
        )
        raise RowFault(
            f"expected a JSON object, found {kind}",
            column=1,
            got=row,
            fix='write {"column": value, …}',
        )
    # Single bytes are looked for by number: several times faster than `in` with a bytes object.
    if (
        line.count(b'":') != len(row)
        or line.find(b" :") >= 0
        or TAB in line
        or line.find(b"\n", 0, -1) >= 0
    ):
        _check_duplicate_keys(line, row)
    if BACKSLASH in line and b"\\u0000" in line:
        _check_zero_characters(row)
    return row


def diagnose(line: bytes, error: Exception) -> RowFault:
    """Why a line is not a JSON object, and the character where that shows."""
    try:
        text = line.decode("utf-8").rstrip()
    except UnicodeDecodeError as broken:
        place = len(line[: broken.start].decode("utf-8")) + 1
        return RowFault(
            f"byte 0x{line[broken.start]:02x} is not UTF-8",
            column=place,
            got=line[broken.start - 20 : broken.start + 20]
            if broken.start > 20
            else line[:40],
            fix="save the file as UTF-8",
        )
    if "\0" in text:
        return RowFault(
            "the line holds a zero byte", column=text.index("\0") + 1, fix="remove it"
        )
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except RowFault as fault:
        found = re.search(rf"[:,\[]\s*{re.escape(str(fault.got))}", text)
        fault.column = found.end() - len(str(fault.got)) + 1 if found else None
        return fault
    except json.JSONDecodeError as broken:
        return _describe(text, broken)
    except RecursionError:
        return RowFault(
            "the row is nested too deeply", column=1, got=text, fix="flatten the row"
        )
    except ValueError:
        return _long_integer(text)
    if found := _LONE_SURROGATE.search(text):
        return RowFault(
            "half of a surrogate pair is not a character",
            column=found.start() + 1,
            got=found.group(),
            fix="remove it",
        )
    if _LONG_INTEGER.search(text):
        return _long_integer(text)
    return RowFault(f"not valid JSON: {error}", column=1, got=text)


def _refuse_constant(name: str) -> None:
    raise RowFault(
        f"{name} is not JSON", got=name, fix=f'write null, or "{name}" as text'
    )


def _long_integer(text: str) -> RowFault:
    found = _LONG_INTEGER.search(text)
    digits = len(found.group()) if found else 0
    what = (
        f"a number of {digits} digits cannot be read"
        if digits
        else "a number is out of range"
    )
    return RowFault(
        what,
        column=found.start() + 1 if found else 1,
        got=text[found.start() :] if found else text,
        fix="write it as text, in quotes",
    )


def _describe(text: str, broken: json.JSONDecodeError) -> RowFault:
    place = broken.pos
    near = text[max(place - 20, 0) : place + 20]
    comma = _TRAILING_COMMA.search(text, max(text.rfind(",", 0, place + 1), 0))
    if place >= len(text) or broken.msg.startswith("Unterminated string"):
        return RowFault(
            "the row ends before the object is closed",
            column=place + 1,
            got=text[-40:],
            fix="the file was cut, or a brace or quote is missing",
        )
    if comma is not None and comma.start() <= place < comma.end():
        return RowFault(
            "trailing comma", column=comma.start() + 1, got=near, fix="remove the comma"
        )
    if text[place] == "'":
        return RowFault(
            "single quotes are not JSON",
            column=place + 1,
            got=near,
            fix='use double quotes: {"a": "b"}',
        )
    if broken.msg == "Extra data":
        return RowFault(
            "more text after the object",
            column=place + 1,
            got=near,
            fix="write one object a line",
        )
    return RowFault(
        f"not valid JSON: {broken.msg[:1].lower()}{broken.msg[1:]}",
        column=place + 1,
        got=near,
    )


def _check_duplicate_keys(line: bytes, row: dict[str, Any]) -> None:
    """Raises if a key is given twice. Counting `":` settles nearly every row; the rest is read pair by pair."""
    try:
        spelled_plainly = not (
            b" :" in line
            or b"\t:" in line
            or b"\n:" in line
            or b"\r:" in line
            or b'\\\\":' in line
        )
        if spelled_plainly and line.count(b'":') - line.count(b'\\":') == _count_keys(
            row
        ):
            return
        json.loads(line, object_pairs_hook=_unique)
    except RecursionError:
        raise RowFault(
            "the row is nested too deeply",
            column=1,
            got=line[:60],
            fix="flatten the row",
        ) from None


def _count_keys(value: Any) -> int:
    if type(value) is dict:
        return len(value) + sum(map(_count_keys, value.values()))
    if type(value) is list:
        return sum(map(_count_keys, value))
    return 0


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names: set[str] = set()
        for name, value in pairs:
            if name in names:
                raise RowFault(
                    f"the key {name!r} is given twice",
                    column=name,
                    got=value,
                    fix="keep one of them",
                )
            names.add(name)
    return members


def _check_zero_characters(row: dict[str, Any]) -> None:
    for name, value in row.items():
        if "\0" in name or _has_zero(value):
            raise RowFault(
                "the text holds a zero character (\\u0000)",
                column=name,
                got=value,
                fix="remove it",
            )


def _has_zero(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in name or _has_zero(inner) for name, inner in value.items())
    return isinstance(value, list) and any(map(_has_zero, value))


def _check_cell_sizes(line: bytes) -> None:
    """Raises for a text over the limit, before memory is spent on reading it."""
    pieces = line.split(b'"')
    for place, piece in enumerate(pieces):
        if len(piece) > faults.CELL_LIMIT:
            is_value = place >= 3 and pieces[place - 1].strip() == b":"
            column = (
                pieces[place - 2].decode("utf-8", "replace")[:60] if is_value else None
            )
            raise too_long(len(piece), faults.CELL_LIMIT, "cell", column)


def decode_value(text: str, column: str) -> Any:
    """A JSON value that a text cell holds."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RowFault(f"not valid JSON: {error}", column=column, got=text) from None
