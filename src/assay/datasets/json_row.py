"""Parse one JSON object strictly. If that fails, report what is wrong and where.

NaN, a repeated key, half a surrogate pair and a NUL character are faults here, though
other readers accept them. msgspec parses the valid rows. A row that it refuses, or that
looks suspicious, is parsed again to find the fault.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from . import faults
from .faults import RowFault, too_long

TAB, LINE_FEED, CARRIAGE_RETURN, BACKSLASH = 9, 10, 13, 92
_decode = msgspec.json.Decoder().decode
_HIGH_SURROGATE = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW_SURROGATE = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(
    r"\\\\"  # an escaped backslash; the characters after it are plain text
    rf"|{_HIGH_SURROGATE}{_LOW_SURROGATE}"
    rf"|(?P<wanted>{_HIGH_SURROGATE}|{_LOW_SURROGATE})"  # \ud83d or \ude00 alone
)
_TEXT = r'"(?:[^"\\]|\\.)*"'
_CONSTANT = re.compile(rf"{_TEXT}|(?P<wanted>-?Infinity|NaN)")
_NUMBER = re.compile(rf"{_TEXT}|(?P<wanted>-?\d[\d.eE+-]*)")
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
        match = next(_matches(_CONSTANT, text), None)
        if match:
            fault.column = match.start() + 1
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
    except ValueError:  # an integer of more digits than Python converts
        pass
    for match in _matches(_LONE_SURROGATE, text):
        return RowFault(
            "half of a surrogate pair is not a character",
            column=match.start() + 1,
            got=match.group(),
            fix="remove it",
        )
    for match in _matches(_NUMBER, text):
        if _is_out_of_range(match.group()):
            return _out_of_range(match)
    return RowFault(
        f"not valid JSON: {error}",
        column=1,
        got=text,
    )


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of the group `wanted`. The other parts of the pattern only skip text."""
    for match in pattern.finditer(text):
        if match["wanted"] is not None:
            yield match


def _refuse_constant(name: str) -> None:
    raise RowFault(
        f"{name} is not JSON",
        got=name,
        fix=f'write null, or "{name}" as text',
    )


def _is_out_of_range(number: str) -> bool:
    try:
        value = json.loads(number)
    except ValueError:  # an integer of more digits than Python converts
        return True
    return isinstance(value, float) and math.isinf(value)


def _out_of_range(number: re.Match[str]) -> RowFault:
    digits = number.group().removeprefix("-")
    if digits.isdecimal():
        reason = f"a number of {len(digits)} digits cannot be read"
    else:
        reason = "a number is out of range"
    return RowFault(
        reason,
        column=number.start() + 1,
        got=number.group(),
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
        if _may_repeat_keys(line, row):
            json.loads(line, object_pairs_hook=_unique)
    except RecursionError:
        raise RowFault(
            "the row is nested too deeply",
            column=1,
            got=line[:60],
            fix="flatten the row",
        ) from None


def _may_repeat_keys(
    line: bytes,
    row: dict[str, Any],
) -> bool:
    """Return False if the line has as many `":` as the row has keys, so that no key was given twice."""
    # Searching a byte by its number is several times faster than `in` with a bytes object.
    if (
        line.find(b" :") >= 0
        or (TAB in line and b"\t:" in line)
        or (line.find(CARRIAGE_RETURN, 0, -2) >= 0 and b"\r:" in line)
        or (line.find(LINE_FEED, 0, -1) >= 0 and b"\n:" in line)
    ):
        return True
    colons = line.count(b'":')
    if colons == len(row):
        return False
    # `\":` is a part of a text, but `\\":` ends a key with a backslash.
    if b'\\\\":' in line:
        return True
    return colons - line.count(b'\\":') != _count_keys(row)


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
