"""What base classes of models make of a message: text, a dictionary, or a list of one kind of these."""

from collections.abc import Sequence
from typing import Any

from .smp.files import parse_file

Entries = list[dict[str, Any]]


def content_kind(message: Any) -> str:
    """`str`, `dict`, `liststr`, `listdict`; `unknown` for anything else, a list of several kinds too."""
    if isinstance(message, str):
        return "str"
    if isinstance(message, dict):
        return "dict"
    if isinstance(message, list):
        for kind, name in ((str, "liststr"), (dict, "listdict")):
            if all(isinstance(entry, kind) for entry in message):
                return name
    return "unknown"


def prepared(message: Any) -> Entries | None:
    """A message as a list of dictionaries with local files, as upstream prepares it; `None` for an unknown kind.

    A string in a list may be a file, a data URL or an address; a dictionary's type must be that of its value.
    """
    kind = content_kind(message)
    if kind == "str":
        return [{"type": "text", "value": message}]
    if kind == "dict":
        _check_members(message)
        return [message]
    if kind == "liststr":
        return [_entry(text) for text in message]
    if kind == "listdict":
        for entry in message:
            _check_members(entry)
            found, path = parse_file(entry["value"])
            if (found or "text").split("/")[0] != entry["type"]:
                raise AssertionError(f"an entry of type {entry['type']!r} has the value of a {found or 'text'}")
            if found is not None:
                entry["value"] = path
        return list(message) if not isinstance(message, list) else message
    return None


def checked(message: Any, allowed: Sequence[str], owner: str) -> Entries:
    """A prepared message of the types that a model takes; an error for any other."""
    entries = prepared(message)
    if entries is None:
        raise AssertionError(f"{owner} takes text, a dict, or a list of one of them, not {type(message).__name__}")
    for entry in entries:
        if entry["type"] not in allowed:
            raise AssertionError(f"{owner} does not take {entry['type']}")
    return entries


def _entry(text: str) -> dict[str, Any]:
    found, path = parse_file(text)
    return {"type": "text", "value": text} if found in (None, "unknown") else {"type": found.split("/")[0], "value": path}


def _check_members(entry: dict[str, Any]) -> None:
    if "type" not in entry or "value" not in entry:
        raise AssertionError(f"an entry of a message needs type and value, this one has {', '.join(entry) or 'nothing'}")
