"""Requests and outputs as bytes between the main process and its replicas.

The format is MessagePack with plain data only, so that reading it cannot run code. Media travel separately, each
once per frame: by path if both sides see the same files, or else by their bytes.
"""

import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from ....core import EMPTY, GenerateOptions, Media, Output, Prompt, Request
from ....core.media import MEDIA_KINDS
from ....core.reasoning import ThinkTags
from ....core.record import (
    messages_from_plain,
    output_from_plain,
    output_to_plain,
    prompt_to_plain,
)
from ....core.tools import read_tools
from ....store.journal import as_plain

HEAD = struct.Struct("!QQ")
"""Layout of the bytes before each frame: the number of the call, and the length of the frame."""

Blobs = dict[str, Any]
"""Media by digest, each as a list: kind, bytes, path and name. The bytes or the path is None."""

_LAYOUT = tuple[str, bytes, dict[str, Any]]
"""Fields of a frame: the encoding of the head (`m` for MessagePack, `j` for JSON), the head, and the media."""


def pack(
    head: Mapping[str, Any],
    blobs: Mapping[str, Any] = EMPTY,
) -> bytes:
    """Encode a head and media as one frame (encoded message)."""
    encode = msgspec.msgpack.Encoder(enc_hook=as_plain).encode
    try:
        encoding = "m"
        encoded_head = encode(head)
    except (UnicodeEncodeError, OverflowError, ValueError):
        # Lone surrogates and integers beyond 64 bits, which models and data do contain.
        encoding = "j"
        text = json.dumps(head, default=as_plain, skipkeys=True)
        encoded_head = text.encode()
    return encode([encoding, encoded_head, dict(blobs)])


def unpack(frame: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Decode a frame to its head and media."""
    kind, encoded_head, blobs = msgspec.msgpack.decode(frame, type=_LAYOUT)
    if kind == "m":
        head = msgspec.msgpack.decode(encoded_head)
    else:
        head = json.loads(encoded_head)
    return head, blobs


def request_to_plain(
    request: Request,
    blobs: Blobs,
    *,
    by_path: bool,
) -> dict[str, Any]:
    """Convert a request to plain data, and add its media to `blobs`. Fields that only
    the journal needs are left out.
    """
    prompt = request.prompt
    for medium in prompt.media:
        _add(medium, blobs, by_path)
    plain: dict[str, Any] = {
        "messages": prompt_to_plain(prompt),
        "key": request.key,
        "id": request.id,
        "seed": request.seed,
        "continuations": None,
    }
    if prompt.continuations is not None:
        plain["continuations"] = list(prompt.continuations)
    if prompt.produces != ("text",):
        plain["produces"] = list(prompt.produces)
    if prompt.tools:
        plain["tools"] = [tool.to_plain() for tool in prompt.tools]
        plain["tool_choice"] = prompt.tool_choice
        plain["parallel_calls"] = prompt.parallel_calls
    if request.think_tags is not None:
        plain["think_tags"] = request.think_tags
    optional = {
        "rolling": prompt.rolling,
        "options": request.options.given(),
        "repeat": request.repeat,
        "draw": request.draw,
        "hints": dict(request.hints),
    }
    plain.update((name, value) for name, value in optional.items() if value)
    return plain


def request_from_plain(
    plain: Mapping[str, Any],
    media: Mapping[str, Media],
    state: object = None,
) -> Request:
    """Build a request from plain data, with the dialogue state that the replica holds for it."""
    continuations = plain.get("continuations")
    prompt = Prompt(
        messages_from_plain(plain["messages"], media),
        tuple(plain.get("produces", ("text",))),
        None if continuations is None else tuple(continuations),
        bool(plain.get("rolling", False)),
        tools=read_tools(plain.get("tools", ())),
        tool_choice=plain.get("tool_choice"),
        parallel_calls=plain.get("parallel_calls"),
    )
    think_tags: ThinkTags = plain.get("think_tags")
    if isinstance(think_tags, list):
        think_tags = tuple(think_tags)
    return Request(
        prompt,
        options=GenerateOptions(**plain.get("options", {})),
        seed=plain.get("seed"),
        repeat=plain.get("repeat", 0),
        state=state,
        hints=plain.get("hints", EMPTY),
        key=plain["key"],
        id=plain.get("id", ""),
        draw=plain.get("draw", ""),
        think_tags=think_tags,
    )


def outputs_to_plain(
    outputs: Sequence[Output],
    blobs: Blobs,
) -> list[dict[str, Any]]:
    """Convert outputs to plain data, without their states. Their media are added to `blobs`."""
    plain_outputs = []
    for output in outputs:
        for candidate in output.candidates:
            for medium in candidate.media:
                _add(medium, blobs, by_path=False)
        plain = output_to_plain(output)
        if output.error is not None and output.error.retry_after is not None:
            plain["retry_after"] = output.error.retry_after
        plain_outputs.append(plain)
    return plain_outputs


def output_of_plain(
    plain: Mapping[str, Any],
    media: Mapping[str, Media],
) -> Output:
    """Build one output from plain data."""
    output = output_from_plain(plain, media)
    if output.error is None or "retry_after" not in plain:
        return output
    error = replace(output.error, retry_after=plain["retry_after"])
    return replace(output, error=error)


def media_of(blobs: Mapping[str, Any]) -> dict[str, Media]:
    """Return the media of a frame by digest."""
    media = {}
    for digest, blob in blobs.items():
        kind, data, encoded_path, encoded_name = blob
        if encoded_path is None:
            source = data
        else:
            source = _decode_text(encoded_path)
        name = None
        if encoded_name is not None:
            name = _decode_text(encoded_name)
        media[digest] = MEDIA_KINDS[kind](source, name=name)
    return media


def _add(
    medium: Media,
    blobs: Blobs,
    by_path: bool,
) -> None:
    """Add a medium to the media of a frame, once."""
    digest = medium.digest
    if digest not in blobs:
        is_file = by_path and isinstance(medium.source, os.PathLike)
        data = None
        encoded_path = None
        if is_file:
            encoded_path = _encode_text(os.path.abspath(medium.source))
        else:
            data = medium.data()
        encoded_name = None
        if medium.name is not None:
            encoded_name = _encode_text(medium.name)
        blobs[digest] = [medium.kind, data, encoded_path, encoded_name]


def _encode_text(text: str) -> bytes:
    """Encode a path or a name, which may have lone surrogates: MessagePack refuses them in a text."""
    return text.encode("utf-8", "surrogatepass")


def _decode_text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")
