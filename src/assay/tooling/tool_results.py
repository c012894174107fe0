"""Results of calls: convert the return value of a tool to parts that a model reads."""

import dataclasses
import enum
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..core import Audio, Image, Json, Media, Part, Text, Video
from ..core.tools import ToolCall, ToolResult

LARGEST_RESULT = 1_000_000
"""Maximum bytes of text in one result. A longer text is cut, with a note for the model at its end."""
NOTHING = "(no output)"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that services refuse or that terminals interpret.

These are control characters, except tab and line ends, and lone surrogates.
"""
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")
"""A memory address in a text, as in `<Cat object at 0x7f00a1b2>`. It differs each time a call is repeated."""


def as_result(call: ToolCall, value: object) -> ToolResult:
    """Return the result of a call. A text is unchanged, media become parts, and any other value becomes JSON."""
    if isinstance(value, ToolResult):
        if value.call_id == call.id:
            return value
        return ToolResult(call.id, value.parts, value.error)
    if isinstance(value, (list, tuple)):
        pieces = value
    else:
        pieces = (value,)
    has_parts = any(isinstance(piece, (Media, Text)) for piece in pieces)
    if not has_parts:
        return ToolResult(call.id, (Text(_words(value)),))
    parts = tuple(_as_part(piece) for piece in pieces)
    return ToolResult(call.id, parts)


def _as_part(piece: object) -> Part:
    if isinstance(piece, (Text, Json, Image, Audio, Video)):
        return piece
    return Text(_words(piece))


def _words(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return NOTHING
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    try:
        return json.dumps(
            value,
            ensure_ascii=False,
            default=_as_plain,
        )
    except (TypeError, ValueError, RecursionError):
        return _without_address(value)


def _as_plain(value: object) -> object:
    """Convert a value that JSON does not support: a dataclass or set to its members, anything else to text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            entry.name: getattr(value, entry.name)
            for entry in dataclasses.fields(value)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        # The order of a set differs from process to process.
        return sorted(value, key=repr)
    return _without_address(value)


def _without_address(value: object) -> str:
    return _ADDRESS.sub("", str(value))


def collect(pieces: Iterable[Any]) -> object:
    """Return the values of a generator, up to `LARGEST_RESULT` bytes: texts joined to
    one text, other values as a list.
    """
    values: list[Any] = []
    size = 0
    for piece in pieces:
        values.append(piece)
        size += len(piece) if isinstance(piece, str) else 10
        if size > LARGEST_RESULT:
            break
    if values and all(isinstance(piece, str) for piece in values):
        return "".join(values)
    return values


def within_limits(result: ToolResult) -> ToolResult:
    """Return the result with control characters written as escapes, cut to `LARGEST_RESULT` bytes."""
    room = LARGEST_RESULT
    parts: list[Part] = []
    is_changed = False
    for part in result.parts:
        if isinstance(part, Text):
            words = spell_controls(part.text)
            text = cut_text(words, room)
            room = max(0, room - len(text))
            is_changed = is_changed or text is not part.text
            parts.append(Text(text))
        else:
            parts.append(part)
    if not is_changed:
        return result
    return ToolResult(result.call_id, tuple(parts), result.error)


def spell_controls(text: str) -> str:
    r"""Return the text with control characters written as `\x1b`; the same object if it has none."""
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"


def cut_text(text: str, size: int) -> str:
    """Return the text if it has at most `size` bytes; otherwise its beginning, with a
    note on how many bytes are left out.
    """
    if len(text) * 4 <= size:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= size:
        return text
    begin = encoded[:size].decode("utf-8", "ignore")
    rest = len(encoded) - len(begin.encode())
    return f"{begin}\n[cut: {rest:,} more bytes]"


def is_cut(result: ToolResult) -> bool:
    """Return True if the text of a result was cut."""
    return any(
        isinstance(part, Text) and part.text.endswith(" more bytes]")
        for part in result.parts
    )


def plain_arguments(call: ToolCall) -> Mapping[str, Any]:
    """Return the arguments of a call as a dictionary. The caller has checked that they are a JSON object."""
    if isinstance(call.arguments, str):
        return {}
    return call.arguments
