"""Convert the value of one column to its role: a question, an answer, an image, a list.

Some benchmarks write several images or answers of one row as a Python list, such as `['a.png', 'b.png']`. Such a cell
is parsed as a literal, without running code. Only flat lists of texts and numbers are accepted; anything else in
brackets is a fault of its row.
"""

import ast
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, SupportsFloat, TypeGuard

from ..core import Message, Text, Tool, as_messages, shorten
from ..core.tools import read_tools
from .faults import RowFault
from .json_row import decode_value


def looks_like_list(cell: object) -> TypeGuard[str]:
    """Return True if a cell, ignoring surrounding whitespace, starts with `[` and ends with `]`."""
    return (
        isinstance(cell, str)
        and cell[:1] in "[ \t\n"
        and cell.strip()[:1] == "["
        and cell.strip()[-1:] == "]"
    )


def parse_list(
    cell: str,
    column: str | None = None,
) -> list[str]:
    """Return the entries of a list literal as texts. Raise `RowFault` for anything else in brackets."""
    try:
        value = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise _not_a_list(cell, column) from error
    if not isinstance(value, list):
        raise _not_a_list(cell, column)
    for entry in value:
        if not isinstance(entry, (str, int, float)):
            raise _not_a_list(cell, column)
    return [str(entry) for entry in value]


def as_text_list(
    cell: object,
    column: str | None = None,
) -> list[str]:
    """Return a cell as a list of texts: the entries of a list or list literal, or the whole cell as one text."""
    if isinstance(cell, (list, tuple)):
        return [str(entry) for entry in cell]
    if looks_like_list(cell):
        return parse_list(cell, column)
    return [str(cell)]


def _not_a_list(
    cell: str,
    column: str | None,
) -> RowFault:
    """Return the error for a cell that starts like a list but is not a list of texts: `[1, 2` or `{'a': 1}`."""
    return RowFault(
        f"not a list of texts: {shorten(cell)}",
        column=column,
        fix="write ['first', 'second'], each entry in quotes",
    )


Source = Literal["file", "json", "table", "python"]
"""Where rows come from. This determines the types of their values.

"file": values typed by column. "json": values typed one by one. "table": texts only.
"python": objects of the user's code.
"""
EXACT_INTEGERS = 2**53
"""Floats below this limit represent every whole number exactly."""


def as_input(value: object, column: str) -> str | tuple[Message, ...]:
    """Return the question of a row: the text or the list of messages in a cell."""
    if isinstance(value, str):
        return value
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(turn, (Mapping, Message)) for turn in value)
    ):
        return _as_messages(value, column)
    raise RowFault(
        f"expected text, found {_type_name(value)}",
        column=column,
        got=value,
        fix="write it as text",
    )


def is_missing(value: object) -> bool:
    """Return True if a cell has no value: null, or NaN, which marks missing values in tables of numbers."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_name(value: object) -> str | None:
    """Return the text of a cell in a group, cluster or breakdown column, or `None` if the cell is empty."""
    if is_missing(value) or value == "":
        return None
    return str(value)


def as_weight(value: object, column: str) -> float:
    """Return the weight of a row as a finite number above 0. Raise `RowFault` for anything else."""
    weight = math.nan
    if isinstance(value, (str, SupportsFloat)):
        with suppress(TypeError, ValueError):
            weight = float(value)
    if isinstance(value, bool) or not 0.0 < weight < math.inf:
        raise RowFault(
            "the weight is not a number above 0",
            column=column,
            got=value,
            fix="write a number above 0, or leave the row out",
        )
    return weight


def as_target(value: object, source: Source = "file") -> object:
    """Convert a cell to a target: numbers to text, a list to a tuple of alternatives,
    NaN to None.

    Some values have two accepted spellings and become a tuple of both, such as
    `("true", "True")`. These are booleans, and whole numbers in a typed column, where a
    single null turns all integers into floats: `("5", "5.0")`.
    """
    if isinstance(value, (list, tuple)):
        return tuple(
            spelled for entry in value for spelled in _spellings(entry, source)
        )
    spellings = _spellings(value, source)
    if len(spellings) == 1:
        return spellings[0]
    return spellings


def _is_whole(value: object) -> TypeGuard[float]:
    """Return True for a float such as 3.0 that represents one integer exactly."""
    if not isinstance(value, float) or not value.is_integer():
        return False
    return abs(value) < EXACT_INTEGERS


def _spellings(value: object, source: Source) -> tuple[Any, ...]:
    """Return the accepted spellings of a right answer, the preferred one first: `("5", "5.0")`."""
    if is_missing(value) or (value == "" and source == "table"):
        return (None,)
    if isinstance(value, bool):
        python_form = str(value)
        json_form = python_form.lower()
        if source == "python":
            return (python_form, json_form)
        return (json_form, python_form)
    if source == "file" and _is_whole(value):
        return (str(int(value)), str(value))
    if isinstance(value, (int, float)):
        return (str(value),)
    if isinstance(value, (list, tuple)):
        return (as_target(value, source),)
    return (value,)


def as_id(value: object, column: str) -> str:
    """Return the id as text. Raise `RowFault` if it is missing or contains a line break or a NUL character."""
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        text = value
    elif is_missing(value):
        text = ""
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        text = str(value)
    else:
        raise RowFault(
            f"an id must be text, found {_type_name(value)}",
            column=column,
            got=value,
        )
    if not text:
        raise RowFault(
            "the id is missing",
            column=column,
            fix="give every row an id, or leave ids out of all rows",
        )
    if not text.isprintable() and any(mark in text for mark in "\0\n\r"):
        raise RowFault(
            "the id holds a line end or a zero character",
            column=column,
            got=text,
            fix="remove it",
        )
    return text


def dialogue_of(
    row: Mapping[str, Any],
    messages: str | None,
    turns: str | None,
) -> tuple[str | tuple[Message, ...], tuple[Any, ...], str | dict[str, Any] | None]:
    """Return the first prompt, the later user turns, and the reference answer of a dialogue.

    The reference answer is the last turn if its role is the assistant, otherwise None.
    """
    column = messages or turns or ""
    value = row[column]
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = decode_value(value, column)
    if not isinstance(value, (list, tuple)) or not value:
        raise RowFault(
            "expected a list of turns",
            column=column,
            got=value,
            fix='write [{"role": "user", "content": "…"}]',
        )
    if messages is None and all(isinstance(turn, str) for turn in value):
        return value[0], tuple(value[1:]), None
    conversation = _as_messages(value, column)
    _check_turns(conversation, column)
    last = conversation[-1]
    if last.role == "assistant" and last.parts and len(conversation) > 1:
        return conversation[:-1], (), _reference(last)
    return conversation, (), None


def _reference(last: Message) -> str | dict[str, Any]:
    """Return the reference answer in the last turn: its text, or its calls as `{"calls": […]}`."""
    if not last.calls:
        return last.text
    calls = [{"name": call.name, "arguments": call.arguments} for call in last.calls]
    if last.text:
        return {"calls": calls, "text": last.text}
    return {"calls": calls}


def _check_turns(
    conversation: tuple[Message, ...],
    column: str,
) -> None:
    """Raise if a turn before the last one is empty. Dropping the turn would change the question."""
    for number, message in enumerate(conversation[:-1], start=1):
        is_silent = message.role == "assistant" and not any(
            not isinstance(part, Text) or part.text for part in message.parts or ()
        )
        if message.parts is None or is_silent:
            raise RowFault(
                f"turn {number} ({message.role}) has no content, and other turns follow it",
                column=column,
                fix="write its content or its tool_calls, or leave the turn out",
            )


def tools_of(
    value: object,
    column: str,
    *,
    is_required: bool,
) -> tuple[Tool, ...]:
    """Return the tools of a row.

    If a cell does not look like tools, it is ignored, because a column named `tools`
    may have another meaning. With `is_required`, raise in this case.
    """
    if is_missing(value) or value == "":
        return ()
    try:
        return read_tools(value)
    except ValueError as error:
        if not is_required and not _looks_like_tools(value):
            return ()
        raise RowFault(
            str(error),
            column=column,
            got=value,
            fix="write the tools as in a request of OpenAI, Anthropic or Gemini",
        ) from error


def _looks_like_tools(value: object) -> bool:
    """Return True if a value seems to describe tools: objects, or JSON text of objects."""
    if isinstance(value, str):
        return value.lstrip().startswith(("[{", "{"))
    if isinstance(value, (list, tuple)):
        entries = value
    else:
        entries = [value]
    return any(isinstance(entry, Mapping) for entry in entries)


def _as_messages(value: object, column: str) -> tuple[Message, ...]:
    try:
        return as_messages(value)
    except (TypeError, ValueError, KeyError) as error:
        raise RowFault(
            f"not a list of messages: {error}",
            column=column,
            got=value,
        ) from error


def _type_name(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        bool: "true or false",
        type(None): "null",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), f"a {type(value).__name__}")
