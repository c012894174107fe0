"""Prompt templates of the testbed: Jinja over `messages`, rendered in a sandbox as chat templates are.

A template may know texts or lists of parts as content, rarely both; whichever form a retriever chose, the one in which
nothing that was said gets lost is rendered.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from ...core import as_messages, generation_role
from ...rendering import PlainSandbox, plain_values
from .conversation import query_last

Conversation = Sequence[Mapping[str, Any]]
Render = Callable[[Conversation], str]


class _Generation(Extension):
    """`{% generation %}`: marks what an assistant said; rendered as it stands."""

    tags = {"generation"}  # noqa: RUF012 - jinja's own way to say it

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The body of the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=1)
def environment() -> PlainSandbox:
    """Block tags leave no blanks behind, as the chat templates of tokenizers expect."""
    made = PlainSandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    made.globals["raise_exception"] = _refuse
    made.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return made


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


@lru_cache(maxsize=64)
def _compiled(template: str) -> jinja2.Template:
    return environment().from_string(template)


def render(template: str, conversation: Conversation, **variables: Any) -> str:
    """A conversation as the template writes it."""
    return _compiled(template).render(plain_values({"messages": conversation, **variables}))


def arranged(conversation: Conversation, *, asks: bool) -> list[dict[str, Any]]:
    """The conversation with its place to write at the very end; `asks` adds one where there is none.

    Who writes is the role that ended the earlier rounds, else the assistant: never the one who asked last.
    """
    messages = [dict(message) for message in query_last(conversation)]
    if asks and all("content" in message for message in messages):
        bare = as_messages([{"role": message["role"], "content": ""} for message in messages])
        messages.append({"role": generation_role(bare)})
    return messages


def in_either_form(conversation: Conversation, renders: Render) -> str:
    """What `renders` gives for the conversation as it is, or in the other form of content if that loses less."""
    try:
        text = renders(conversation)
        error = None
    except (TypeError, jinja2.TemplateError) as raised:
        text, error = "", raised
    if error is None and not lost(conversation, text):
        return text
    other = [_in_other_form(message) for message in conversation]
    if other == list(conversation):
        return _or_raise(text, error)
    try:
        again = renders(other)
    except (TypeError, jinja2.TemplateError):
        return _or_raise(text, error)
    if error is not None or len(lost(conversation, again)) < len(lost(conversation, text)):
        return again
    return text


def _or_raise(text: str, error: Exception | None) -> str:
    if error is not None:
        raise error
    return text


def lost(conversation: Conversation, text: str) -> list[str]:
    """The texts of a conversation that do not stand in a rendering of it."""
    return [said for message in conversation for said in _texts(message) if said.strip() and said.strip() not in text]


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content", "")
    pieces = content if isinstance(content, (list, tuple)) else [content]
    return [str(p.get("text", "")) if isinstance(p, Mapping) else str(p) for p in pieces]


def _in_other_form(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A text as a list of one part, or a list of texts as one text; images keep a list a list."""
    if "content" not in message:
        return message
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content}]}
    pieces = content if isinstance(content, (list, tuple)) else [content]
    if any(isinstance(piece, Mapping) and piece.get("type", "text") != "text" for piece in pieces):
        return {**message, "content": list(pieces)}
    return {**message, "content": " ".join(_texts(message))}
