"""Parse one JSON object strictly. If that fails, report what is wrong and where.

NaN, a repeated key, half a surrogate pair and a NUL character are faults here, though
other readers accept them. msgspec parses the valid rows. A row that it refuses, or that
looks suspicious, is parsed again to find the fault.
"""

import json
import re
from typing import Any

import msgspec

from . import faults
from .faults import RowFault, too_long

TAB, BACKSLASH = 9, 92
_decode = msgspec.json.Decoder().decode
_HIGH_SURROGATE = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW_SURROGATE_START = r"\\u[dD][c-fC-F]"
_LONE_SURROGATE = re.compile(
    rf"{_HIGH_SURROGATE}(?!{_LOW_SURROGATE_START})"  # \ud83d alone
    rf"|(?<!{_HIGH_SURROGATE}){_LOW_SURROGATE_START}[0-9a-fA-F]{{2}}"  # \ude00 alone
)
_LONG_INTEGER = re.compile(r"\d{400,}")
_TRAILING_COMMA = re.compile(r",\s*[}\]]")


def decode_row(line: bytes, *, zeros: bool = False) -> dict[str, Any]:
    """Return the object on a line. Raise `RowFault` if it is invalid.

    With `zeros`, texts may contain NUL characters.
    """
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
    # Searching a byte by its number is several times faster than `in` with a bytes object.
    if (
        line.count(b'":') != len(row)
        or line.find(b" :") >= 0
        or TAB in line
        or line.find(b"\n", 0, -1) >= 0
    ):
        _check_duplicate_keys(line, row)
    if not zeros and BACKSLASH in line and b"\\u0000" in line:
        _check_zero_characters(row)
    return row


def diagnose(line: bytes, error: Exception) -> RowFault:
    """Return the reason why a line is not a JSON object, with the character position of the fault."""
    try:
        text = line.decode("utf-8").rstrip()
    except UnicodeDecodeError as broken:
        character = len(line[: broken.start].decode("utf-8")) + 1
        return RowFault(
            f"byte 0x{line[broken.start]:02x} is not UTF-8",
            column=character,
            got=line[broken.start - 20 : broken.start + 20]
            if broken.start > 20
            else line[:40],
            fix="save the file as UTF-8",
        )
    if "\0" in text:
        return RowFault(
            "the line holds a zero byte",
            column=text.index("\0") + 1,
            fix="remove it",
        )
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except RowFault as fault:
        match = re.search(rf"[:,\[]\s*{re.escape(str(fault.got))}", text)
        if match:
            fault.column = match.end() - len(str(fault.got)) + 1
        else:
            fault.column = None
        return fault
    except json.JSONDecodeError as broken:
        return _describe(text, broken)
    except RecursionError:
        return RowFault(
            "the row is nested too deeply",
            column=1,
            got=text,
            fix="flatten the row",
        )
    except ValueError:
        return _long_integer(text)
    if match := _LONE_SURROGATE.search(text):
        return RowFault(
            "half of a surrogate pair is not a character",
            column=match.start() + 1,
            got=match.group(),
            fix="remove it",
        )
    if _LONG_INTEGER.search(text):
        return _long_integer(text)
    return RowFault(
        f"not valid JSON: {error}",
        column=1,
        got=text,
    )


def _refuse_constant(name: str) -> None:
    raise RowFault(
        f"{name} is not JSON",
        got=name,
        fix=f'write null, or "{name}" as text',
    )


def _long_integer(text: str) -> RowFault:
    match = _LONG_INTEGER.search(text)
    if match:
        digits = len(match.group())
    else:
        digits = 0
    if digits:
        reason = f"a number of {digits} digits cannot be read"
    else:
        reason = "a number is out of range"
    return RowFault(
        reason,
        column=match.start() + 1 if match else 1,
        got=text[match.start() :] if match else text,
        fix="write it as text, in quotes",
    )


def _describe(
    text: str,
    broken: json.JSONDecodeError,
) -> RowFault:
    position = broken.pos
    near = text[max(position - 20, 0) : position + 20]
    comma = _TRAILING_COMMA.search(text, max(text.rfind(",", 0, position + 1), 0))
    if position >= len(text) or broken.msg.startswith("Unterminated string"):
        return RowFault(
            "the row ends before the object is closed",
            column=position + 1,
            got=text[-40:],
            fix="the file was cut, or a brace or quote is missing",
        )
    if comma is not None and comma.start() <= position < comma.end():
        return RowFault(
            "trailing comma",
            column=comma.start() + 1,
            got=near,
            fix="remove the comma",
        )
    if text[position] == "'":
        return RowFault(
            "single quotes are not JSON",
            column=position + 1,
            got=near,
            fix='use double quotes: {"a": "b"}',
        )
    if broken.msg == "Extra data":
        return RowFault(
            "more text after the object",
            column=position + 1,
            got=near,
            fix="write one object a line",
        )
    return RowFault(
        f"not valid JSON: {broken.msg[:1].lower()}{broken.msg[1:]}",
        column=position + 1,
        got=near,
    )


def _check_duplicate_keys(
    line: bytes,
    row: dict[str, Any],
) -> None:
    """Raise if an object contains the same key twice.

    For nearly every row, counting `":` shows that it does not. Only the other rows are
    parsed key by key.
    """
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


def _count_keys(value: object) -> int:
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


def _has_zero(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in name or _has_zero(inner) for name, inner in value.items())
    return isinstance(value, list) and any(map(_has_zero, value))


def _check_cell_sizes(line: bytes) -> None:
    """Raise if a text is larger than the limit. Called before parsing, so that no
    memory is allocated for the text.
    """
    pieces = line.split(b'"')
    for index, piece in enumerate(pieces):
        if len(piece) > faults.CELL_LIMIT:
            is_value = index >= 3 and pieces[index - 1].strip() == b":"
            if is_value:
                column = pieces[index - 2].decode("utf-8", "replace")[:60]
            else:
                column = None
            raise too_long(len(piece), faults.CELL_LIMIT, "cell", column)


def decode_value(text: str, column: str) -> object:
    """Return the value of a text cell that contains JSON."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RowFault(
            f"not valid JSON: {error}",
            column=column,
            got=text,
        ) from None
