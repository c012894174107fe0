"""The Responses API: `input` instead of `messages`, `output` items instead of choices, reasoning apart."""

from collections.abc import Mapping, Sequence
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
    shorten,
)
from ..chat_format import Malformed, chat_messages, read_usage, rivals_of, weighed_token
from ..http import HttpFailure
from ..http_model import refuse_options
from ..inline_media import from_base64

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
    """The body of one question; nothing is stored at the server, since every round brings its whole history."""
    refuse_options(
        request, UNKNOWN, "the Responses API", "choose api=chat, or leave it out"
    )
    options = request.options
    spoken = [message for message in request.messages if message.parts is not None]
    body: dict[str, Any] = {
        "model": name,
        "input": [_item(message) for message in spoken],
        "store": False,
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
        kind = (
            "json_object"
            if options.response_format == "json"
            else options.response_format
        )
        body["text"] = {"format": {"type": kind}}
    if options.logprobs is not None:
        body |= {
            "top_logprobs": options.logprobs,
            "include": ["message.output_text.logprobs"],
        }
    return body


def _item(message: Message) -> dict[str, Any]:
    """One message; its parts are those of a chat under other names."""
    [spelled] = chat_messages(Prompt((message,)))
    if not isinstance(spelled["content"], str):
        spelled["content"] = [_part(part) for part in spelled["content"]]
    return spelled


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    if part["type"] == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    return dict(part)


def read(answer: Any) -> Output:
    """The output in a response; raises `Malformed` where it is none, `HttpFailure` where it says it failed."""
    items = answer.get("output") if isinstance(answer, Mapping) else None
    if not isinstance(items, Sequence):
        raise Malformed(f"the answer has no `output`: {shorten(answer)}")
    if answer.get("status") == "failed":
        error = answer.get("error") or {}
        overloaded = error.get("code") == "rate_limit_exceeded"
        message = f"the response failed: {error.get('message') or error.get('code')}"
        raise HttpFailure(
            "rate_limit" if overloaded else "http", message, retryable=True
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
        elif item.get("type") == "message":
            refusals += _read_message(item, parts, tokens)
        elif item.get("type") == "image_generation_call" and isinstance(
            item.get("result"), str
        ):
            parts.append(from_base64(Image, item["result"]))
    if answer.get("status") in UNFINISHED:
        raise Malformed(
            f"the response did not come to its end, status {answer['status']!r}: {shorten(answer)}"
        )
    cut = (
        (answer.get("incomplete_details") or {}).get("reason")
        if answer.get("status") == "incomplete"
        else None
    )
    is_mute = not refusals and not any(
        isinstance(part, Image) or _is_said(part) for part in parts
    )
    if is_mute and cut not in (None, *CUT):
        raise Malformed(
            f"the service broke the response off, reason {cut!r}: {shorten(answer)}"
        )
    if is_mute and not cut and any(_is_call(item) for item in items):
        raise Malformed(
            f"the model called a tool instead of answering: {shorten(items)}",
            passes=False,
        )
    reason = "content_filter" if refusals else CUT.get(cut, str(cut)) if cut else "stop"
    usage = read_usage(answer.get("usage"), "input", "output")
    details = {"refusal": " ".join(refusals)} if refusals else EMPTY
    return Output(
        (Candidate(tuple(parts), reason, tuple(tokens)),), usage=usage, details=details
    )


def _is_said(part: Part) -> bool:
    return isinstance(part, Text) and bool(part.text.strip())


def _is_call(item: Any) -> bool:
    return (
        str(item.get("type")).endswith("_call")
        and item.get("type") != "image_generation_call"
    )


def _texts(pieces: Any) -> list[str]:
    return [
        str(piece["text"])
        for piece in pieces or ()
        if isinstance(piece, Mapping) and piece.get("text")
    ]


def _read_message(
    item: Mapping[str, Any], parts: list[Part], tokens: list[Token]
) -> list[str]:
    """Adds what was said; returns the words of refusals, which are no answer."""
    refusals = []
    for piece in item.get("content") or ():
        if piece.get("type") == "refusal":
            refusals.append(str(piece.get("refusal") or "no reason given"))
        elif isinstance(piece.get("text"), str):
            parts.append(Text(piece["text"]))
            for token in piece.get("logprobs") or ():
                tokens.append(
                    weighed_token(token["token"], token["logprob"], rivals_of(token))
                )
    return refusals
