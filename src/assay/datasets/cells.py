"""Cells: the value of one column as the part it plays: a question, an answer, an id, a conversation."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from ..core import Message, as_messages
from .faults import RowFault
from .json_row import decode_value

Source = Literal["file", "json", "table", "python"]
"""Where rows come from: a file with a type for each column, one whose values are written one by one, a table of texts
alone, or the user's own code."""
EXACT_INTEGERS = 2**53
"""Below it a float holds every whole number as it was written."""


def as_input(value: Any, column: str) -> str | tuple[Message, ...]:
    """The question of a row: text, or a list of messages."""
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


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: null, or the NaN by which tables of numbers write it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_name(value: Any) -> str | None:
    """What a row belongs to: a group, a cluster, a part of a breakdown; `None` where its cell is empty."""
    return None if is_missing(value) or value == "" else str(value)


def as_target(value: Any, source: Source = "file") -> Any:
    """The right answer: numbers as text, a list as a tuple of which any will do, NaN as none, the rest as it is.

    What may be spelled in two ways is a tuple of both, the source's own first: true and false, and a whole number in
    a typed column, where one null among integers turns them all into `5.0`. Other numbers are as they were written.
    """
    if isinstance(value, (list, tuple)):
        return tuple(spelled for one in value for spelled in _spellings(one, source))
    spellings = _spellings(value, source)
    return spellings[0] if len(spellings) == 1 else spellings


def _spellings(value: Any, source: Source) -> tuple[Any, ...]:
    if is_missing(value) or (value == "" and source == "table"):
        return (None,)
    if isinstance(value, bool):
        python_form, other = str(value), str(value).lower()
        return (python_form, other) if source == "python" else (other, python_form)
    if (
        isinstance(value, float)
        and source == "file"
        and value.is_integer()
        and abs(value) < EXACT_INTEGERS
    ):
        return (str(int(value)), str(value))
    if isinstance(value, (int, float)):
        return (str(value),)
    return (as_target(value, source) if isinstance(value, (list, tuple)) else value,)


def as_id(value: Any, column: str) -> str:
    """An id as text, exactly; raises for one that is missing or cannot be a line of a report."""
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
            f"an id must be text, found {_type_name(value)}", column=column, got=value
        )
    if not text:
        raise RowFault(
            "the id is missing", column=column, fix="give every row an id, or none"
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
    row: Mapping[str, Any], messages: str | None, turns: str | None
) -> tuple[str | tuple[Message, ...], tuple[Any, ...], str | None]:
    """First prompt, later user turns, and the reference where the conversation ends with the assistant's words."""
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
    last = conversation[-1]
    if last.role == "assistant" and last.parts and len(conversation) > 1:
        return conversation[:-1], (), last.text
    return conversation, (), None


def _as_messages(value: Any, column: str) -> tuple[Message, ...]:
    try:
        return as_messages(value)
    except (TypeError, ValueError, KeyError) as error:
        raise RowFault(
            f"not a list of messages: {error}", column=column, got=value
        ) from error


def _type_name(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        bool: "true or false",
        type(None): "null",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), f"a {type(value).__name__}")
