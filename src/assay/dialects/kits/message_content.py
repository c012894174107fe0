"""What base classes of models have in common: what they make of a message, and of the images of a row."""

from collections.abc import Callable, Sequence
from typing import Any

from .smp.files import parse_file

Entries = list[dict[str, Any]]


class MessageModel:
    """A model of messages; subclasses write `generate_inner`, and `build_prompt` where `use_custom_prompt` says so."""

    dump_image_func: Callable[[Any], list[str]] | None = None

    def use_custom_prompt(self, dataset: str | None) -> bool:
        """Whether `build_prompt` of the model replaces that of the benchmark."""
        return False

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        """The model's own prompt of a line."""
        raise NotImplementedError(f"{type(self).__name__} has no `build_prompt`")

    def generate_inner(self, message: Any, dataset: str | None = None) -> Any:
        """The answer to a message."""
        raise NotImplementedError(f"{type(self).__name__} has no `generate_inner`")

    def set_dump_image(self, dump_image_func: Callable[[Any], list[str]]) -> None:
        """How images of a line become files."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> list[str]:
        """The images of a line as files."""
        if self.dump_image_func is None:
            raise RuntimeError("dump_image is only known while a dataset is run")
        return self.dump_image_func(line)

    def check_content(self, msgs: Any) -> str:
        """`str`, `dict`, `liststr`, `listdict` or `unknown`."""
        return content_kind(msgs)

    def _assay_entries(self, message: Any) -> Entries:
        """A message as the class takes it: a list of dictionaries with local files."""
        raise NotImplementedError


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
                raise AssertionError(
                    f"an entry of type {entry['type']!r} has the value of a {found or 'text'}"
                )
            if found is not None:
                entry["value"] = path
        return list(message)
    return None


def checked(message: Any, allowed: Sequence[str], owner: str) -> Entries:
    """A prepared message of the types that a model takes; an error for any other."""
    entries = prepared(message)
    if entries is None:
        raise AssertionError(
            f"{owner} takes text, a dict, or a list of one of them, not {type(message).__name__}"
        )
    for entry in entries:
        if entry["type"] not in allowed:
            raise AssertionError(f"{owner} does not take {entry['type']}")
    return entries


def _entry(text: str) -> dict[str, Any]:
    found, path = parse_file(text)
    if found is None or found == "unknown":
        return {"type": "text", "value": text}
    return {"type": found.split("/")[0], "value": path}


def _check_members(entry: dict[str, Any]) -> None:
    if "type" not in entry or "value" not in entry:
        raise AssertionError(
            f"an entry of a message needs type and value; this one has {', '.join(entry) or 'none'}"
        )
