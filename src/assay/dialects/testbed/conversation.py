"""Conversations of the testbed: lists of `{"role", "content"}`, with images given separately.

Content is a string, a part, or a list of parts. `{"type": "image"}` is a placeholder
for the next of the extra images that the retriever returns. The message without
`content` is the model's turn; it comes last.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import DataError, Image, Media, Message, Part, Text, as_part, shorten
from ..shapes import Fields

HEAD_ROLES = frozenset({"instruction", "system"})


def query_last(messages: Sequence[Any]) -> list[Any]:
    """Return the messages with those without `content`, the model's turns, moved to the end."""
    return sorted(messages, key=lambda message: "content" not in message)


def as_messages(retrieved: object, *, folder: str = "") -> tuple[Message, ...]:
    """Convert a retriever's result to messages: images replace their placeholders, and the model's turn comes last.

    Relative paths of images start in `folder`.
    """
    if isinstance(retrieved, tuple):
        turns, extras = retrieved[0], retrieved[1:]
    else:
        turns, extras = retrieved, ()
    if type(turns) is list and not extras:
        messages = _text_messages(turns)
        if messages is not None:
            return messages
    if (
        isinstance(turns, (str, Mapping))
        or not isinstance(turns, Sequence)
        or not turns
    ):
        raise DataError("a retriever must return a list of messages", got=turns)
    for turn in turns:
        if not isinstance(turn, Mapping) or "role" not in turn:
            raise DataError("a message must be a dictionary with a role", got=turn)
    images = list(_images(extras, Path(folder) if folder else None))
    places = sum(_is_placeholder(piece) for turn in turns for piece in pieces_of(turn))
    if places != len(images):
        raise DataError(
            f"the conversation has {places} places for images, and the retriever gave {len(images)}",
            fix='write one {"type": "image"} for each image',
        )
    waiting = iter(images)
    return tuple(_message(turn, waiting) for turn in query_last(turns))


def _text_messages(turns: list[Any]) -> tuple[Message, ...] | None:
    """Convert turns to messages if they are all plain text; otherwise return None.

    This fast path skips the checks for images. Nearly all conversations are only text,
    and each sample has two or more.
    """
    complete_turns: list[Message] = []
    open_turns: list[Message] = []
    for turn in turns:
        if type(turn) is not dict or type(turn.get("role")) is not str:
            return None
        if "content" not in turn:
            open_turns.append(Message(turn["role"]))
        elif type(turn["content"]) is str:
            complete_turns.append(Message(turn["role"], (Text(turn["content"]),)))
        else:
            return None
    return (*complete_turns, *open_turns)


def answer_of(solved: Sequence[Message], query: Sequence[Message]) -> str | None:
    """Return the answer of a row, which is the text in `solved` that is missing in `query`.

    `solved` contains the messages of the row as an example, `query` those of the row as
    a question. If they have the same text, return `None`.
    """
    more = [
        message.text
        for message in solved
        if message.parts is not None and message not in query
    ]
    return "".join(more) if more else None


def cut_at(
    text: str,
    stop_words: Sequence[str],
) -> str:
    """Return the text before the first stop word, stripped. An empty stop word is ignored."""
    return before_stop(text, stop_words).strip()


def before_stop(
    text: str,
    stop_words: Sequence[str],
) -> str:
    """Return the text before the first of the stop words."""
    ends = [
        position for word in stop_words if word and (position := text.find(word)) >= 0
    ]
    if ends:
        return text[: min(ends)]
    return text


def pieces_of(turn: Fields) -> Sequence[object]:
    """Return the content of a message as a list of parts. A string becomes a list with one entry.

    A message without content gives an empty list.
    """
    content = turn.get("content", ())
    return content if isinstance(content, (list, tuple)) else (content,)


def _is_placeholder(piece: object) -> bool:
    """Return True if a part is a placeholder for a separate image."""
    return (
        isinstance(piece, Mapping) and piece.get("type") == "image" and len(piece) == 1
    )


def _message(
    turn: Fields,
    images: Iterator[Image],
) -> Message:
    role = str(turn["role"])
    if "content" not in turn:
        return Message(role)
    if turn["content"] is None:
        raise DataError(
            f"the content of a message of {role!r} is None",
            fix="leave `content` out where the model writes",
        )
    return Message(role, tuple(_part(piece, images) for piece in pieces_of(turn)))


def _part(
    piece: object,
    images: Iterator[Image],
) -> Part:
    if isinstance(piece, str):
        return Text(piece)
    if _is_placeholder(piece):
        return next(images)
    if isinstance(piece, (bool, int, float)):
        return Text(str(piece))
    if (
        isinstance(piece, Mapping)
        and piece.get("type", "text") == "text"
        and not isinstance(piece.get("text"), str)
    ):
        return Text(str(piece.get("text")))
    return as_part(piece)


def _images(
    extras: Sequence[Any],
    folder: Path | None,
) -> Iterator[Image]:
    """Yield the images among a retriever's extra return values, in order. Other values are ignored."""
    for extra in extras:
        if isinstance(extra, (list, tuple)):
            yield from _images(extra, folder)
        elif (image := as_image(extra, folder)) is not None:
            yield image


def as_image(
    value: object,
    folder: Path | None = None,
) -> Image | None:
    """Convert a cell (PIL, path, bytes, base64 or `{"bytes", "path"}`) to an image; None for any other cell.

    For a PIL image that was opened from a file and not changed, the bytes of the file
    are kept.
    """
    if isinstance(value, Media):
        return value if isinstance(value, Image) else None
    if isinstance(value, Mapping) and value.keys() <= {"bytes", "path"}:
        value = value.get("bytes") or value.get("path")
    if hasattr(value, "save") and hasattr(value, "size"):
        origin = getattr(value, "assay_origin", None)
        return Image(value if origin is None else origin)
    if isinstance(value, (bytes, bytearray)):
        return Image(bytes(value))
    if isinstance(value, str) and (value.startswith("data:") or len(value) > 255):
        return Image(value)
    if isinstance(value, os.PathLike) or (isinstance(value, str) and value):
        return Image((folder or Path()) / value, name=shorten(str(value)))
    return None
