"""Tool calls and results in a conversation, in the formats of OpenAI, Anthropic, Gemini and ShareGPT (Hermes).

`read_tool_turn` returns the contents of one turn. `CallLinks` gives ids to calls that have none, as in the formats of
Gemini and ShareGPT, and links each result to its call.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import shorten
from .tools import ToolCall, ToolResult, read_arguments

SHAREGPT_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "function_call": "assistant",
    "tool_call": "assistant",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
    "tool_response": "tool",
    "function": "tool",
}
"""The chat role for each value of `from` in the ShareGPT format."""
CALL_TURNS = frozenset({"function_call", "tool_call"})
RESULT_TURNS = frozenset({"tool", "function"})
_HERMES_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_HERMES_RESULT = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)
_UNLINKED = "\x00"
"""Marks a result whose id is the function's name, because the id of its call is not known yet."""


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The contents of a turn with tool calls or results. Texts and media are not converted to parts yet."""

    role: str
    contents: tuple[Any, ...]
    """Texts, content dictionaries, calls and results, in order. The contents of results are not converted yet."""


def read_tool_turn(turn: Mapping[str, Any]) -> ToolTurn | None:
    """Return the contents of a turn with calls or results; None if it has neither.

    The turn may be in the format of ShareGPT, Gemini, OpenAI or Anthropic:

        {"from": "gpt", "value": "<tool_call>…"}
        {"role": "model", "parts": [{"functionCall": …}]}
        {"role": "assistant", "tool_calls": [{"function": …}]}
        {"role": "user", "content": [{"type": "tool_result", …}]}
    """
    if "from" in turn and "value" in turn and "role" not in turn:
        return _sharegpt_turn(turn)
    role = str(turn.get("role", "user"))
    parts = turn.get("parts")
    if "content" not in turn and isinstance(parts, Sequence):
        return _gemini_turn(role, parts)
    if turn.get("tool_calls") or turn.get("function_call"):
        return ToolTurn(role, (*_contents(turn), *_openai_calls(turn)))
    content = turn.get("content")
    if isinstance(content, (list, tuple)) and any(map(_is_block, content)):
        return ToolTurn(role, tuple(map(read_block, content)))
    if role in RESULT_TURNS:
        result = _openai_result(turn)
        return ToolTurn("tool", (result,))
    return None


def _contents(turn: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the contents of a turn other than its calls."""
    content = turn.get("content")
    if content is None:
        return ()
    if isinstance(content, (list, tuple)):
        return tuple(content)
    return (content,)


def _openai_calls(turn: Mapping[str, Any]) -> list[ToolCall]:
    calls = turn.get("tool_calls")
    if not calls:
        return [_openai_call(turn["function_call"])]
    if isinstance(calls, str):
        calls = json.loads(calls)
    if isinstance(calls, Mapping):
        calls = [calls]
    if not isinstance(calls, Sequence):
        raise ValueError(f"`tool_calls` is a list of calls, got {shorten(calls)}")
    return [_openai_call(call) for call in calls]


def _openai_call(call: object) -> ToolCall:
    """Read `{"id": …, "function": {"name": …, "arguments": …}}`, or the function without the outer object."""
    if not isinstance(call, Mapping):
        raise ValueError(f"a tool call is an object, got {shorten(call)}")
    function = call.get("function")
    if isinstance(function, Mapping):
        body = function
    else:
        body = call
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"a tool call without a name: {shorten(dict(call))}")
    call_id = call.get("id", call.get("call_id"))
    arguments = body.get("arguments", body.get("parameters"))
    return ToolCall(
        str(call_id or ""),
        name,
        read_arguments(arguments),
        str(call.get("signature") or ""),
    )


def _openai_result(turn: Mapping[str, Any]) -> ToolResult:
    call_id = turn.get("tool_call_id")
    if not call_id:
        call_id = _UNLINKED + str(turn.get("name") or "")
    contents = _contents(turn)
    content = turn.get("content")
    if isinstance(content, Mapping) and "type" not in content:
        value = {"type": "json", "value": content}
        contents = (value,)
    return ToolResult(str(call_id), contents)


def _is_block(piece: object) -> bool:
    if isinstance(piece, Mapping):
        kind = piece.get("type")
    else:
        kind = None
    return kind in ("tool_use", "tool_result", "tool_call", "function_call")


def read_block(piece: object) -> object:
    """Convert a content block of Anthropic's API or of assay's journal to a call or a result.

    Return any other block unchanged.
    """
    if isinstance(piece, Mapping):
        kind = piece.get("type")
        if kind == "tool_use":
            arguments = read_arguments(piece.get("input"))
            return ToolCall(str(piece.get("id") or ""), str(piece["name"]), arguments)
        if kind in ("tool_call", "function_call"):
            return _openai_call(piece)
        if kind == "tool_result":
            return _result_block(piece)
        if kind == "thinking":
            return {**piece, "type": "reasoning", "text": piece.get("thinking") or ""}
    return piece


def _result_block(piece: Mapping[str, Any]) -> ToolResult:
    call_id = piece.get("tool_use_id", piece.get("call_id"))
    error = piece.get("error", piece.get("is_error"))
    if isinstance(error, str):
        kind = error
    else:
        kind = "raised" if error else ""
    return ToolResult(str(call_id or _UNLINKED), _contents(piece), kind)


def _gemini_turn(
    role: str,
    pieces: Sequence[Any],
) -> ToolTurn | None:
    """Read a turn in Gemini's format: `parts` with text, functionCall and functionResponse."""
    if isinstance(pieces, str):
        return None
    has_calls = any(
        isinstance(piece, Mapping) and _gemini_part(piece) for piece in pieces
    )
    if role != "model" and not has_calls:
        return None
    contents = [
        (_gemini_part(piece) if isinstance(piece, Mapping) else None) or piece
        for piece in pieces
    ]
    if all(isinstance(content, ToolResult) for content in contents):
        return ToolTurn("tool", tuple(contents))
    return ToolTurn("assistant" if role == "model" else role, tuple(contents))


def _gemini_part(piece: Mapping[str, Any]) -> ToolCall | ToolResult | None:
    """Read `{"functionCall": …}` or `{"functionResponse": …}`, in camel or snake case."""
    call = piece.get("functionCall", piece.get("function_call"))
    if isinstance(call, Mapping):
        return ToolCall(
            str(call.get("id") or ""),
            str(call["name"]),
            read_arguments(call.get("args")),
            str(piece.get("thoughtSignature") or ""),
        )
    response = piece.get("functionResponse", piece.get("function_response"))
    if isinstance(response, Mapping):
        name = str(response.get("name") or "")
        call_id = response.get("id") or _UNLINKED + name
        result = _gemini_result(response.get("response"))
        return ToolResult(str(call_id), result)
    return None


def _gemini_result(response: object) -> tuple[Any, ...]:
    """Return the contents of a Gemini function response.

    If its only key is `result` or `output` and the value is a text, return the text.
    Otherwise return the whole object as JSON.
    """
    if isinstance(response, Mapping) and len(response) == 1:
        only = next(iter(response.values()))
        if isinstance(only, str) and next(iter(response)) in ("result", "output"):
            return (only,)
    return ({"type": "json", "value": response},)


def _sharegpt_turn(turn: Mapping[str, Any]) -> ToolTurn:
    """Read a turn in ShareGPT's format, in which Hermes writes calls and results between tags."""
    speaker = str(turn["from"])
    role = SHAREGPT_ROLES.get(speaker.lower(), speaker)
    text = turn["value"]
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False)
    contents: list[Any] = []
    if speaker.lower() in CALL_TURNS:
        contents += _hermes_calls(text)
    elif role == "tool":
        for result_text in _HERMES_RESULT.findall(text) or [text]:
            contents.append(_hermes_result(result_text))
    elif role == "assistant" and "<tool_call>" in text:
        words = _HERMES_CALL.sub("", text).strip()
        if words:
            contents.append(words)
        for call_text in _HERMES_CALL.findall(text):
            contents += _hermes_calls(call_text)
    elif text:
        contents.append(text)
    return ToolTurn(role, tuple(contents))


def _hermes_calls(text: str) -> list[ToolCall]:
    """Return the calls in the text of a call turn: one object or a list of them."""
    try:
        value = json.loads(text)
    except ValueError:
        # Early Hermes data contain Python dictionaries.
        value = ast.literal_eval(text)
    if isinstance(value, list):
        calls = value
    else:
        calls = [value]
    return [_openai_call(call) for call in calls]


def _hermes_result(text: str) -> ToolResult:
    """Read a tool result in the format of Hermes, which names the tool: `{"name": …, "content": …}`."""
    contents: tuple[Any, ...] = (text,)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, Mapping) or not set(value) >= {"name", "content"}:
        return ToolResult(_UNLINKED, contents)
    content = value["content"]
    if not isinstance(content, str):
        content = {"type": "json", "value": content}
    contents = (content,)
    call_id = value.get("tool_call_id") or _UNLINKED + str(value["name"])
    return ToolResult(str(call_id), contents)


class CallLinks:
    """Gives ids to calls without one, and links results to their calls, in the order of a conversation."""

    def __init__(self) -> None:
        self._count = 0
        self._open: list[tuple[str, str]] = []
        """Id and name of each call without a result so far."""
        self._known: set[str] = set()

    def call(self, call: ToolCall) -> ToolCall:
        """Remember the call as open, and return it. A call without an id receives one."""
        self._count += 1
        if not call.id:
            call_id = f"call_{self._count}"
            call = ToolCall(call_id, call.name, call.arguments, call.signature)
        self._open.append((call.id, call.name))
        self._known.add(call.id)
        return call

    def result(self, result: ToolResult) -> ToolResult:
        """Return the result with the id of its call. Raise `ValueError` if no call matches it."""
        call_id = result.call_id
        if call_id.startswith(_UNLINKED):
            call_id = self._named(call_id.removeprefix(_UNLINKED))
        elif call_id not in self._known:
            raise ValueError(
                f"a tool result names the call {call_id!r}, which is in no earlier turn"
            )
        self._open = [entry for entry in self._open if entry[0] != call_id]
        return ToolResult(call_id, result.parts, result.error)

    def _named(self, name: str) -> str:
        """Return the id of the first call to this tool that has no result yet.

        If the result names no tool, return the id of the first call without a result.
        """
        for call_id, tool in self._open:
            if not name or tool == name:
                return call_id
        if not name:
            raise ValueError("a tool result has no open call before it")
        raise ValueError(
            f"a result of the tool {name!r} has no open call of it before it"
        )
