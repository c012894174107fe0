"""What a guest template says, taken apart: one question with its roles, or the script of a dialogue."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import shorten

ROLES = ("user", "assistant", "instruct", "system")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says: an audio clip, its text, and whatever else the template gives with it."""

    audio: str | None = None
    text: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """A single question."""

    audio: str | None = None
    query: str | None = None
    assistant: str | None = None
    instruct: str = ""
    system: str | None = None

    def keywords(self) -> dict[str, Any]:
        """What `generate_once` is given."""
        return {
            "type": "single_turn",
            "audio": self.audio,
            "query": self.query,
            "assistant": self.assistant,
            "instruct": self.instruct,
            "system": self.system,
        }


@dataclass(frozen=True, slots=True)
class Script:
    """A dialogue: what the user says in each round, and what the other speaker said in the data."""

    users: tuple[Turn, ...]
    replies: tuple[Turn, ...]
    instruct: str = ""


def read_structure(
    structure: Any, *, reverse: bool = False, as_upstream: bool = False
) -> Question | Script:
    """A question from a list of roles, a script from a mapping with `dialogue`; anything else says what it is.

    `reverse` swaps the speakers: the second one is the user, and what the first one says *next* is the reference.
    """
    if isinstance(structure, Mapping) and "dialogue" in structure:
        return _script(structure, reverse, as_upstream)
    if isinstance(structure, list):
        return _question(structure, as_upstream)
    raise ValueError(
        f"a template gives a list of roles or a mapping with `dialogue`, not {shorten(structure)}"
    )


def _question(turns: list[Any], as_upstream: bool = False) -> Question:
    fields: dict[str, Any] = {}
    for turn in turns:
        if not isinstance(turn, Mapping):
            raise ValueError(
                f"a role with its content was expected, not {shorten(turn)}"
            )
        role = str(turn.get("role", "")).lower()
        if role not in ROLES:
            if as_upstream:
                continue
            raise ValueError(
                f"unknown role {turn.get('role')!r}; known are {', '.join(ROLES)}"
            )
        spoken = _turn(turn)
        if role == "user":
            fields["audio"], fields["query"] = spoken.audio, spoken.text
        else:
            fields[role] = spoken.text
    if fields.get("audio") is None and fields.get("query") is None:
        raise ValueError("a question needs the role `user` with audio or text")
    fields["instruct"] = fields.get("instruct") or ""
    return Question(**fields)


def _script(structure: Mapping[str, Any], reverse: bool, as_upstream: bool) -> Script:
    dialogue = structure["dialogue"]
    if not isinstance(dialogue, list) or not dialogue:
        raise ValueError(f"`dialogue` must be a list of turns, not {shorten(dialogue)}")
    turns = [_turn(turn) for turn in dialogue]
    first, second = turns[0::2], turns[1::2]
    if reverse and as_upstream:
        # TELEVAL takes what was said before as the reference, and leaves what stands beside the text where it was.
        users = [
            replace(second_turn, meta=before.meta)
            for second_turn, before in zip(second, first, strict=False)
        ]
        replies = [
            replace(before, meta=second_turn.meta)
            for second_turn, before in zip(second, first, strict=False)
        ]
    else:
        users, replies = (second, first[1:]) if reverse else (first, second)
    rounds = min(len(users), len(replies))
    if not rounds:
        after = ", the first of which speaks again" if reverse else ""
        raise ValueError(f"a dialogue needs turns of two speakers{after}")
    instruct = _turn(structure["instruct"]).text if structure.get("instruct") else ""
    return Script(tuple(users[:rounds]), tuple(replies[:rounds]), instruct or "")


def _turn(turn: Any) -> Turn:
    content = turn.get("content", {}) if isinstance(turn, Mapping) else turn
    if not isinstance(content, Mapping):
        raise ValueError(f"content has `text` and `audio`, but is {shorten(content)}")
    meta = {
        key: value for key, value in content.items() if key not in ("audio", "text")
    }
    return Turn(content.get("audio") or None, content.get("text"), meta)
