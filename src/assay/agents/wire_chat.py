"""OpenAI's chat completions API, for agent programs that call it."""

from collections.abc import Mapping
from typing import Any

from ..core import Message, Output, Prompt, Reasoning
from ..core.output import Candidate
from ..core.tools import read_tool_choice, read_tools
from .wire import (
    BadRequest,
    WireRequest,
    event,
    named_calls,
    read_messages,
    read_options,
    require_list,
    token_counts,
)

OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "stop": "stop",
    "seed": "seed",
    "n": "n",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "repetition_penalty": "repetition_penalty",
    "reasoning_effort": "reasoning_effort",
}
"""Maps option names of this API to generation options of assay."""
READ = {
    "messages",
    "model",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "functions",
    "function_call",
    *OPTIONS,
}
WITHOUT_EFFECT = frozenset(
    {
        "user",
        "metadata",
        "store",
        "service_tier",
        "prompt_cache_key",
        "safety_identifier",
    }
)
"""Request fields that do not change the answer."""


class ChatFormat:
    """The format of `POST /v1/chat/completions`."""

    def read(self, body: Mapping[str, Any]) -> WireRequest:
        """Convert the body of a request to a `WireRequest`."""
        options: dict[str, Any] = {}
        for theirs, ours in OPTIONS.items():
            if body.get(theirs) is not None:
                options[ours] = body[theirs]
        options["response_format"] = read_response_format(body.get("response_format"))
        turns = require_list(body, "messages")
        messages = tuple(map(with_reasoning, turns, read_messages(turns)))
        tools, choice = _tools_of(body)
        prompt = Prompt(
            messages,
            options=read_options(options),
            tools=tools,
            tool_choice=choice,
            parallel_calls=body.get("parallel_tool_calls"),
        )
        dropped = tuple(sorted(set(body) - READ - WITHOUT_EFFECT))
        stream_options = body.get("stream_options") or {}
        return WireRequest(
            prompt,
            str(body.get("model") or ""),
            bool(body.get("stream")),
            dropped,
            {"usage": bool(stream_options.get("include_usage"))},
        )

    def answer(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> dict[str, Any]:
        """Convert an answer to the body of a completion."""
        choices = []
        for index, candidate in enumerate(output.candidates):
            reason = candidate.stop_reason or "stop"
            message = assistant_message(candidate, number)
            if candidate.calls:
                reason = "tool_calls"
            choice = {"index": index, "message": message, "finish_reason": reason}
            choices.append({**choice, "logprobs": None})
        head = _head(request, number, "chat.completion")
        return {**head, "choices": choices, "usage": _usage(output)}

    def events(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> bytes:
        """Convert an answer to the chunk stream of a completion."""
        head = _head(request, number, "chat.completion.chunk")
        chunks: list[Any] = []
        for choice in self.answer(request, output, number)["choices"]:
            chunks += _choice_chunks(head, choice)
        if request.details["usage"]:
            usage = _usage(output)
            chunks.append({**head, "choices": [], "usage": usage})
        events = [event(chunk) for chunk in chunks]
        return b"".join(events) + event("[DONE]")

    def error(self, kind: str, message: str) -> dict[str, Any]:
        """Convert an error to a response body."""
        return {
            "error": {"message": message, "type": kind, "param": None, "code": kind}
        }


def with_reasoning(turn: object, message: Message) -> Message:
    """Return the message with its reasoning added. vLLM and others put reasoning into a
    separate field of the turn.
    """
    if not isinstance(turn, Mapping) or message.role != "assistant":
        return message
    text = turn.get("reasoning_content") or turn.get("reasoning")
    if not isinstance(text, str) or not text:
        return message
    return Message(message.role, (Reasoning(text), *(message.parts or ())))


def read_response_format(value: object) -> str | None:
    """Return `json` if the request requires JSON output, otherwise None. Raise `BadRequest` for a JSON schema."""
    if isinstance(value, Mapping):
        kind = value.get("type")
    else:
        kind = value
    if kind is None or kind == "text":
        return None
    if kind == "json_object":
        return "json"
    raise BadRequest(f"a response format {kind!r} cannot be passed on to the model")


def _tools_of(body: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return the tools and the tool choice of a request. The older fields `functions`
    and `function_call` are read too.
    """
    try:
        tools = read_tools(body.get("tools") or body.get("functions") or [])
        choice = body.get("tool_choice")
        return tools, read_tool_choice(
            body.get("function_call") if choice is None else choice
        )
    except (ValueError, TypeError) as error:
        raise BadRequest(str(error)) from error


def assistant_message(candidate: Candidate, number: int) -> dict[str, Any]:
    """Convert an answer to an assistant message."""
    calls = []
    for call in named_calls(candidate, number):
        calls.append(
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_text},
            }
        )
    text = candidate.text
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["content"] = text or None
        message["tool_calls"] = calls
    if candidate.reasoning:
        message["reasoning_content"] = candidate.reasoning
    return message


def _head(
    request: WireRequest,
    number: int,
    kind: str,
) -> dict[str, Any]:
    """Return the fields that every answer and every chunk begins with."""
    model = request.model or "assay"
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": 0,
        "model": model,
    }


def _choice_chunks(
    head: Mapping[str, Any],
    choice: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return the two chunks of a choice: one with its message, one with its finish reason."""
    message = choice["message"]
    for position, call in enumerate(message.get("tool_calls", ())):
        call["index"] = position
    index = choice["index"]
    return [
        _chunk(head, index, message, None),
        _chunk(head, index, {}, choice["finish_reason"]),
    ]


def _chunk(
    head: Mapping[str, Any],
    index: int,
    delta: Mapping[str, Any],
    reason: str | None,
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return {**head, "choices": [choice]}


def _usage(output: Output) -> dict[str, Any]:
    tokens_in, tokens_out, cached = token_counts(output)
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
