"""Convert prompts and answers in the journal to chat messages of inspect_ai."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.media import MAX_MEDIA_BYTES
from ..store import Blobs
from ..store.export import part_text

ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
"""Maps the roles of a prompt to roles of inspect_ai. Any other role becomes `user`."""
STOP_REASONS = {
    "stop": "stop",
    "length": "max_tokens",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
MIME_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
}
INSPECT_FORMATS = {"image": None, "audio": ("wav", "mp3"), "video": ("mp4",)}
"""Formats that inspect_ai accepts for each kind of medium; None if it accepts all."""


def inspect_messages(
    prompt: Sequence[Mapping[str, Any]],
    blobs: Blobs,
) -> list[dict[str, Any]]:
    """Return a prompt as messages of inspect_ai, without the empty message that marks the model's turn."""
    messages: list[dict[str, Any]] = []
    for turn in prompt:
        content = turn.get("content")
        if content is None:
            continue
        role = ROLES.get(str(turn.get("role")), "user")
        if isinstance(content, str):
            messages.append({"role": role, "content": content})
            continue
        messages += _turn_messages(role, content, blobs)
    return messages


def _turn_messages(
    role: str,
    parts: Sequence[Mapping[str, Any]],
    blobs: Blobs,
) -> list[dict[str, Any]]:
    """Return one turn as messages. Each tool result becomes a separate message."""
    results = [part for part in parts if part.get("type") == "tool_result"]
    others = [part for part in parts if part.get("type") != "tool_result"]
    messages = []
    for result in results:
        message = {
            "role": "tool",
            "content": _contents(result.get("content", ()), blobs),
            "tool_call_id": result.get("call_id"),
        }
        if result.get("error"):
            text = str(result["error"])
            message["error"] = {"type": "unknown", "message": text}
        messages.append(message)
    if others or not results:
        messages.append(_message(role, others, blobs))
    return messages


def _message(
    role: str,
    parts: Sequence[Mapping[str, Any]],
    blobs: Blobs,
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role}
    message["content"] = _contents(parts, blobs)
    if role != "assistant":
        return message
    calls = []
    for part in parts:
        if part.get("type") == "tool_call":
            calls.append(_tool_call(part))
    if calls:
        message["tool_calls"] = calls
    return message


def _tool_call(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call. Arguments that are not a JSON object are kept as text."""
    arguments = part.get("arguments")
    call: dict[str, Any] = {
        "id": str(part.get("id", "")),
        "function": str(part.get("name", "")),
        "arguments": arguments if isinstance(arguments, Mapping) else {},
        "type": "function",
    }
    if not isinstance(arguments, Mapping):
        call["parse_error"] = f"not a JSON object: {arguments}"
    return call


def _contents(
    parts: Sequence[Mapping[str, Any]],
    blobs: Blobs,
) -> str | list[dict[str, Any]]:
    """Return the parts of a message as contents of inspect_ai. A single text becomes a string."""
    visible_parts = [part for part in parts if part.get("type") != "tool_call"]
    if not visible_parts:
        return ""
    if len(visible_parts) == 1 and visible_parts[0].get("type", "text") == "text":
        return part_text(visible_parts[0])
    return [_content(part, blobs) for part in visible_parts]


def _content(
    part: Mapping[str, Any],
    blobs: Blobs,
) -> dict[str, Any]:
    kind = str(part.get("type", "text"))
    if kind == "reasoning":
        reasoning = str(part.get("text", ""))
        return {"type": "reasoning", "reasoning": reasoning}
    if kind == "json":
        value = part.get("value")
        return _text_content(json.dumps(value, ensure_ascii=False))
    if kind in INSPECT_FORMATS and "sha256" in part:
        return _medium(kind, part, blobs)
    return _text_content(part_text(part))


def _text_content(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _medium(
    kind: str,
    part: Mapping[str, Any],
    blobs: Blobs,
) -> dict[str, Any]:
    """Return a medium with its bytes. If they are no longer on this machine, return its digest as text."""
    format_name = str(part.get("format") or "")
    mime_type = MIME_TYPES.get(format_name)
    formats = INSPECT_FORMATS[kind]
    is_allowed = formats is None or format_name in formats
    if mime_type is None or not is_allowed:
        return _text_content(part_text(part))
    data = _medium_bytes(part, blobs)
    if data is None:
        return _text_content(part_text(part))

    encoded = base64.b64encode(data).decode("ascii")
    content = {"type": kind, kind: f"data:{mime_type};base64,{encoded}"}
    if formats is not None:
        content["format"] = format_name
    return content


def _medium_bytes(
    part: Mapping[str, Any],
    blobs: Blobs,
) -> bytes | None:
    """Return the bytes of a medium from the run folder. Otherwise read the original file if it has not changed."""
    digest = str(part["sha256"])
    paths = [blobs.path(digest)]
    if isinstance(part.get("path"), str):
        paths.append(Path(part["path"]))
    for path in paths:
        if path is None or not path.is_file() or path.stat().st_size > MAX_MEDIA_BYTES:
            continue
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    return None


def inspect_output(
    output: Mapping[str, Any],
    model: str,
    blobs: Blobs,
) -> dict[str, Any]:
    """Return a recorded answer as a model output of inspect_ai."""
    converted: dict[str, Any] = {"model": model, "choices": []}
    candidates = output.get("candidates", ())
    if output.get("likelihoods"):
        text = json.dumps([entry[0] for entry in output["likelihoods"]])
        candidates = [{"text": text}]
    for candidate in candidates:
        parts = candidate.get("parts")
        if parts is None:
            parts = [{"type": "text", "text": candidate.get("text", "")}]
        message = _message("assistant", parts, blobs)
        reason = STOP_REASONS.get(str(candidate.get("stop_reason")), "unknown")
        choice = {"message": {**message, "source": "generate"}, "stop_reason": reason}
        converted["choices"].append(choice)
    usage = output.get("usage") or {}
    if usage:
        converted["usage"] = _usage(usage)
    if output.get("seconds") is not None:
        converted["time"] = output["seconds"]
    if error := output.get("error"):
        converted["error"] = f"{error['kind']}: {error['message']}"
    return converted


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    taken_in = int(usage.get("input_tokens") or 0)
    written_out = int(usage.get("output_tokens") or 0)
    converted: dict[str, Any] = {
        "input_tokens": taken_in,
        "output_tokens": written_out,
        "total_tokens": taken_in + written_out,
    }
    names = {
        "cached_tokens": "input_tokens_cache_read",
        "reasoning_tokens": "reasoning_tokens",
        "cost": "total_cost",
    }
    for name, theirs in names.items():
        if usage.get(name) is not None:
            converted[theirs] = usage[name]
    return converted
