"""Convert message lists, such as `[{"type": "image", "value": path}, {"type": "text", "value": …}]`, and back.

This is VLMEvalKit's format of prompts. A bare string is text, unless it is a data URL, an existing file with a media
suffix, or an http(s) URL with one. A dictionary declares its own type.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ...core import (
    EMPTY,
    Audio,
    Image,
    Json,
    Media,
    Message,
    Part,
    Text,
    Video,
    shorten,
)
from ...datasets.row_media import KINDS, SUFFIXES
from ..shapes import Fields, Record
from .smp.file import media_path

LONGEST_PATH = 4096

PathOf = Callable[[Media], str]


def message_turns(
    value: object,
    media: Mapping[str, Media] = EMPTY,
) -> tuple[Message, ...]:
    """Convert the return value of a toolkit's prompt function to messages of assay.

    It may be `str`, `dict(type, value)`, `dict(image, text)`, a list of strings or
    dictionaries (some with a `role`), or a chat `[dict(role, content)]`. Raise
    `TypeError` or `ValueError` for anything else. `media` has the media that were
    written to files, by path, so that none is read again.
    """
    if (
        isinstance(value, Mapping)
        and "type" not in value
        and {"text", "image"} & {*value}
    ):
        return (Message("user", _image_text_parts(value, media)),)
    entries = value
    if isinstance(value, (str, Mapping, Text, Media)):
        entries = [value]
    if not isinstance(entries, Sequence):
        raise TypeError(
            f"a prompt must be text, a dict or a list of them, not {shorten(value)}"
        )
    if not entries:
        raise ValueError("the prompt is an empty list")
    turns: list[Message] = []
    for entry in entries:
        role = "user"
        if isinstance(entry, Mapping):
            if "content" in entry:
                turns.append(_turn(entry, media))
                continue
            role = str(entry.get("role") or "user")
        part = message_part(entry, media)
        if turns and turns[-1].role == role and turns[-1].parts is not None:
            turns[-1] = Message(role, (*turns[-1].parts, part))
        else:
            turns.append(Message(role, (part,)))
    return tuple(turns)


def _turn(entry: Fields, media: Mapping[str, Media]) -> Message:
    """Convert one turn of a chat, `dict(role, content)`, to a message."""
    content = entry["content"]
    if isinstance(content, (str, Mapping)):
        inner = [content]
    else:
        inner = content
    parts = tuple(message_part(part, media) for part in inner)
    return Message(str(entry.get("role", "user")), parts)


def message_part(
    entry: object,
    media: Mapping[str, Media] = EMPTY,
) -> Part:
    """Convert one entry of a message list to a message part: text, an image, audio or video."""
    if isinstance(entry, str):
        kind = detected_kind(entry)
        if kind is None:
            return Text(entry)
        return _medium(kind, entry, media)
    if isinstance(entry, (Text, Image, Audio, Video)):
        return entry
    if isinstance(entry, Mapping):
        kind_name = entry.get("type")
        if kind_name == "text":
            return Text(str(entry.get("value", entry.get("text", ""))))
        if kind_name in KINDS:
            source = entry.get("value", entry.get(str(kind_name)))
            if source is None or source == "":
                raise ValueError(
                    f"the {kind_name} of a message has no value: {shorten(dict(entry))}"
                )
            return _medium(KINDS[str(kind_name)], source, media)
        raise ValueError(
            f"unknown type {kind_name!r} in a message: {shorten(dict(entry))}; known: text, image, video"
        )
    if hasattr(entry, "save") and hasattr(entry, "size"):
        return Image(entry)
    raise TypeError(f"a message entry must be text or a dict, not {shorten(entry)}")


def detected_kind(text: str) -> type[Media] | None:
    """Return the media type of a bare string, such as `Image` for a path to one, or `None` for plain text."""
    if text.startswith("data:"):
        kind, slash, _ = text[5:40].partition("/")
        is_base64 = ";base64," in text[:80]
        if slash and is_base64:
            return KINDS.get(kind)
        return None
    if len(text) > LONGEST_PATH or "\n" in text or "\0" in text:
        return None
    if text.startswith(("http://", "https://")):
        return _kind_of_suffix(urlsplit(text).path)
    kind_of_file = _kind_of_suffix(text)
    if kind_of_file is None or not os.path.isfile(text):
        return None
    return kind_of_file


def _kind_of_suffix(path: str) -> type[Media] | None:
    suffix = os.path.splitext(path)[1]
    return SUFFIXES.get(suffix.lower().removeprefix("."))


def message_list(message: Message, path_of: PathOf) -> list[dict[str, str]]:
    """Convert a message to a list of dictionaries, with media as local files, and a `role` unless it is `user`."""
    if message.role in ("user", ""):
        role = {}
    else:
        role = {"role": message.role}
    entries = []
    for part in message.parts or ():
        if isinstance(part, Media):
            entry = {"type": part.kind, "value": path_of(part)}
        elif isinstance(part, Json):
            entry = dict(part.value)
        else:
            entry = {"type": "text", "value": getattr(part, "text", "")}
        entries.append({**entry, **role})
    return entries


def flat_list(
    messages: Iterable[Message],
    path_of: PathOf,
) -> list[dict[str, str]]:
    """Convert several messages to one list of dictionaries."""
    return [entry for message in messages for entry in message_list(message, path_of)]


def chat_list(
    messages: Iterable[Message],
    path_of: PathOf,
) -> list[Record]:
    """Convert messages to a chat `[dict(role, content=[dict(type, value)])]`. Messages without parts are left out."""
    chat = []
    for message in messages:
        if message.parts is not None:
            content = message_list(Message("user", message.parts), path_of)
            chat.append({"role": message.role, "content": content})
    return chat


def _image_text_parts(
    value: Fields,
    media: Mapping[str, Media],
) -> tuple[Part, ...]:
    """Convert `dict(image=path or paths, text=prompt)` to the parts of a message: the images, then the text."""
    images: Sequence[object] = ()
    source = value.get("image")
    if isinstance(source, (list, tuple)):
        images = source
    elif source is not None:
        images = [source]
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        raise TypeError(f"`text` of the prompt must be text, not {shorten(text)}")
    parts: list[Part] = [_medium(Image, image, media) for image in images]
    if text is not None:
        return (*parts, Text(text))
    return tuple(parts)


def _medium(
    kind: type[Media],
    source: object,
    media: Mapping[str, Media],
) -> Part:
    medium: Media
    if not isinstance(source, str):
        if isinstance(source, Media):
            medium = source
        else:
            medium = kind(source)
    elif source in media:
        medium = media[source]
    elif source.startswith("data:"):
        medium = kind(source)
    elif source.startswith(("http://", "https://")):
        medium = kind(Path(media_path(source)), name=source)
    else:
        medium = kind(Path(source).expanduser(), name=source)
    assert isinstance(medium, (Image, Audio, Video))
    return medium
