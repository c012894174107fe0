"""OpenAI's Responses API, for agent programs that call it."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import Output, Prompt, Text
from ..core.errors import shorten
from ..core.message import Message
from ..core.tools import read_tool_choice, read_tools
from .wire import (
    BadRequest,
    WireRequest,
    event,
    first_candidate,
    named_calls,
    read_messages,
    read_options,
    token_counts,
)
from .wire_chat import read_response_format

OPTIONS = {
    "max_output_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
}
"""Maps option names of this API to generation options of assay."""
READ = {
    "model",
    "input",
    "instructions",
    "stream",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "text",
    *OPTIONS,
}
WITHOUT_EFFECT = frozenset(
    {
        "user", "metadata", "store", "service_tier", "prompt_cache_key", "safety_identifier", "include", "truncation",
        "stream_options",
    }
)  # fmt: skip
TEXT_TYPES = frozenset({"input_text", "output_text", "text"})


class ResponsesFormat:
    """The format of `POST /v1/responses`. It stores conversations, because later requests may continue them by id."""

    def __init__(self) -> None:
        self._conversations: dict[str, tuple[Message, ...]] = {}

    def read(self, body: Mapping[str, Any]) -> WireRequest:
        """Convert the body of a request to a `WireRequest`."""
        conversation = read_messages(_turns(body.get("input")), self._earlier(body))
        instructions = body.get("instructions")
        system: tuple[Message, ...] = ()
        if isinstance(instructions, str) and instructions:
            system = (Message("system", (Text(instructions),)),)
        options = {ours: body.get(theirs) for theirs, ours in OPTIONS.items()}
        effort = body.get("reasoning") or {}
        options["reasoning_effort"] = effort.get("effort")
        text_settings = body.get("text") or {}
        options["response_format"] = read_response_format(text_settings.get("format"))
        offered, dropped_tools = _split_tools(body.get("tools") or ())
        try:
            tools = read_tools(offered)
            choice = read_tool_choice(body.get("tool_choice"))
        except (ValueError, TypeError) as error:
            raise BadRequest(str(error)) from error
        prompt = Prompt(
            (*system, *conversation),
            options=read_options(options),
            tools=tools,
            tool_choice=choice,
            parallel_calls=body.get("parallel_tool_calls"),
        )
        dropped = sorted(set(body) - READ - WITHOUT_EFFECT)
        return WireRequest(
            prompt,
            str(body.get("model") or ""),
            bool(body.get("stream")),
            (*dropped, *dropped_tools),
            {"conversation": conversation},
        )

    def answer(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> dict[str, Any]:
        """Convert an answer to the body of a response."""
        candidate = first_candidate(output)
        response_id = f"resp_{number}"
        answer = Message("assistant", candidate.parts or (Text(""),))
        self._conversations[response_id] = (*request.details["conversation"], answer)
        is_cut = candidate.stop_reason == "length"
        reason = {"reason": "max_output_tokens"} if is_cut else None
        return {
            **_head(request, response_id),
            "status": "incomplete" if is_cut else "completed",
            "incomplete_details": reason,
            "output": _items(output, number),
            "usage": _usage(output),
        }

    def events(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> bytes:
        """Convert an answer to the event stream of a response."""
        whole = self.answer(request, output, number)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        stream: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(whole["output"]):
            stream += _item_events(index, item)
        stream.append({"type": f"response.{whole['status']}", "response": whole})
        events = []
        for sequence_number, data in enumerate(stream):
            data["sequence_number"] = sequence_number
            events.append(event(data, data["type"]))
        return b"".join(events)

    def error(self, kind: str, message: str) -> dict[str, Any]:
        """Convert an error to a response body."""
        return {
            "error": {"message": message, "type": kind, "param": None, "code": kind}
        }

    def _earlier(self, body: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the stored conversation that `previous_response_id` refers to; empty
        if the request has no such field.
        """
        earlier = body.get("previous_response_id")
        if earlier is None:
            return ()
        if earlier not in self._conversations:
            raise BadRequest(f"there is no response {shorten(earlier)}")
        return self._conversations[earlier]


def _turns(value: object) -> list[dict[str, Any]]:
    """Convert the `input` of a request to chat turns."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, list) or not value:
        raise BadRequest("`input` must be a text or a list of items")
    turns: list[dict[str, Any]] = []
    for item in value:
        if not isinstance(item, Mapping):
            raise BadRequest(f"an item is an object, got {shorten(item)}")
        _add_item(turns, item)
    return turns


def _add_item(
    turns: list[dict[str, Any]],
    item: Mapping[str, Any],
) -> None:
    """Add an item of a request to the turns. Consecutive items of the assistant form one turn."""
    kind = item.get("type", "message")
    if kind == "message":
        turn = {"role": item.get("role", "user"), "content": _content(item)}
        turns.append(turn)
    elif kind == "function_call":
        block = {
            "type": "function_call",
            "id": item.get("call_id") or item.get("id"),
            "name": item.get("name"),
            "arguments": item.get("arguments"),
        }
        _add_assistant_block(turns, block)
    elif kind == "function_call_output":
        output = item.get("output")
        content: Any = output if isinstance(output, str) else _blocks(output or [])
        result = {"type": "tool_result", "call_id": item.get("call_id")}
        if isinstance(content, str):
            results = [content]
        else:
            results = content
        turns.append({"role": "tool", "content": [{**result, "content": results}]})
    elif kind == "reasoning":
        texts = [*(item.get("summary") or ()), *(item.get("content") or ())]
        text = "\n\n".join(str(entry.get("text", "")) for entry in texts)
        if text:
            _add_assistant_block(turns, {"type": "reasoning", "text": text})
    elif kind != "item_reference":
        raise BadRequest(f"an item of type {kind!r} cannot be passed on to the model")


def _add_assistant_block(
    turns: list[dict[str, Any]],
    block: dict[str, Any],
) -> None:
    """Append a content block to the last turn. If that is not an assistant turn, start a new one."""
    if not turns or turns[-1]["role"] != "assistant":
        turns.append({"role": "assistant", "content": []})
    turn = turns[-1]
    content = turn["content"]
    if content == "":
        content = []
    elif isinstance(content, str):
        content = [{"type": "text", "text": content}]
    turn["content"] = [*content, block]


def _content(item: Mapping[str, Any]) -> str | list[Any]:
    content = item.get("content")
    if isinstance(content, str) or content is None:
        return content or ""
    return _blocks(content)


def _blocks(pieces: Sequence[Any]) -> list[dict[str, Any]]:
    """Convert content parts to the format of chat completions."""
    blocks: list[dict[str, Any]] = []
    for piece in pieces:
        if isinstance(piece, Mapping):
            kind = piece.get("type")
        else:
            kind = None
        if kind in TEXT_TYPES:
            blocks.append({"type": "text", "text": str(piece.get("text", ""))})
        elif kind == "refusal":
            blocks.append({"type": "text", "text": str(piece.get("refusal", ""))})
        elif kind == "input_image":
            url = {"url": piece.get("image_url")}
            blocks.append({"type": "image_url", "image_url": url})
        else:
            raise BadRequest(f"content of type {kind!r} cannot be passed on")
    return blocks


def _split_tools(tools: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the function tools of a request, and the names of tools that this endpoint cannot offer."""
    offered = []
    dropped = []
    for tool in tools:
        if isinstance(tool, Mapping):
            kind = tool.get("type")
        else:
            kind = None
        if kind == "function":
            offered.append(tool)
        else:
            dropped.append(f"tools.{kind}")
    return offered, dropped


def _head(request: WireRequest, response_id: str) -> dict[str, Any]:
    """Return the fields of a response that do not depend on the answer."""
    return {
        "id": response_id,
        "object": "response",
        "created_at": 0,
        "model": request.model or "assay",
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": None,
        "top_p": None,
    }


def _items(output: Output, number: int) -> list[dict[str, Any]]:
    """Convert an answer to output items of this API."""
    candidate = first_candidate(output)
    items: list[dict[str, Any]] = []
    if candidate.reasoning:
        summary = [{"type": "summary_text", "text": candidate.reasoning}]
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": summary})
    calls = named_calls(candidate, number)
    if candidate.text or not calls:
        text = {"type": "output_text", "text": candidate.text, "annotations": []}
        items.append(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        )
    for index, call in enumerate(calls):
        items.append(
            {
                "id": f"fc_{number}_{index}",
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments_text,
                "status": "completed",
            }
        )
    return items


def _item_events(
    index: int,
    item: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return the stream events that send one output item."""
    about = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    events: list[dict[str, Any]] = []
    if item["type"] == "message":
        [part] = item["content"]
        begun["content"] = []
        about = {**about, "content_index": 0}
        empty = {**part, "text": ""}
        events = [
            {"type": "response.content_part.added", **about, "part": empty},
            {
                "type": "response.output_text.delta",
                **about,
                "delta": part["text"],
                "logprobs": [],
            },
            {
                "type": "response.output_text.done",
                **about,
                "text": part["text"],
                "logprobs": [],
            },
            {"type": "response.content_part.done", **about, "part": part},
        ]
    elif item["type"] == "function_call":
        begun["arguments"] = ""
        arguments = item["arguments"]
        name = "response.function_call_arguments"
        events = [
            {"type": f"{name}.delta", **about, "delta": arguments},
            {"type": f"{name}.done", **about, "arguments": arguments},
        ]
    elif item["type"] == "reasoning":
        begun.pop("status")
    position = {"output_index": index}
    added = {"type": "response.output_item.added", **position, "item": begun}
    done = {"type": "response.output_item.done", **position, "item": item}
    return [added, *events, done]


def _usage(output: Output) -> dict[str, Any]:
    tokens_in, tokens_out, cached = token_counts(output)
    reasoning = (output.usage.reasoning_tokens if output.usage else None) or 0
    return {
        "input_tokens": tokens_in,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": tokens_out,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": tokens_in + tokens_out,
    }
