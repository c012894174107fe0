"""The wire: requests and outputs as bytes between the driver and its replicas.

Plain data only, as MessagePack: nothing that is read can run code, whoever sent it. Media go beside the requests, each
once a frame: by path where both sides see the same files, else by their bytes.
"""

import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....core import EMPTY, GenerateOptions, Media, Output, Prompt, Request
from ....core.media import MEDIA_KINDS
from ....core.record import (
    messages_from_plain,
    output_from_plain,
    output_to_plain,
    prompt_to_plain,
)
from ....store.journal import as_plain

HEAD = struct.Struct("!QQ")
"""What stands before a frame where they follow each other: the number of the call, and how many bytes come."""

Blobs = dict[str, Any]
"""Media by digest: their kind, and their bytes or their path."""


def pack(head: Mapping[str, Any], blobs: Mapping[str, Any] = EMPTY) -> bytes:
    """One frame."""
    import msgspec

    encode = msgspec.msgpack.Encoder(enc_hook=as_plain).encode
    try:
        return encode(["m", encode(head), dict(blobs)])
    except (UnicodeEncodeError, OverflowError, ValueError):
        # Lone surrogates and integers beyond 64 bits, which models and data do contain.
        return encode(
            [
                "j",
                json.dumps(head, default=as_plain, skipkeys=True).encode(),
                dict(blobs),
            ]
        )


def unpack(frame: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a frame holds: its head, and its media."""
    import msgspec

    kind, head, blobs = msgspec.msgpack.decode(
        frame, type=tuple[str, bytes, dict[str, Any]]
    )
    return (msgspec.msgpack.decode(head) if kind == "m" else json.loads(head)), blobs


def request_to_plain(
    request: Request, blobs: Blobs, *, by_path: bool
) -> dict[str, Any]:
    """A request; its media are added to `blobs`. What only the record needs to know stays behind."""
    prompt = request.prompt
    for medium in prompt.media:
        _add(medium, blobs, by_path)
    usual: dict[str, Any] = {
        "rolling": prompt.rolling,
        "produces": list(prompt.produces) if prompt.produces != ("text",) else None,
        "options": request.options.given(),
        "repeat": request.repeat,
        "draw": request.draw,
        "hints": dict(request.hints),
    }
    return {
        "messages": prompt_to_plain(prompt),
        "key": request.key,
        "id": request.id,
        "seed": request.seed,
        "continuations": None
        if prompt.continuations is None
        else list(prompt.continuations),
        **{name: value for name, value in usual.items() if value},
    }


def request_from_plain(
    plain: Mapping[str, Any], media: Mapping[str, Media], state: Any = None
) -> Request:
    """The request that `request_to_plain` was given, with the state its model keeps for it."""
    continuations = plain.get("continuations")
    prompt = Prompt(
        messages_from_plain(plain["messages"], media),
        tuple(plain.get("produces", ("text",))),
        None if continuations is None else tuple(continuations),
        bool(plain.get("rolling", False)),
    )
    options = GenerateOptions(**plain.get("options", {}))
    hints = plain.get("hints", EMPTY)
    return Request(
        prompt,
        options,
        plain.get("seed"),
        plain.get("repeat", 0),
        state,
        hints,
        plain["key"],
        plain.get("id", ""),
        plain.get("draw", ""),
    )


def outputs_to_plain(outputs: Sequence[Output], blobs: Blobs) -> list[dict[str, Any]]:
    """Outputs without their states; the media that were made are added to `blobs`."""
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


def output_of_plain(plain: Mapping[str, Any], media: Mapping[str, Media]) -> Output:
    """One output that `outputs_to_plain` was given."""
    output = output_from_plain(plain, media)
    if output.error is not None and "retry_after" in plain:
        return replace(
            output, error=replace(output.error, retry_after=plain["retry_after"])
        )
    return output


def media_of(blobs: Mapping[str, Any]) -> dict[str, Media]:
    """The media of a frame by digest."""
    return {
        digest: MEDIA_KINDS[kind](source, name=name)
        for digest, (kind, source, name) in blobs.items()
    }


def _add(medium: Media, blobs: Blobs, by_path: bool) -> None:
    digest = medium.digest
    if digest not in blobs:
        is_file = by_path and isinstance(medium.source, os.PathLike)
        source = os.path.abspath(medium.source) if is_file else medium.data()
        blobs[digest] = [medium.kind, source, medium.name]
