"""Messages in ULMEvalKit's form: lists of `dict(type, value)`, with images as local files."""

from collections.abc import Mapping, Sequence

from ...core import Media, Message, Prompt, Text, shorten
from ..kits.message_content import Entries
from ..kits.message_lists import flat_list, message_turns
from ..kits.row_images import media_file
from ..kits.smp.file import data_root


def as_entries(message: object) -> Entries:
    """Convert text, a dict, or a list of strings or dicts to a list of dicts. A single text is never a file."""
    return prompt_entries(_turns(message))


def prompt_entries(messages: Sequence[Message]) -> Entries:
    """Return the messages of a prompt as one list of dicts, with media as local files."""
    if len(messages) == 1:
        parts = messages[0].parts or ()
        if len(parts) == 1 and type(parts[0]) is Text and messages[0].role == "user":
            return [{"type": "text", "value": parts[0].text}]
    return flat_list(messages, _local_file)


def as_prompt(message: object) -> Prompt:
    """Return the result of a user's `build_prompt` as a prompt that asks for images."""
    return Prompt(_turns(message), ("image",))


def _turns(message: object) -> tuple[Message, ...]:
    if (
        type(message) is list
        and len(message) == 1
        and type(message[0]) is dict
        and len(message[0]) == 2
    ):
        # By far the most common prompt is one text.
        only = message[0]
        if only.get("type") == "text" and isinstance(only.get("value"), str):
            return (Message("user", (Text(only["value"]),)),)
    if isinstance(message, str):
        return (Message("user", (Text(message),)),)
    if isinstance(message, Sequence) and any(
        isinstance(entry, Mapping) for entry in message
    ):
        # A system entry may lack a type: it can only be text.
        message = [
            {"type": "text", **entry}
            if isinstance(entry, Mapping) and "content" not in entry
            else entry
            for entry in message
        ]
    elif not isinstance(message, (Sequence, Mapping)):
        raise TypeError(
            f"a message is text, a dict or a list of them, not {shorten(message)}"
        )
    return message_turns(message)


def _local_file(medium: Media) -> str:
    return media_file(medium, str(data_root() / "files"))
