"""The API formats that the endpoint of an agent supports.

A format converts the JSON body of a request to a prompt, and an answer to a body, a stream of events, or an error.
Answers contain no timestamps or random ids, so that a restarted program receives the same bytes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core import GenerateOptions, Message, Output, Prompt, Reasoning, Text, shorten
from ..core.errors import AssayError
from ..core.message import as_message, link_calls
from ..core.output import Candidate
from ..core.tools import ToolCall


class BadRequest(ValueError):
    """Raised if a request cannot be answered. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request from a program, independent of its API format."""

    prompt: Prompt
    model: str
    """Model name in the request. It is ignored: the run's model always answers."""
    is_stream: bool
    dropped: tuple[str, ...] = ()
    """Names of request fields without a counterpart in assay, which were not passed on."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Values from the request that are needed to write the answer."""


class WireFormat(Protocol):
    """An API format that programs use to call a model."""

    def read(self, body: Mapping[str, Any]) -> WireRequest:
        """Return the request in a body. Raise `BadRequest` if it is invalid."""

    def answer(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> dict[str, Any]:
        """Return the body of the answer to exchange `number` of the sample."""

    def events(
        self,
        request: WireRequest,
        output: Output,
        number: int,
    ) -> bytes:
        """Return the answer to exchange `number` as a stream of server-sent events."""

    def error(self, kind: str, message: str) -> dict[str, Any]:
        """Return the body of an error."""


def read_messages(
    turns: Sequence[Any],
    earlier: tuple[Message, ...] = (),
) -> tuple[Message, ...]:
    """Convert the turns of a request to messages, and append them to `earlier`.

    Raise `BadRequest` for a turn that cannot be read, or that refers to media by path
    or URL.
    """
    for turn in turns:
        _refuse_references(turn)
    try:
        messages = link_calls((*earlier, *map(as_message, turns)))
    except (ValueError, TypeError, KeyError) as error:
        raise BadRequest(f"the messages cannot be read: {shorten(error)}") from error
    return tuple(_with_content(message) for message in messages)


def _with_content(message: Message) -> Message:
    """Return the message, with an empty text if it has no content.

    In a prompt, a message without content marks the turn that the model writes.
    """
    if message.parts is None:
        return Message(message.role, (Text(""),))
    return message


def _refuse_references(turn: object) -> None:
    """Raise if a turn refers to media by path or URL, because programs may not open files outside the workspace."""
    if isinstance(turn, Mapping):
        content = turn.get("content")
    else:
        content = None
    if isinstance(content, str) or not isinstance(content, Sequence):
        return
    for piece in content:
        if not isinstance(piece, Mapping):
            continue
        for source in _media_sources(piece):
            if not source.startswith("data:"):
                raise BadRequest("media must be sent as data URLs")
        if piece.get("type") == "tool_result":
            _refuse_references(piece)


def _media_sources(piece: Mapping[str, Any]) -> Iterable[str]:
    """Yield the URLs, paths or data strings of the media in a content part."""
    for name in ("image_url", "audio_url", "video_url", "image", "audio", "video"):
        value = piece.get(name)
        if isinstance(value, Mapping):
            value = value.get("url")
        if isinstance(value, str):
            yield value
    if piece.get("type") in ("image", "audio", "video"):
        for name in ("path", "url", "value"):
            if isinstance(piece.get(name), str):
                yield piece[name]


def read_options(values: Mapping[str, Any]) -> GenerateOptions:
    """Return the generation options in a request. Raise `BadRequest` if one is out of range."""
    set_values = {name: value for name, value in values.items() if value is not None}
    try:
        return GenerateOptions().set(**set_values)
    except (AssayError, TypeError, ValueError) as error:
        reason = error.what if isinstance(error, AssayError) else error
        raise BadRequest(str(reason)) from error


def require_list(
    body: Mapping[str, Any],
    name: str,
) -> list[Any]:
    """Return the value of this key. Raise `BadRequest` unless it is a list with at least one element."""
    value = body.get(name)
    if not isinstance(value, list) or not value:
        raise BadRequest(f"`{name}` must be a list with at least one element")
    return value


def event(data: object, name: str = "") -> bytes:
    """Format one server-sent event."""
    if isinstance(data, str):
        text = data
    else:
        text = json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode("utf-8", "replace")


def first_candidate(output: Output) -> Candidate:
    """Return the first candidate of an output, or an empty candidate."""
    if output.candidates:
        return output.candidates[0]
    return Candidate(())


def reasoning_parts(candidate: Candidate) -> list[Reasoning]:
    """Return the reasoning parts of an answer."""
    return [part for part in candidate.parts if isinstance(part, Reasoning)]


def named_calls(candidate: Candidate, number: int) -> list[ToolCall]:
    """Return the tool calls of an answer, each with an id that no other exchange of the sample uses."""
    calls = []
    for index, call in enumerate(candidate.calls):
        call_id = call.id or f"call_{number}_{index}"
        calls.append(ToolCall(call_id, call.name, call.arguments, call.signature))
    return calls


def token_counts(output: Output) -> tuple[int, int, int]:
    """Return the token counts of the prompt, of the answer, and of the cached part of the prompt; 0 if unknown."""
    usage = output.usage
    if usage is None:
        return 0, 0, 0
    return (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cached_tokens or 0,
    )
