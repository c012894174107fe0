"""Prompt templates of the testbed: Jinja over `messages`, rendered in a sandbox like chat templates.

A template accepts content as strings or as lists of parts, rarely both. Whichever form
a retriever uses, assay renders the form in which no text is lost.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from ...core import as_messages, generation_role
from ...rendering import PlainSandbox, plain_values
from ..shapes import Fields, Record
from .conversation import HEAD_ROLES, pieces_of, query_last

Conversation = Sequence[Fields]
Render = Callable[[Conversation], str]


class _Generation(Extension):
    """Jinja extension for the block `{% generation %}`, which marks the assistant's text and is rendered unchanged."""

    tags = {"generation"}  # noqa: RUF012 - jinja's own way to say it

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """Parse the block, and return the nodes of its body."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=1)
def environment() -> PlainSandbox:
    """Return the Jinja environment. As in chat templates, a line with only a block tag produces no output."""
    sandbox = PlainSandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, "jinja2.ext.loopcontrols"],
    )
    sandbox.globals["raise_exception"] = _refuse
    sandbox.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return sandbox


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


@lru_cache(maxsize=64)
def _compiled(template: str) -> jinja2.Template:
    return environment().from_string(template)


def render(
    template: str,
    conversation: Conversation,
    **variables: object,
) -> str:
    """Render a conversation with a prompt template."""
    return _compiled(template).render(
        plain_values({"messages": conversation, **variables})
    )


def arranged(
    conversation: Conversation,
    *,
    asks: bool,
) -> list[Record]:
    """Move the model's turn to the end of a conversation. With `asks`, add the turn if it is missing.

    The role of an added turn is that of the model in earlier rounds, or else
    `assistant`. It always differs from the role of the last message.
    """
    messages = [dict(message) for message in query_last(conversation)]
    if asks and all("content" in message for message in messages):
        bare = as_messages(
            [{"role": message["role"], "content": ""} for message in messages]
        )
        messages.append({"role": generation_role(bare)})
    return messages


def in_either_form(
    conversation: Conversation,
    renders: Render,
) -> str:
    """Render the conversation unchanged, or with content as lists or as strings if that loses less text.

    A label that is a number or a bool becomes text if the template cannot render it
    otherwise. If the original form fails and no form renders everything, the error of
    the original form is raised.
    """
    original_error: Exception | None = None
    best = ""
    fewest_lost: int | None = None
    for form in (_unchanged, _as_lists, _as_texts):
        try:
            text = renders([form(message) for message in conversation])
        except (TypeError, jinja2.TemplateError) as error:
            if form is _unchanged:
                original_error = error
            continue
        lost_count = len(lost(conversation, text))
        if lost_count == 0:
            return text
        if fewest_lost is None or lost_count < fewest_lost:
            best = text
            fewest_lost = lost_count
    if original_error is not None:
        raise original_error
    return best


def lost(
    conversation: Conversation,
    text: str,
) -> list[str]:
    """Return the texts of a conversation that its rendering `text` does not contain."""
    missing = []
    for message in conversation:
        for piece in _texts(message):
            words = piece.strip()
            if words and words not in text:
                missing.append(words)
    return missing


def _texts(message: Fields) -> list[str]:
    return [
        str(piece.get("text", "")) if isinstance(piece, Mapping) else str(piece)
        for piece in pieces_of(message)
    ]


def _unchanged(message: Fields) -> Fields:
    return dict(message)


def _as_lists(message: Fields) -> Fields:
    """Return a message with its content as a list of parts. The content of an initial system prompt stays a string."""
    if "content" not in message:
        return message
    if str(message.get("role", "")).lower() in HEAD_ROLES:
        return _as_texts(message)
    return {**message, "content": [_part(piece) for piece in pieces_of(message)]}


def _part(piece: object) -> Fields:
    if not isinstance(piece, Mapping):
        return {"type": "text", "text": str(piece)}
    text = piece.get("text", "")
    if isinstance(text, str):
        return piece
    return {**piece, "text": str(text)}


def _as_texts(message: Fields) -> Fields:
    """Return a message whose text parts are joined to one string. If it has images, its parts stay a list."""
    if "content" not in message:
        return message
    parts = [_part(piece) for piece in pieces_of(message)]
    kinds = [part.get("type", "text") for part in parts]
    if any(kind != "text" for kind in kinds):
        return {**message, "content": parts}
    return {**message, "content": " ".join(_texts(message))}
