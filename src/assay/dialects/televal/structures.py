"""Questions and dialogues as rendered by TELEVAL's templates, and the references of rows.

In a reference, a list means any of its entries and a tuple means all of them, in any
nesting. JSON has no tuples, so files contain `{"__tuple__": true, "items": […]}` for a
tuple.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import EMPTY, AllOf, shorten
from ...core.quick import quick
from ..returned import LEAVES, plain
from ..shapes import MAPPINGS, Fields, Record

MARK = "__tuple__"
ROLES = ("user", "assistant", "instruct", "system")


@quick
@dataclass(frozen=True, slots=True)
class Turn:
    """One speaker's turn: an audio clip, its text, and other fields of the template."""

    audio: str | None = None
    text: Any = None
    meta: Fields = field(default_factory=dict)

    def content(self) -> Record:
        """Return the turn as rendered by a template, such as `{"audio": …, "text": …}`, without empty parts."""
        parts = {"audio": self.audio, "text": self.text}
        given_parts = {name: part for name, part in parts.items() if part is not None}
        return {**self.meta, **given_parts}


@quick
@dataclass(frozen=True, slots=True)
class Question:
    """A single question. Its fields have the names of the arguments of `generate_once`."""

    audio: str | None = None
    query: str | None = None
    assistant: str | None = None
    instruct: str = ""
    system: str | None = None

    def keywords(self) -> Record:
        """Return the keyword arguments of `generate_once`."""
        return {
            "type": "single_turn",
            "audio": self.audio,
            "query": self.query,
            "assistant": self.assistant,
            "instruct": self.instruct,
            "system": self.system,
        }

    def roles(self) -> list[Record]:
        """Return the question as rendered by a template: a list of roles with their content."""
        turns = {
            "system": Turn(text=self.system),
            "instruct": Turn(text=self.instruct or None),
            "user": Turn(self.audio, self.query),
            "assistant": Turn(text=self.assistant),
        }
        contents = {role: turn.content() for role, turn in turns.items()}
        return [
            {"role": role, "content": content}
            for role, content in contents.items()
            if content
        ]


@dataclass(frozen=True, slots=True)
class Script:
    """A dialogue. Each round has the user's turn, and the reply that the data contains."""

    users: tuple[Turn, ...]
    replies: tuple[Turn, ...]
    instruct: str = ""

    def structure(self) -> Record:
        """Return the dialogue as rendered by a template."""
        dialogue = []
        rounds = zip(self.users, self.replies, strict=True)
        for number, turns in enumerate(rounds, 1):
            for role, turn in zip("AB", turns, strict=True):
                dialogue.append(
                    {"role": role, "round": str(number), "content": turn.content()}
                )
        structure: Record = {"nrounds": len(self.users), "dialogue": dialogue}
        if self.instruct:
            structure["instruct"] = {"content": {"text": self.instruct}}
        return structure


def read_structure(
    structure: object,
    *,
    reverse: bool = False,
    as_upstream: bool = False,
) -> Question | Script:
    """Return the question in a list of roles, or the dialogue in a mapping with `dialogue`. Raise for anything else.

    `reverse` swaps the speakers: the second speaker becomes the user, and the first
    speaker's *next* turn is the reference.
    """
    if isinstance(structure, list):
        return read_question(structure, as_upstream=as_upstream)
    turns, instruct = read_dialogue(structure)
    script = script_of(turns, instruct, reverse=reverse, as_upstream=as_upstream)
    if not script.users:
        after = ", the first of which speaks again" if reverse else ""
        raise ValueError(f"a dialogue needs turns of two speakers{after}")
    return script


def read_question(
    turns: Sequence[object],
    *,
    as_upstream: bool,
) -> Question:
    """Read a question from a list of roles. Under TELEVAL's own rules, unknown roles are ignored."""
    contents: dict[str, Fields] = {}
    for turn in turns:
        if not isinstance(turn, MAPPINGS):
            raise ValueError(
                f"a role with its content was expected, not {shorten(turn)}"
            )
        role = str(turn.get("role", "")).lower()
        contents[role] = content_of(turn)
        if role not in ROLES and not as_upstream:
            raise ValueError(
                f"unknown role {turn.get('role')!r}; known are {', '.join(ROLES)}"
            )
    user = contents.get("user", EMPTY)
    audio = user.get("audio") or None
    query = user.get("text")
    if audio is None and query is None:
        raise ValueError("a question needs the role `user` with audio or text")
    if len(contents) == 1:
        return Question(audio, query)
    texts = {role: content.get("text") for role, content in contents.items()}
    instruct: Any = texts.get("instruct", "")
    if not as_upstream:
        instruct = instruct or ""
    return Question(
        audio,
        query,
        texts.get("assistant"),
        instruct,
        texts.get("system"),
    )


def read_dialogue(structure: object) -> tuple[list[Turn], Any]:
    """Return the turns of both speakers in a mapping with `dialogue`, and its instruction."""
    if not isinstance(structure, Mapping) or "dialogue" not in structure:
        raise ValueError(
            f"a template gives a list of roles or a mapping with `dialogue`, not {shorten(structure)}"
        )
    dialogue = structure["dialogue"]
    if not isinstance(dialogue, list) or not dialogue:
        raise ValueError(f"`dialogue` must be a list of turns, not {shorten(dialogue)}")
    instruct: Any = ""
    if structure.get("instruct"):
        instruct = content_of(structure["instruct"]).get("text")
    return [read_turn(turn) for turn in dialogue], instruct


def content_of(turn: object) -> Fields:
    """Return the `content` of a role or a dialogue turn: `{"content": {"text": …}}` -> `{"text": …}`.

    A mapping without `content` gives an empty mapping. Any other type raises an error.
    """
    content = turn.get("content", {}) if isinstance(turn, MAPPINGS) else turn
    if not isinstance(content, MAPPINGS):
        raise ValueError(f"content has `text` and `audio`, but is {shorten(content)}")
    return content


def read_turn(turn: object) -> Turn:
    """Read a speaker's turn from an entry of a dialogue."""
    meta = dict(content_of(turn))
    audio = meta.pop("audio", None)
    text = meta.pop("text", None)
    return Turn(audio or None, text, meta)


def script_of(
    turns: Sequence[Turn],
    instruct: str | None,
    *,
    reverse: bool,
    as_upstream: bool,
) -> Script:
    """Build a dialogue from turns that alternate between two speakers.

    With `reverse`, the second speaker becomes the user. In this case, TELEVAL's own
    rules use the previous turn as the reference, and do not swap the turns' other
    fields (`meta`).
    """
    first, second = turns[0::2], turns[1::2]
    if not reverse:
        rounds = list(zip(first, second, strict=False))
    elif as_upstream:
        rounds = [
            (replace(user, meta=before.meta), replace(before, meta=user.meta))
            for before, user in zip(first, second, strict=False)
        ]
    else:
        rounds = list(zip(second, first[1:], strict=False))
    users = tuple(user for user, _ in rounds)
    replies = tuple(reply for _, reply in rounds)
    return Script(users, replies, instruct or "")


def encoded(value: object) -> Any:
    """Convert a value to JSON types, with its tuples marked."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, tuple):
        return {MARK: True, "items": [encoded(item) for item in value]}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, MAPPINGS):
        return {
            key: item if type(item) in LEAVES else encoded(item)
            for key, item in value.items()
        }
    return plain(value)


def json_line(row: Fields) -> str:
    """Return a row as a line of JSON, with its tuples marked."""
    return json.dumps(encoded(row), ensure_ascii=False, default=str)


def decoded(value: object) -> Any:
    """Return a value read from JSON with its tuples restored."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, Mapping):
        if value.get(MARK) is True:
            return tuple(decoded(item) for item in value["items"])
        return {key: decoded(item) for key, item in value.items()}
    return value


def as_target(reference: object) -> Any:
    """Convert a TELEVAL reference to a target: a list becomes a tuple of alternatives, a tuple becomes `AllOf`."""
    if isinstance(reference, tuple):
        return AllOf(tuple(as_target(item) for item in reference))
    if isinstance(reference, list):
        return tuple(as_target(item) for item in reference)
    return reference


def as_reference(target: object) -> Any:
    """Convert a target back to the TELEVAL reference from which `as_target` made it."""
    if isinstance(target, AllOf):
        return tuple(as_reference(part) for part in target.parts)
    if isinstance(target, tuple):
        return [as_reference(item) for item in target]
    return target
