"""The Responses API: `input` instead of `messages`, `output` items instead of choices, and separate reasoning."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core import (
    EMPTY,
    Candidate,
    Image,
    Message,
    Output,
    Part,
    Prompt,
    Reasoning,
    Request,
    Text,
    Token,
    ToolCall,
    ToolResult,
    shorten,
)
from ...core.tools import TOOL_CHOICES, read_arguments
from ..chat_format import (
    Malformed,
    alternatives_of,
    chat_messages,
    read_token,
    read_usage,
)
from ..http import HttpFailure
from ..http_model import refuse_options
from ..inline_media import from_base64, mapping_in, well_shaped

UNKNOWN = (
    "stop",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
)
CUT = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "length": "length",
    "content_filter": "content_filter",
}
UNFINISHED = frozenset({"cancelled", "in_progress", "queued"})


def question(name: str, request: Request) -> dict[str, Any]:
    """Return the body of one request. The server stores nothing, since every turn sends its whole history."""
    refuse_options(
        request,
        UNKNOWN,
        "the Responses API",
        "choose api=chat, or leave it out",
    )
    options = request.options
    items: list[dict[str, Any]] = []
    for message in request.messages:
        if message.parts is not None:
            items += _items(message)
    body: dict[str, Any] = {
        "model": name,
        "input": items,
        "store": False,
        "stream": False,
    }
    for field, value in (
        ("temperature", options.temperature),
        ("top_p", options.top_p),
        ("max_output_tokens", options.max_tokens),
    ):
        if value is not None:
            body[field] = value
    if options.reasoning_effort is not None:
        body["reasoning"] = {"effort": options.reasoning_effort, "summary": "auto"}
    if options.response_format is not None:
        if options.response_format == "json":
            kind = "json_object"
        else:
            kind = options.response_format
        body["text"] = {"format": {"type": kind}}
    if options.logprobs is not None:
        body |= {
            "top_logprobs": options.logprobs,
            "include": ["message.output_text.logprobs"],
        }
    return body | _tool_fields(request.prompt)


def _tool_fields(prompt: Prompt) -> dict[str, Any]:
    """Return the request fields for the tools.

    `strict` is off, because the API would require changes to the schemas otherwise.
    """
    fields: dict[str, Any] = {}
    if prompt.tools:
        fields["tools"] = [
            {"type": "function", **tool.to_plain(), "strict": False}
            for tool in prompt.tools
        ]
    choice = prompt.tool_choice
    if choice in TOOL_CHOICES:
        fields["tool_choice"] = choice
    elif choice is not None:
        fields["tool_choice"] = {"type": "function", "name": choice}
    if prompt.parallel_calls is not None:
        fields["parallel_tool_calls"] = prompt.parallel_calls
    return fields


def _items(message: Message) -> list[dict[str, Any]]:
    """Convert one message to items of `input`, with separate items for tool results, text and calls."""
    items: list[dict[str, Any]] = []
    for result in message.results:
        output = {"call_id": result.call_id, "output": _content(result.parts)}
        items.append({"type": "function_call_output", **output})

    words = []
    for part in message.parts or ():
        if not isinstance(part, ToolCall | ToolResult | Reasoning):
            words.append(part)
    has_content = any(not _is_blank(part) for part in words)
    has_tool_parts = bool(message.calls or message.results)
    if has_content or not has_tool_parts:
        spoken = Message(message.role, tuple(words))
        items.append(_item(spoken))

    for call in message.calls:
        body = {"name": call.name, "arguments": call.arguments_text}
        items.append({"type": "function_call", "call_id": call.id, **body})
    return items


def _is_blank(part: Part) -> bool:
    """Return True for an empty text."""
    return isinstance(part, Text) and not part.text


def _item(message: Message) -> dict[str, Any]:
    """Convert one message of text and media to an item of `input`."""
    return {"role": message.role, "content": _content(message.parts or ())}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return parts as one text, or as a list if they include media."""
    [spelled] = chat_messages(Prompt((Message("user", tuple(parts)),)))
    content: str | list[dict[str, Any]] = spelled["content"]
    if isinstance(content, str):
        return content
    return [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    return dict(part)


@well_shaped
def read(answer: object) -> Output:
    """Read the output of a response. Raise `Malformed` if it has none, `HttpFailure` if it reports a failure."""
    body = mapping_in(answer)
    items = body.get("output")
    if not isinstance(items, Sequence):
        raise Malformed(f"the answer has no `output`: {shorten(answer)}")
    if body.get("status") == "failed":
        error = body.get("error") or {}
        overloaded = error.get("code") == "rate_limit_exceeded"
        message = f"the response failed: {error.get('message') or error.get('code')}"
        raise HttpFailure(
            "rate_limit" if overloaded else "http",
            message,
            retryable=True,
        )
    parts: list[Part] = []
    tokens: list[Token] = []
    refusals: list[str] = []
    for item in items:
        if not isinstance(item, Mapping):
            raise Malformed(f"an item of `output` is not an object: {shorten(item)}")
        if item.get("type") == "reasoning":
            thought = "\n".join(
                _texts(item.get("content")) or _texts(item.get("summary"))
            )
            parts += [Reasoning(thought)] if thought else []
        elif item.get("type") == "function_call":
            parts.append(_call(item))
        elif item.get("type") == "message":
            if _is_commentary(item) and not all(map(_is_commentary, items)):
                parts.append(Reasoning("".join(_texts(item.get("content")))))
            else:
                refusals += _read_message(item, parts, tokens)
        elif item.get("type") == "image_generation_call" and isinstance(
            item.get("result"), str
        ):
            parts.append(from_base64(Image, item["result"]))
    if body.get("status") in UNFINISHED:
        raise Malformed(
            f"the response is unfinished, status {body['status']!r}: {shorten(answer)}"
        )
    cut = _cut_reason(body, items)
    is_mute = not refusals and not any(
        isinstance(part, (Image, ToolCall)) or _is_said(part) for part in parts
    )
    if is_mute and cut not in (None, *CUT):
        raise Malformed(
            f"the service aborted the response, reason {cut!r}: {shorten(answer)}"
        )
    if is_mute and not cut and any(_is_call(item) for item in items):
        raise Malformed(
            f"the model called a tool of the service instead of answering: {shorten(items)}",
            passes=False,
        )
    has_calls = any(isinstance(part, ToolCall) for part in parts)
    reason = "tool_calls" if has_calls else "stop"
    if refusals:
        reason = "content_filter"
    elif cut:
        reason = CUT.get(cut, str(cut))
    usage = read_usage(body.get("usage"), "input", "output")
    details = {"refusal": " ".join(refusals)} if refusals else EMPTY
    return Output(
        (Candidate(tuple(parts), reason, tuple(tokens)),),
        usage=usage,
        details=details,
    )


def _call(item: Mapping[str, Any]) -> ToolCall:
    call_id = str(item.get("call_id") or item.get("id") or "")
    arguments = read_arguments(item.get("arguments"))
    return ToolCall(call_id, str(item.get("name") or ""), arguments)


def _is_commentary(item: Mapping[str, Any]) -> bool:
    """Return True if a message is a comment that the model wrote while working (`commentary`), and not the answer."""
    return item.get("type") != "message" or item.get("phase") == "commentary"


def _cut_reason(
    answer: Mapping[str, Any],
    items: Sequence[Any],
) -> str | None:
    """Return why a response is incomplete, such as `length`; None if it is complete.

    Some servers set this status only on the last message.
    """
    if answer.get("status") == "incomplete":
        details = answer.get("incomplete_details") or {}
        reason = details.get("reason") or "length"
        return str(reason)
    last_message: Mapping[str, Any] = {}
    for item in items:
        if item.get("type") == "message":
            last_message = item
    if last_message.get("status") == "incomplete":
        return "length"
    return None


def _is_said(part: Part) -> bool:
    return isinstance(part, Text) and bool(part.text.strip())


def _is_call(item: Mapping[str, Any]) -> bool:
    return str(item.get("type")).endswith("_call") and item.get("type") not in (
        "image_generation_call",
        "function_call",
    )


def _texts(pieces: Iterable[object] | None) -> list[str]:
    return [
        str(piece["text"])
        for piece in pieces or ()
        if isinstance(piece, Mapping) and piece.get("text")
    ]


def _read_message(
    item: Mapping[str, Any],
    parts: list[Part],
    tokens: list[Token],
) -> list[str]:
    """Collect the texts and tokens of a message, and return its refusals separately, because they are not answers."""
    refusals = []
    pieces = item.get("content") or ()
    if isinstance(pieces, str):
        pieces = [{"type": "output_text", "text": pieces}]
    for piece in pieces:
        if piece.get("type") == "refusal":
            refusals.append(str(piece.get("refusal") or "no reason given"))
        elif isinstance(piece.get("text"), str):
            parts.append(Text(piece["text"]))
            for token in piece.get("logprobs") or ():
                tokens.append(
                    read_token(token["token"], token["logprob"], alternatives_of(token))
                )
    return refusals
