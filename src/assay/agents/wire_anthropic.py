"""Anthropic's Messages API, for agent programs that call it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core import Output, Prompt, Reasoning
from ..core.errors import shorten
from ..core.tools import ToolCall, read_tool_choice, read_tools
from .wire import (
    BadRequest,
    WireRequest,
    event,
    first_candidate,
    named_calls,
    read_messages,
    read_options,
    reasoning_parts,
    require_list,
    token_counts,
)

OPTIONS = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop_sequences": "stop",
}
"""Maps option names of this API to generation options of assay."""
READ = {"model", "messages", "system", "stream", "tools", "tool_choice", *OPTIONS}
WITHOUT_EFFECT = frozenset({"metadata", "service_tier", "container"})
STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
}


class AnthropicFormat:
    """The format of `POST /v1/messages`."""

    def read(self, body: Mapping[str, Any]) -> WireRequest:
        """Convert the body of a request to a `WireRequest`."""
        turns = [{"role": "system", "content": text} for text in _system_of(body)]
        for turn in require_list(body, "messages"):
            turns += _turns_of(turn)
        offered, dropped_tools = _split_tools(body.get("tools") or ())
        choice = body.get("tool_choice") or {}
        if not isinstance(choice, Mapping):
            raise BadRequest("`tool_choice` must be an object")
        in_parallel = None
        if "disable_parallel_tool_use" in choice:
            in_parallel = not choice["disable_parallel_tool_use"]
        options = {ours: body.get(theirs) for theirs, ours in OPTIONS.items()}
        try:
            tools = read_tools(offered)
            chosen = read_tool_choice(choice or None)
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error
        prompt = Prompt(
            read_messages(turns),
            options=read_options(options),
            tools=tools,
            tool_choice=chosen,
            parallel_calls=in_parallel,
        )
        dropped = sorted(set(body) - READ - WITHOUT_EFFECT)
        return WireRequest(
            prompt,
            str(body.get("model") or ""),
            bool(body.get("stream")),
            (*dropped, *dropped_tools),
        )

    def answer(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> dict[str, Any]:
        """Convert an answer to the body of a message."""
        candidate = first_candidate(output)
        reason = STOP_REASONS.get(candidate.stop_reason or "stop", "end_turn")
        if candidate.calls:
            reason = "tool_use"
        return {
            **_head(request, output, number),
            "content": _blocks(output, number),
            "stop_reason": reason,
        }

    def events(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> bytes:
        """Convert an answer to the event stream of a message."""
        whole = self.answer(request, output, number)
        head = _head(request, output, number)
        start = {"type": "message_start", "message": head}
        events = [event(start, "message_start")]
        for index, block in enumerate(whole["content"]):
            events += _block_events(index, block)
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        end = {"type": "message_delta", "delta": delta, "usage": whole["usage"]}
        events.append(event(end, "message_delta"))
        events.append(event({"type": "message_stop"}, "message_stop"))
        return b"".join(events)

    def error(self, kind: str, message: str) -> dict[str, Any]:
        """Convert an error to a response body."""
        return {"type": "error", "error": {"type": kind, "message": message}}


def count_tokens(body: Mapping[str, Any]) -> object:
    """Return an estimate of the tokens in a request: a quarter of its characters."""
    return {"input_tokens": max(1, len(str(body.get("messages", ""))) // 4)}


def _system_of(body: Mapping[str, Any]) -> list[str]:
    """Return the system text of a request. Several blocks are joined."""
    system = body.get("system")
    if not system:
        return []
    if isinstance(system, str):
        return [system]
    if not isinstance(system, list):
        raise BadRequest("`system` must be a text or a list of text blocks")
    texts = [str(block.get("text", "")) for block in system if isinstance(block, dict)]
    return ["\n\n".join(texts)]


def _turns_of(turn: object) -> Iterable[dict[str, Any]]:
    """Split a turn of a request in two: its tool results as a turn of the role `tool`, then all other content."""
    if not isinstance(turn, Mapping):
        raise BadRequest(f"a message is an object, got {shorten(turn)}")
    content = turn.get("content")
    role = turn.get("role", "user")
    if isinstance(content, str) or not isinstance(content, list):
        yield {"role": role, "content": content or ""}
        return
    blocks = [_block_of(block) for block in content]
    results = [block for block in blocks if block["type"] == "tool_result"]
    others = [block for block in blocks if block["type"] != "tool_result"]
    if results:
        yield {"role": "tool", "content": results}
    if others or not results:
        yield {"role": role, "content": others or ""}


def _block_of(block: object) -> dict[str, Any]:
    """Convert a content block for `core.message`: drop cache marks, and convert images to data URLs."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, Mapping) or "type" not in block:
        raise BadRequest(f"a block without `type`: {shorten(block)}")
    plain = {name: value for name, value in block.items() if name != "cache_control"}
    kind = plain["type"]
    if kind == "image":
        return _image_block(plain.get("source"))
    if kind == "redacted_thinking":
        return {"type": "reasoning", "text": "", "signature": plain.get("data", "")}
    content = plain.get("content")
    if kind == "tool_result" and isinstance(content, list):
        plain["content"] = [_block_of(inner) for inner in content]
    return plain


def _image_block(source: object) -> dict[str, Any]:
    """Convert an image block to a data URL. Raise `BadRequest` if the block only refers to the image."""
    if not isinstance(source, Mapping) or source.get("type") != "base64":
        raise BadRequest("images must be sent as base64")
    url = f"data:{source.get('media_type')};base64,{source.get('data')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _split_tools(tools: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the tools of the program, and the names of tools that run only on Anthropic's servers."""
    offered = []
    dropped = []
    for tool in tools:
        if isinstance(tool, Mapping):
            kind = tool.get("type")
        else:
            kind = None
        if kind in (None, "custom"):
            offered.append(tool)
        else:
            dropped.append(f"tools.{kind}")
    return offered, dropped


def _head(
    request: WireRequest,
    output: Output,
    number: int,
) -> dict[str, Any]:
    """Return the fields of a response other than its content, such as id, model and usage."""
    tokens_in, tokens_out, cached = token_counts(output)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.model or "assay",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(0, tokens_in - cached),
            "output_tokens": tokens_out,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        },
    }


def _blocks(output: Output, number: int) -> list[dict[str, Any]]:
    """Convert an answer to content blocks of this API."""
    candidate = first_candidate(output)
    blocks: list[dict[str, Any]] = []
    for part in reasoning_parts(candidate):
        blocks.append(_thinking(part))
    if candidate.text:
        blocks.append({"type": "text", "text": candidate.text})
    for call in named_calls(candidate, number):
        block = {"type": "tool_use", "id": call.id, "name": call.name}
        blocks.append({**block, "input": _input_of(call)})
    return blocks or [{"type": "text", "text": ""}]


def _thinking(part: Reasoning) -> dict[str, Any]:
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _input_of(call: ToolCall) -> object:
    """Return the arguments of a call. This API requires an object, so wrap invalid arguments in one."""
    arguments = call.arguments
    if isinstance(arguments, str):
        return {"arguments": arguments}
    return arguments


def _block_events(
    index: int,
    block: Mapping[str, Any],
) -> list[bytes]:
    """Return the stream events that send one content block."""
    kind = block["type"]
    if kind == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": block["text"]}]
    elif kind == "thinking":
        empty = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    else:
        empty = {**block, "input": {}}
        call = ToolCall(block["id"], block["name"], block["input"])
        text = call.arguments_text
        deltas = [{"type": "input_json_delta", "partial_json": text}]
    start = {"type": "content_block_start", "index": index, "content_block": empty}
    events = [event(start, "content_block_start")]
    for delta in deltas:
        piece = {"type": "content_block_delta", "index": index, "delta": delta}
        events.append(event(piece, "content_block_delta"))
    stop = {"type": "content_block_stop", "index": index}
    return [*events, event(stop, "content_block_stop")]
