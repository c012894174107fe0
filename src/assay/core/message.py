"""Messages: what is said to a model, and what it says.

A message is an open-string role and an ordered tuple of parts. A message *without* content is the place where the
model writes, and its role is the generation role.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

from .errors import shorten
from .media import MEDIA_KINDS, Audio, Image, Media, Video, named_by_data
from .quick import quick

CHAT_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


@quick
@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought aloud before its answer; kept apart from the answer."""

    text: str
    kind: ClassVar[str] = "reasoning"


@dataclass(frozen=True, slots=True)
class Json:
    """A structured answer, as a detector or a judge gives it."""

    value: Any
    kind: ClassVar[str] = "json"


Part = Text | Reasoning | Json | Image | Audio | Video


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """One turn; `parts` is `None` where the model is to write."""

    role: str
    parts: tuple[Part, ...] | None = None

    @classmethod
    def of(
        cls, role: str, *content: "str | Part | Media | Mapping[str, Any]"
    ) -> "Message":
        """A message from strings, parts and media in the order given; without any, the place where the model writes."""
        return cls(role, tuple(as_part(piece) for piece in content) or None)

    @property
    def text(self) -> str:
        """All text parts joined; media and reasoning left out."""
        parts = self.parts
        if not parts:
            return ""
        if len(parts) == 1:
            only = parts[0]
            return only.text if type(only) is Text else ""
        return "".join(part.text for part in parts if isinstance(part, Text))

    @property
    def media(self) -> tuple[Media, ...]:
        """The media of this turn, in order."""
        return tuple(part for part in self.parts or () if isinstance(part, Media))


def as_part(piece: Any, *, opens_files: bool = False) -> Part:
    """A part from a string, a part, a medium, or an OpenAI- or Hugging-Face-style content dictionary.

    A dictionary is data: a path in it is opened only where `opens_files` says so, or once a folder holds it.
    """
    if isinstance(piece, str):
        return Text(piece)
    if isinstance(piece, (Text, Reasoning, Json, Image, Audio, Video)):
        return piece
    if isinstance(piece, Mapping):
        part = _part_from_mapping(piece)
        return (
            type(part)(part.source)
            if opens_files and isinstance(part, Media) and part.is_unheld
            else part
        )
    if hasattr(piece, "save") and hasattr(piece, "size"):
        return Image(piece)
    raise TypeError(
        f"cannot make a message part of a {type(piece).__name__}: {shorten(piece)}"
    )


def _part_from_mapping(piece: Mapping[str, Any]) -> Part:
    kind = piece.get("type", "text")
    if "type" not in piece and (
        beside := [name for name in MEDIA_KINDS if piece.get(name) is not None]
    ):
        raise ValueError(
            f"a part without `type` names {beside[0]}: give each part its own, with a `type`"
        )
    if kind == "text":
        words = piece.get("text", piece.get("value"))
        if not isinstance(words, (str, int, float)):
            raise ValueError(
                f"a part with neither `type` nor `text`: {shorten(dict(piece))}"
                if "type" not in piece
                else f"a text part without text: {shorten(dict(piece))}"
            )
        return Text(str(words))
    if kind in ("image_url", "audio_url", "video_url"):
        kind = kind.removesuffix("_url")
        inner = piece[f"{kind}_url"]
        return _medium(kind, inner["url"] if isinstance(inner, Mapping) else inner)
    if kind == "input_audio":
        return named_by_data(Audio, piece["input_audio"]["data"])
    if kind in MEDIA_KINDS:
        source = next(
            (
                piece[k]
                for k in (kind, "value", "path", "url", "bytes", "data")
                if piece.get(k)
            ),
            None,
        )
        if source is None:
            raise ValueError(f"a {kind} part names no {kind}: {shorten(dict(piece))}")
        return _medium(kind, source)
    if kind == "reasoning":
        return Reasoning(str(piece.get("text", "")))
    if kind == "json":
        return Json(piece.get("value"))
    raise ValueError(f"unknown part type {kind!r}: {shorten(dict(piece))}")


def _medium(kind: str, source: Any) -> Image | Audio | Video:
    if isinstance(source, (Image, Audio, Video)):
        return source
    if kind == "image":
        return named_by_data(Image, source)
    return (
        named_by_data(Audio, source)
        if kind == "audio"
        else named_by_data(Video, source)
    )


def as_message(turn: Any, *, default_role: str = "user") -> Message:
    """A message from a `Message`, a string, or a dictionary with `role` and perhaps `content`."""
    if isinstance(turn, Message):
        return turn
    if isinstance(turn, str):
        return Message(default_role, (Text(turn),))
    if isinstance(turn, Mapping):
        role = str(turn.get("role", default_role))
        content = turn.get("content", turn.get("parts"))
        if content is None:
            return Message(role, None)
        if isinstance(content, str):
            return Message(role, (Text(content),))
        pieces = content if isinstance(content, Sequence) else [content]
        return Message(role, tuple(as_part(piece) for piece in pieces))
    if isinstance(turn, Media):
        return Message.of(default_role, turn)
    raise TypeError(
        f"cannot make a message of a {type(turn).__name__}: {shorten(turn)}"
    )


def as_messages(value: Any) -> tuple[Message, ...]:
    """What a template returned, as messages: a string is one user turn, a list is several turns or parts."""
    if isinstance(value, str):
        return (Message("user", (Text(value),)),)
    if isinstance(value, (Message, Mapping, Media)):
        return (as_message(value),)
    if isinstance(value, Iterable):
        items = list(value)
        is_turns = all(
            isinstance(i, Message) or (isinstance(i, Mapping) and "role" in i)
            for i in items
        )
        if items and is_turns:
            return tuple(as_message(item) for item in items)
        if items:
            return (Message("user", tuple(as_part(item) for item in items)),)
    raise TypeError(
        f"a template must return text, a message or messages, not {shorten(value)}"
    )


def generation_role(messages: Sequence[Message]) -> str:
    """Who is to speak: the role of the content-less message; else who ended the earlier rounds; else assistant."""
    for message in reversed(messages):
        if message.parts is None:
            return message.role
    spoken = [
        m
        for m in messages
        if m.role.lower() not in ("system", "instruction", "developer")
    ]
    if not spoken:
        return "assistant"
    first = spoken[0].role
    enders = [
        spoken[i].role for i in range(len(spoken) - 1) if spoken[i + 1].role == first
    ]
    return enders[-1] if enders and enders[-1] != first else "assistant"


def has_free_roles(messages: Iterable[Message]) -> bool:
    """Whether any role lies outside the chat roles, so that the prompt must be sent as a completion."""
    return any(message.role not in CHAT_ROLES for message in messages)


def render_text(messages: Sequence[Message]) -> str:
    """A prompt with free roles as plain text: `Question: …\\nAnswer:`; an empty role writes no header.

    Rounds are set apart by a blank line; the place where the model writes ends the text, without a trailing space.
    """
    spoken = [m for m in messages if m.parts is not None]
    role = generation_role(messages)
    lines: list[str] = []
    first = next(
        (m.role for m in spoken if m.role.lower() not in ("system", "instruction")), ""
    )
    for position, message in enumerate(spoken):
        if position and message.role == first and message.role:
            lines.append("")
        lines.append(
            f"{_header(message.role)} {message.text}" if message.role else message.text
        )
    is_completion = all(m.role == "" for m in messages)
    if not is_completion and role:
        lines.append(_header(role))
    return "\n".join(lines)


def _header(role: str) -> str:
    return f"{role[:1].upper()}{role[1:]}:"


def to_plain(message: Message) -> dict[str, Any]:
    """A message as JSON; media by kind, digest and format."""
    if message.parts is None:
        return {"role": message.role}
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text:
        return {"role": message.role, "content": parts[0].text}
    return {"role": message.role, "content": [part_to_plain(part) for part in parts]}


def plain_turns(messages: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Role and text of each message with content, as `to_plain` writes them; a medium reads `[image]`."""
    return tuple(
        (str(turn["role"]), _plain_text(turn["content"]))
        for turn in messages
        if "content" in turn
    )


def _plain_text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(_plain_part(part) for part in content)


def _plain_part(part: Mapping[str, Any]) -> str:
    kind = str(part["type"])
    if kind in ("text", "reasoning"):
        return str(part["text"]) if kind == "text" else ""
    return str(part["value"]) if kind == "json" else f"[{kind}]"


def part_to_plain(part: Part) -> dict[str, Any]:
    """One part as JSON; a medium by its digest, and where it lies if it is a file."""
    if isinstance(part, Media):
        plain = {"type": part.kind, "sha256": part.digest, "format": part.format}
        return (
            {**plain, "path": str(part.source)}
            if isinstance(part.source, PathLike)
            else plain
        )
    if isinstance(part, Json):
        return {"type": "json", "value": part.value}
    return {"type": part.kind, "text": part.text}
