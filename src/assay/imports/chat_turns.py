"""Convert chat messages in the logs of other tools to messages of assay. Unknown content becomes JSON text."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import Json, Message, Output, Part, Text, as_messages, as_part
from ..core.media import MEDIA_KINDS
from ..core.message import Reasoning
from ..core.output import Candidate
from ..core.tools import ToolCall, ToolResult, read_arguments
from .documents import mapping

DATA = "data:"


def messages_of(turns: object) -> tuple[Message, ...]:
    """Return the messages from a list of turns, or from a text."""
    if isinstance(turns, str):
        return as_messages(turns)
    if not isinstance(turns, Sequence):
        return ()
    messages = []
    for turn in turns:
        message = _message(mapping(turn))
        messages.append(message)
    return tuple(messages)


def _message(turn: Mapping[str, Any]) -> Message:
    """Return a turn of a log as a message: a tool's result, or contents followed by tool calls."""
    role = str(turn.get("role") or "user")
    parts = parts_of(turn.get("content"))
    if role == "tool":
        result = _result(turn, parts)
        return Message(role, (result,))
    calls = turn.get("tool_calls") or ()
    for call in calls:
        tool_call = _call(mapping(call))
        parts.append(tool_call)
    if not parts:
        empty = Text("")
        parts.append(empty)
    return Message(role, tuple(parts))


def _result(
    turn: Mapping[str, Any],
    parts: Sequence[Part],
) -> ToolResult:
    """Return a turn with the role `tool` as the result of a call."""
    error = mapping(turn.get("error"))
    message = error.get("message") or ""
    call_id = turn.get("tool_call_id") or ""
    return ToolResult(str(call_id), tuple(parts), str(message))


def _call(call: Mapping[str, Any]) -> ToolCall:
    """Return a tool call in a log, in the form of inspect_ai or OpenAI."""
    function = call.get("function")
    if isinstance(function, Mapping):
        inner = function
    else:
        inner = call
    name = inner.get("name") or function or ""
    arguments = read_arguments(inner.get("arguments"))
    call_id = call.get("id") or ""
    return ToolCall(str(call_id), str(name), arguments)


def parts_of(content: object) -> list[Part]:
    """Return the contents of a turn as parts. A medium is included only if its bytes are in the log."""
    if content is None:
        return []
    if isinstance(content, str):
        return [Text(content)]
    if isinstance(content, Sequence):
        pieces = content
    else:
        pieces = [content]
    return [_part(piece) for piece in pieces]


def _part(piece: object) -> Part:
    if isinstance(piece, str):
        return Text(piece)
    if not isinstance(piece, Mapping):
        return Json(piece)
    kind = str(piece.get("type") or "text").removesuffix("_url")
    text = piece.get("text", "")
    if kind == "text":
        return Text(str(text))
    if kind == "reasoning":
        thoughts = piece.get("reasoning") or text or ""
        return Reasoning(str(thoughts))
    if kind in MEDIA_KINDS:
        return _medium(kind, piece)
    return Json(dict(piece))


def _medium(
    kind: str,
    piece: Mapping[str, Any],
) -> Part:
    """Return a medium from a data URL. Paths and other URLs become text, and are never opened."""
    source = piece.get(kind) or piece.get(f"{kind}_url")
    if isinstance(source, Mapping):
        source = source.get("url")
    if not isinstance(source, str) or not source.startswith(DATA):
        return Text(f"[{kind}: {source}]")
    try:
        return as_part({"type": kind, kind: source})
    except ValueError:
        return Text(f"[{kind} that cannot be read]")


def answer_of(
    turn: object,
    stop_reason: str | None = None,
) -> Candidate:
    """Return a turn of the model as an answer, with the reasoning that is stored next to its content."""
    fields = mapping(turn)
    message = _message({**fields, "role": "assistant"})
    parts = message.parts or ()
    thought = fields.get("reasoning_content") or fields.get("reasoning")
    if isinstance(thought, str) and thought:
        parts = (Reasoning(thought), *parts)
    return Candidate(parts, stop_reason)


def split_answer(turns: object) -> tuple[tuple[Message, ...], Output]:
    """Split a conversation into the prompt and the model's answer.

    If the last turn is not from the model, the prompt has all turns and the output is
    empty.
    """
    conversation: list[object] = []
    if isinstance(turns, Sequence):
        conversation = list(turns)
    last: Mapping[str, Any] = {}
    if conversation:
        last = mapping(conversation[-1])
    if last.get("role") != "assistant":
        return messages_of(conversation), Output(())
    prompt = messages_of(conversation[:-1])
    answer = answer_of(last)
    return prompt, Output((answer,))
