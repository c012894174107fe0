"""Change some media of a prompt, for a model or a judge that needs another form."""

from collections.abc import Callable
from dataclasses import replace

from ..core import Part, Prompt


def with_parts(prompt: Prompt, change: Callable[[Part], Part]) -> Prompt:
    """Return the prompt with each part replaced by `change(part)`."""
    messages = tuple(
        replace(message, parts=tuple(change(part) for part in message.parts))
        if message.parts
        else message
        for message in prompt.messages
    )
    return replace(prompt, messages=messages)
