"""Prompts with some of their media changed, for a model or a judge that takes them otherwise."""

from collections.abc import Callable
from dataclasses import replace

from ..core import Part, Prompt


def with_parts(prompt: Prompt, change: Callable[[Part], Part]) -> Prompt:
    """The prompt with each part as `change` gives it back."""
    messages = tuple(
        replace(message, parts=tuple(change(part) for part in message.parts))
        if message.parts
        else message
        for message in prompt.messages
    )
    return replace(prompt, messages=messages)
