"""Messages: the turns sent to a model and returned by it.

A message has a role, which may be any string, and an ordered tuple of parts. A message without content marks the
point where the model writes, and its role is the generation role.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

from .errors import shorten
from .media import MEDIA_KINDS, Audio, Image, Media, Video, named_by_data
from .quick import quick
from .tool_messages import CallLinks, read_block, read_tool_turn
from .tools import ToolCall, ToolResult

CHAT_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


@quick
@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning that a model wrote before its answer, stored separately from the answer."""

    text: str
    signature: str = ""
    """Opaque text that a service requires if its reasoning is sent back after a tool call."""
    kind: ClassVar[str] = "reasoning"


@dataclass(frozen=True, slots=True)
class Json:
    """A structured answer, such as a detector's or a judge's."""

    value: Any
    kind: ClassVar[str] = "json"


Part = Text | Reasoning | Json | Image | Audio | Video | ToolCall | ToolResult


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. If `parts` is None, the turn marks where the model's answer goes."""

    role: str
    parts: tuple[Part, ...] | None = None

    @classmethod
    def of(
        cls,
        role: str,
        *content: "str | Part | Media | Mapping[str, Any]",
    ) -> "Message":
        """Build a message from strings, parts and media in the given order.

        Without content, the message marks where the model's answer goes.
        """
        return cls(role, tuple(as_part(piece) for piece in content) or None)

    @property
    def text(self) -> str:
        """All text parts joined, structured values as JSON, without media and reasoning."""
        parts = self.parts
        if not parts:
            return ""
        if len(parts) == 1:
            return part_text(parts[0])
        return "".join(part_text(part) for part in parts)

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, audio clips and videos of this turn, in order."""
        media: list[Media] = []
        for part in self.parts or ():
            if isinstance(part, Media):
                media.append(part)
            elif isinstance(part, ToolResult):
                media += [inner for inner in part.parts if isinstance(inner, Media)]
        return tuple(media)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of this turn, in order."""
        return tuple(part for part in self.parts or () if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of this turn, in order."""
        return tuple(part for part in self.parts or () if isinstance(part, ToolResult))


def part_text(part: Part) -> str:
    """Return the text of one part, with a structured value as JSON.

    Return an empty text for media, reasoning and tool calls.
    """
    if isinstance(part, (Text, ToolResult)):
        return part.text
    if isinstance(part, Json):
        return json.dumps(part.value, ensure_ascii=False)
    return ""


def as_part(piece: object, *, opens_files: bool = False) -> Part:
    """Build a part from a string, a part, a medium, or a content dictionary in OpenAI
    or Hugging Face style.

    A dictionary usually comes from data. A file path in it is opened only if
    `opens_files` is set, or if a folder that contains it was allowed.
    """
    if isinstance(piece, str):
        return Text(piece)
    if isinstance(
        piece, (Text, Reasoning, Json, Image, Audio, Video, ToolCall, ToolResult)
    ):
        return piece
    if isinstance(piece, Mapping):
        part = _part_from_mapping(piece)
        if opens_files and isinstance(part, Media) and part.is_unheld:
            return type(part)(part.source)
        return part
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
        return Reasoning(str(piece.get("text", "")), str(piece.get("signature", "")))
    if kind == "json":
        return Json(piece.get("value"))
    if kind in ("tool_call", "tool_use", "function_call", "tool_result"):
        part: Part = _with_parts(read_block(piece))
        return part
    raise ValueError(f"unknown part type {kind!r}: {shorten(dict(piece))}")


def _medium(kind: str, source: object) -> Image | Audio | Video:
    if isinstance(source, (Image, Audio, Video)):
        return source
    if kind == "image":
        return named_by_data(Image, source)
    if kind == "audio":
        return named_by_data(Audio, source)
    return named_by_data(Video, source)


def _with_parts(content: object) -> Part:
    """Convert one item of a turn's content to a part. If the item is a tool result, convert its contents too."""
    if isinstance(content, ToolResult):
        parts = tuple(as_part(inner) for inner in content.parts)
        return ToolResult(content.call_id, parts, content.error)
    return as_part(content)


def as_message(turn: object, *, default_role: str = "user") -> Message:
    """Build a message from a `Message`, a string, or a dictionary with `role` and optional `content`."""
    if isinstance(turn, Message):
        return turn
    if isinstance(turn, str):
        return Message(default_role, (Text(turn),))
    if isinstance(turn, Mapping):
        tool_turn = read_tool_turn(turn)
        if tool_turn is not None:
            parts = tuple(_with_parts(content) for content in tool_turn.contents)
            return Message(tool_turn.role, parts or None)
        role = str(turn.get("role", default_role))
        content = turn.get("content", turn.get("parts"))
        if content is None:
            return Message(role, None)
        if isinstance(content, str):
            return Message(role, (Text(content),))
        if isinstance(content, Sequence):
            pieces = content
        else:
            pieces = [content]
        return Message(role, tuple(as_part(piece) for piece in pieces))
    if isinstance(turn, Media):
        return Message.of(default_role, turn)
    raise TypeError(
        f"cannot make a message of a {type(turn).__name__}: {shorten(turn)}"
    )


def as_messages(value: object) -> tuple[Message, ...]:
    """Convert the return value of a template to messages.

    A string is one user turn. A list holds several turns, or the parts of one turn.
    """
    if isinstance(value, str):
        return (Message("user", (Text(value),)),)
    if isinstance(value, (Message, Mapping, Media)):
        return (as_message(value),)
    if isinstance(value, Iterable):
        items = list(value)
        is_turns = all(
            isinstance(i, Message) or (isinstance(i, Mapping) and _is_turn(i))
            for i in items
        )
        if items and is_turns:
            return link_calls(tuple(as_message(item) for item in items))
        if items:
            return (Message("user", tuple(as_part(item) for item in items)),)
    raise TypeError(
        f"a template must return text, a message or messages, not {shorten(value)}"
    )


def _is_turn(item: Mapping[str, Any]) -> bool:
    return "role" in item or ("from" in item and "value" in item)


def link_calls(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with an id for each tool call, and with each result linked to
    its call.

    Raise `ValueError` if the call of a result is not in an earlier message.
    """
    if not any(_has_tool_parts(message) for message in messages):
        return messages
    links = CallLinks()
    linked = []
    for message in messages:
        if _has_tool_parts(message):
            parts = tuple(_linked(part, links) for part in message.parts or ())
            message = Message(message.role, parts)
        linked.append(message)
    return tuple(linked)


def _has_tool_parts(message: Message) -> bool:
    return any(isinstance(part, (ToolCall, ToolResult)) for part in message.parts or ())


def _linked(part: Part, links: CallLinks) -> Part:
    if isinstance(part, ToolCall):
        return links.call(part)
    if isinstance(part, ToolResult):
        return links.result(part)
    return part


def generation_role(messages: Sequence[Message]) -> str:
    """Return the role in which the model answers.

    If a message has no content, its role is used. Otherwise it is the role that ended
    the earlier rounds, such as `Answer`, and without earlier rounds `assistant`. Tool
    results do not end a round.
    """
    for message in reversed(messages):
        if message.parts is None:
            return message.role
    spoken = [
        m
        for m in messages
        if m.role.lower() not in ("system", "instruction", "developer", "tool")
    ]
    if not spoken:
        return "assistant"
    first = spoken[0].role
    enders = [
        spoken[i].role for i in range(len(spoken) - 1) if spoken[i + 1].role == first
    ]
    if enders and enders[-1] != first:
        return enders[-1]
    return "assistant"


def has_free_roles(messages: Iterable[Message]) -> bool:
    """Return True if a role is not a chat role, so that the prompt must be sent as a completion."""
    return any(message.role not in CHAT_ROLES for message in messages)


def render_text(messages: Sequence[Message]) -> str:
    r"""Render a prompt with free roles as plain text, `Question: …\nAnswer:`. An empty role has no header.

    Rounds are separated by a blank line. The text ends where the model writes, without a trailing space.
    """
    parts = render_parts(messages)
    return "".join(part.text for part in parts if isinstance(part, Text))


def render_parts(messages: Sequence[Message]) -> list[Part]:
    """Return a prompt as in `render_text`: pieces of its text, with each medium at its position."""
    spoken = [m for m in messages if m.parts is not None]
    role = generation_role(messages)
    parts: list[Part] = []
    first = next(
        (m.role for m in spoken if m.role.lower() not in ("system", "instruction")), ""
    )
    for position, message in enumerate(spoken):
        if position:
            is_new_round = message.role == first and message.role
            parts.append(Text("\n\n" if is_new_round else "\n"))
        if message.role:
            parts.append(Text(f"{_header(message.role)} "))
        parts += written_parts(message)
    is_completion = all(m.role == "" for m in messages)
    if not is_completion and role:
        break_before = "\n" if parts else ""
        parts.append(Text(break_before + _header(role)))
    return parts


def written_parts(message: Message) -> list[Part]:
    """Return the content of a turn as texts and media. Each tool call becomes a line of text."""
    pieces: list[Part] = []
    for part in message.parts or ():
        if isinstance(part, Media):
            pieces.append(part)
        elif isinstance(part, ToolResult):
            inner_media = [inner for inner in part.parts if isinstance(inner, Media)]
            pieces += [Text(part.text), *inner_media]
        elif isinstance(part, ToolCall):
            break_before = "\n" if pieces else ""
            pieces.append(Text(break_before + part.text))
        else:
            pieces.append(Text(part_text(part)))
    return pieces


def _header(role: str) -> str:
    return f"{role[:1].upper()}{role[1:]}:"


def to_plain(message: Message) -> dict[str, Any]:
    """Return a message as JSON, with media by kind, digest and format.

    The content of a message with a single text is that text: `{"role": "user", "content": "2+2?"}`.
    """
    parts = message.parts
    if parts is None:
        return {"role": message.role}
    if len(parts) == 1 and type(parts[0]) is Text:
        return {"role": message.role, "content": parts[0].text}
    content = [part_to_plain(part) for part in parts]
    return {"role": message.role, "content": content}


def plain_turns(messages: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Return the role and text of each journaled message that has content. A medium becomes `[image]`."""
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
    """Return the text of a part from the journal: `[image]` for media, and nothing for reasoning."""
    kind = str(part["type"])
    if kind == "text":
        return str(part["text"])
    if kind == "reasoning":
        return ""
    if kind == "json":
        return str(part["value"])
    if kind not in ("tool_call", "tool_result"):
        return f"[{kind}]"
    read = _part_from_mapping({**part, "content": _without_media(part)})
    if isinstance(read, ToolCall | ToolResult):
        return f"[{kind}] {read.text}\n"
    return ""


def _without_media(part: Mapping[str, Any]) -> list[Any]:
    """Return the contents of a tool result from the journal, with a placeholder such as `[image]` for each medium."""
    texts = []
    for piece in part.get("content") or ():
        kind = piece.get("type")
        texts.append(
            {"type": "text", "text": f"[{kind}]"} if kind in MEDIA_KINDS else piece
        )
    return texts


def part_to_plain(part: Part) -> dict[str, Any]:
    """Return one part as JSON. A medium is represented by its digest, and by its path if it is a file."""
    plain: dict[str, Any]
    if isinstance(part, Media):
        plain = {"type": part.kind, "sha256": part.digest, "format": part.format}
        if isinstance(part.source, PathLike):
            return {**plain, "path": str(part.source)}
        return plain
    if isinstance(part, Json):
        return {"type": "json", "value": part.value}
    if isinstance(part, ToolCall):
        plain = {
            "type": "tool_call",
            "id": part.id,
            "name": part.name,
            "arguments": part.arguments,
        }
        if part.signature:
            return {**plain, "signature": part.signature}
        return plain
    if isinstance(part, ToolResult):
        contents = [part_to_plain(inner) for inner in part.parts]
        plain = {"type": "tool_result", "call_id": part.call_id, "content": contents}
        if part.error:
            return {**plain, "error": part.error}
        return plain
    if isinstance(part, Reasoning) and part.signature:
        return {"type": "reasoning", "text": part.text, "signature": part.signature}
    return {"type": part.kind, "text": part.text}
