"""Base of users' model classes in both toolkits: reads messages, and writes the images of a row.

A message has one of four forms, which become a list of entries for `generate_inner`:

    "Describe a.png."                       str
    ["a.png", "Describe it."]               liststr: a string may be a file, a data URL or a web address
    {"type": "text", "value": "Hi."}        dict
    [{"type": "image", "value": "a.png"}]   listdict

There are two sets of rules for reading them. The toolkits' own rules are `read_as_upstream` and `check_as_upstream`.
Those of assay are `MessageModel._assay_read`, which each toolkit's models define, and `check_types`.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...core import UsageError
from ..shapes import Fields, Record
from .smp.file import parse_file
from .state import as_upstream

Entries = list[Record]


class MessageModel:
    """Base of the model classes of both toolkits. A prompt is a list of texts and media files.

    Subclasses define `generate_inner`. If `use_custom_prompt` returns True, they also
    define `build_prompt`.
    """

    allowed_types: ClassVar[Sequence[str]] = ["text", "image", "video"]
    dump_image_func: Callable[[Any], list[str]] | None = None

    def use_custom_prompt(self, dataset: str | None) -> bool:
        """Return True if the model builds the prompts for a dataset with its own `build_prompt`."""
        return False

    def build_prompt(
        self,
        line: object,
        dataset: str | None = None,
    ) -> object:
        """Return the model's own prompt for a line of the dataset."""
        raise NotImplementedError(f"{type(self).__name__} has no `build_prompt`")

    def generate_inner(
        self,
        message: object,
        dataset: str | None = None,
    ) -> object:
        """Return the answer to a message."""
        raise NotImplementedError(f"{type(self).__name__} has no `generate_inner`")

    def set_dump_image(self, dump_image_func: Callable[[Any], list[str]]) -> None:
        """Set the dataset's function that writes a line's images to files."""
        self.dump_image_func = dump_image_func

    def dump_image(
        self,
        line: object,
        dataset: str | None = None,
    ) -> list[str]:
        """Write the images of a line to files and return their paths."""
        if self.dump_image_func is None:
            raise RuntimeError("dump_image is only known while a dataset is run")
        return self.dump_image_func(line)

    def check_content(self, msgs: object) -> str:
        """Return the form of a message: `str`, `dict`, `liststr`, `listdict` or `unknown`."""
        return content_kind(msgs)

    def preproc_content(self, inputs: object) -> Any:
        """Return a message as a list of dictionaries with local files."""
        if as_upstream():
            return read_as_upstream(inputs)
        return self._assay_read(inputs)

    def _assay_read(self, message: object) -> Entries:
        """Convert a message to a list of dictionaries by assay's rules, which accept more forms than upstream's."""
        raise NotImplementedError

    def _assay_entries(self, message: object) -> Entries:
        """Return the entries of a message for `generate_inner`.

        Raise if the model does not accept the type of an entry.
        """
        if as_upstream():
            return check_as_upstream(message, self.allowed_types, type(self).__name__)
        entries: Entries = self.preproc_content(message)
        check_types(entries, self)
        return entries


def check_types(entries: Entries, model: object) -> None:
    """Raise if a model does not accept the type of an entry, such as `video`."""
    allowed = getattr(model, "allowed_types", None) or ("text", "image")
    for entry in entries:
        if entry["type"] not in allowed:
            raise UsageError(
                f"{type(model).__name__} takes {', '.join(allowed)}, not {entry['type']}",
                fix="see `allowed_types`",
            )


def values_of(
    message: Sequence[Fields],
    kind: str,
) -> list[Any]:
    """Return the values of a message's entries with the type `kind`."""
    return [entry["value"] for entry in message if entry["type"] == kind]


def joined_text(message: Sequence[Fields]) -> str:
    """Return the text entries of a message, joined by line breaks."""
    return "\n".join(values_of(message, "text"))


def content_kind(message: object) -> str:
    """Return the form of a message: `str`, `dict`, `liststr` or `listdict`; `unknown` for others and mixed lists."""
    if isinstance(message, str):
        return "str"
    if isinstance(message, dict):
        return "dict"
    if isinstance(message, list):
        for kind, name in ((str, "liststr"), (dict, "listdict")):
            if all(isinstance(entry, kind) for entry in message):
                return name
    return "unknown"


def read_as_upstream(message: Any) -> Entries | None:
    """Return a message as a list of dictionaries with local files, by the toolkits' own rules; `None` for other types.

    A string in a list may be a file, a data URL or a web address. In a dictionary,
    `type` must match `value`.
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
            _put_local_file(entry)
        return list(message)
    return None


def _put_local_file(entry: Record) -> None:
    """Replace the value of an entry that names a media file with a local path. Raise if its `type` is wrong."""
    value_type, path = parse_file(entry["value"])
    kind = value_type or "text"
    if kind.split("/")[0] != entry["type"]:
        raise AssertionError(
            f"an entry of type {entry['type']!r} has the value of a {kind}"
        )
    if value_type is not None:
        entry["value"] = path


def check_as_upstream(
    message: object,
    allowed: Sequence[str],
    owner: str,
) -> Entries:
    """Return a message as a list of dictionaries, by the toolkits' own rules.

    Raise if `allowed` lacks the type of an entry.
    """
    entries = read_as_upstream(message)
    if entries is None:
        raise AssertionError(
            f"{owner} takes text, a dict, or a list of one of them, not {type(message).__name__}"
        )
    for entry in entries:
        if entry["type"] not in allowed:
            raise AssertionError(f"{owner} does not take {entry['type']}")
    return entries


def _entry(text: str) -> Record:
    """Convert a string in a list to an entry: a medium for a path, data URL or media URL, otherwise a text."""
    value_type, path = parse_file(text)
    if value_type is None or value_type == "unknown":
        return {"type": "text", "value": text}
    return {"type": value_type.split("/")[0], "value": path}


def _check_members(entry: Record) -> None:
    """Raise if an entry lacks its type or its value."""
    if "type" not in entry or "value" not in entry:
        raise AssertionError(
            f"an entry of a message needs type and value; this one has {', '.join(entry) or 'none'}"
        )
