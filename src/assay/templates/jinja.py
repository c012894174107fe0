"""Jinja templates: text, or messages from YAML, rendered with the data of a row.

The variables are the row's columns. Other variables are `sample`, `id`, `input`,
`target`, `choices` and `letters`, as JSON values, unless a column has the same name.
Templates run in a sandbox, and an unknown variable is an error. The result is text
(never parsed as JSON), with the sample's media where the text has
`{{ sample.media[0] }}`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from typing import Any

import jinja2

from ..core import (
    EMPTY,
    Media,
    Message,
    Part,
    Prompt,
    Sample,
    TemplateError,
    Text,
    UsageError,
    as_part,
    nearest,
    shorten,
)
from ..core.errors import UnknownColumn
from ..core.media import MEDIA_KINDS, is_inline
from ..rendering import LETTERS, Shown, variables_of, why_refused
from ..rendering.text import compiled_text, join_pieces, plain_pieces
from .built import turn

__all__ = [
    "EXTRA_NAMES",
    "LETTERS",
    "JinjaMessages",
    "JinjaText",
    "JinjaTurn",
    "compiled",
]

MAX_NAMES_SHOWN = 20
_ONE_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_QUOTED_NAME = re.compile(r"'([^']+)' is undefined")


class JinjaText:
    """One Jinja text, compiled once. Calling it returns the text for a sample."""

    __slots__ = ("_pieces", "_template", "text", "variables", "where")

    def __init__(
        self,
        text: str,
        *,
        where: str = "",
        blocks: Mapping[str, bool] = EMPTY,
    ) -> None:
        self.text = text
        self.where = where or "template"
        self._template, self.variables = compiled_text(text, self.where, blocks)
        """`variables` are the names that the text reads. Only these values are converted for it."""
        self._pieces = plain_pieces(text, blocks)
        """The literals and variables of a text that has nothing else. Joining them is faster than Jinja."""

    def __call__(self, sample: Sample) -> str:
        """Return the text for a sample. Each medium is replaced by a word such as `[image]`."""
        marks = Shown(sample.media)
        return marks.words(self.rendered(sample, marks))

    def parts(self, sample: Sample) -> tuple[Part, ...]:
        """Return the text for a sample as parts of a message: its words and its media."""
        marks = Shown(sample.media)
        return marks.parts(self.rendered(sample, marks))

    def rendered(self, sample: Sample, marks: Shown) -> str:
        """Return the rendered text, in which a mark stands for each medium. `marks` records which."""
        try:
            values = variables_of(sample, self.variables, marks)
            if self._pieces is not None:
                joined = join_pieces(self._pieces, values)
                if joined is not None:
                    return joined
            return self._template.render(values)
        except jinja2.UndefinedError as error:
            raise self._undefined(error, sample) from error
        except Exception as error:
            raise why_refused(
                error, f"{self.where}, sample {shorten(sample.id)}"
            ) from error

    def _undefined(
        self,
        error: jinja2.UndefinedError,
        sample: Sample,
    ) -> TemplateError:
        message = error.message or "undefined variable"
        match = _QUOTED_NAME.search(message)
        names = sorted(str(name) for name in sample.fields)
        listing = ", ".join(names[:MAX_NAMES_SHOWN]) + (
            ", …" if len(names) > MAX_NAMES_SHOWN else ""
        )
        if match:
            close = nearest(match[1], [*names, *EXTRA_NAMES])
        else:
            close = None
        hint = f"did you mean {close!r}? " if close else ""
        return UnknownColumn(
            message,
            where=f"{self.where}, sample {shorten(sample.id)}",
            fix=f"{hint}the row has the columns: {listing or 'none'}",
        )


@lru_cache(maxsize=256)
def compiled(text: str, where: str) -> JinjaText:
    """Return a Jinja text from a cache of compiled ones."""
    return JinjaText(text, where=where)


EXTRA_NAMES = ("sample", "id", "input", "target", "choices", "letters")


class JinjaTurn:
    """A template with one user turn: the sample's media and then the text, or the text with the media that it names."""

    __slots__ = ("render",)

    def __init__(
        self,
        text: str,
        *,
        where: str = "",
        blocks: Mapping[str, bool] = EMPTY,
    ) -> None:
        self.render = JinjaText(text, where=where, blocks=blocks)

    def __call__(self, sample: Sample) -> Prompt:
        parts = self.render.parts(sample)
        if len(parts) == 1 and isinstance(parts[0], Text):
            return Prompt((turn("user", sample, parts[0].text),))
        return Prompt((Message("user", parts),))


Piece = Callable[[Sample, Iterator[Media]], Sequence[Part]]


class JinjaMessages:
    """Messages whose content is Jinja text. A message without content marks the place where the model writes.

    Content is text or a list of parts. A part is text, `{type: text, text: …}`, `{type:
    image}` for the sample's next image (likewise audio and video), `{type: image,
    column: name}`, `{type: image, image: path}`, or `{type: media}` for all remaining
    media. Media that no part uses are placed before the first text for the model.
    """

    __slots__ = ("_blocks", "_takes_media", "_turns")

    def __init__(
        self,
        messages: Sequence[Any],
        *,
        where: str = "",
        blocks: Mapping[str, bool] = EMPTY,
    ) -> None:
        self._blocks = blocks
        self._turns: list[tuple[JinjaText, list[Piece] | None]] = []
        self._takes_media = False
        for number, message in enumerate(messages, 1):
            self._turns.append(
                self._compile(message, f"{where or 'template'}, message {number}")
            )

    def _compile(
        self,
        message: object,
        where: str,
    ) -> tuple[JinjaText, list[Piece] | None]:
        if not isinstance(message, Mapping) or "role" not in message:
            raise UsageError(
                f"a message needs a role, got {shorten(message)}",
                where=where,
                fix="write {role: user, content: …}",
            )
        unknown = [key for key in message if key not in ("role", "content")]
        if unknown:
            raise UsageError(
                f"a message has no {unknown[0]!r}",
                where=where,
                fix="its keys are role and content",
            )
        role = JinjaText(str(message["role"]), where=where)
        content = message.get("content")
        if content is None:
            return role, None
        if isinstance(content, (list, tuple)):
            pieces = content
        else:
            pieces = [content]
        return role, [self._piece(piece, where) for piece in pieces]

    def _text(self, text: object, where: str) -> JinjaText:
        return JinjaText(
            str(text),
            where=where,
            blocks=self._blocks,
        )

    def _piece(self, piece: object, where: str) -> Piece:
        if isinstance(piece, (str, int, float)):
            return _text_piece(self._text(piece, where))
        if not isinstance(piece, Mapping):
            raise UsageError(
                f"content is text or parts, got {shorten(piece)}", where=where
            )
        kind = str(piece.get("type", "text"))
        if kind == "text":
            return _text_piece(self._text(piece.get("text", ""), where))
        if kind == "media":
            self._takes_media = True
            return lambda sample, media: [as_part(medium) for medium in media]
        if kind not in MEDIA_KINDS:
            types = ", ".join(["text", "media", *MEDIA_KINDS])
            raise UsageError(
                f"unknown part type {kind!r}",
                where=where,
                fix=f"known types: {types}",
            )
        source = next(
            (piece[key] for key in (kind, "value", "path", "url") if piece.get(key)),
            None,
        )
        column = piece.get("column")
        self._takes_media = True
        if source is None and column is None:
            return _next_medium(kind, where)
        return _medium_piece(kind, str(column or ""), str(source or ""), where)

    def __call__(self, sample: Sample) -> Prompt:
        media = iter(sample.media)
        messages: list[Message] = []
        for role, pieces in self._turns:
            if pieces is None:
                content = None
            else:
                content = tuple(
                    part for piece in pieces for part in piece(sample, media)
                )
            messages.append(Message(role(sample), content))
        if (
            sample.media
            and not self._takes_media
            and not any(message.media for message in messages)
        ):
            _show_first(messages, sample)
        return Prompt(tuple(messages))


def _show_first(
    messages: list[Message],
    sample: Sample,
) -> None:
    """Return the messages with the sample's media before the first text for the model."""
    for index, message in enumerate(messages):
        if message.parts is not None and message.role not in ("system", "developer"):
            messages[index] = Message(
                message.role, (*map(as_part, sample.media), *message.parts)
            )
            return


def _text_piece(render: JinjaText) -> Piece:
    return lambda sample, media: render.parts(sample)


def _next_medium(kind: str, where: str) -> Piece:
    def take(
        sample: Sample,
        media: Iterator[Media],
    ) -> Sequence[Part]:
        match = next((medium for medium in media if medium.kind == kind), None)
        if match is None:
            raise TemplateError(
                f"the template shows one more {kind} than the sample has",
                where=f"{where}, sample {shorten(sample.id)}",
                fix="use {type: media} for all the sample has",
            )
        return (as_part(match),)

    return take


def _medium_piece(
    kind: str,
    column: str,
    source: str,
    where: str,
) -> Piece:
    whole = _ONE_VARIABLE.fullmatch(source.strip())
    name = column or (whole[1] if whole else "")
    render = JinjaText(f"{{{{ {name} }}}}" if column else source, where=where)
    is_of_the_task = not render.variables

    def find(
        sample: Sample,
        media: Iterator[Media],
    ) -> Sequence[Part]:
        # Pass on a column unchanged, because an image's bytes are not text. A missing column is Jinja's own error.
        marks = Shown(sample.media)
        if name in sample.fields:
            value = sample.fields[name]
        else:
            value = render.rendered(sample, marks)
        if isinstance(value, str) and (marked := marks.only(value)) is not None:
            return (as_part(marked),)
        if isinstance(value, Mapping):  # As Hugging Face's columns hold media.
            value = value.get("bytes") or value.get("path") or ""
        if not isinstance(value, (str, PathLike)) or is_of_the_task:
            part = as_part({"type": kind, kind: value})
            if isinstance(part, Media):
                part.place = (where, None, None)
            return (part,)
        medium = _known_medium(str(value), sample)
        if medium is None and not is_inline(str(value)):
            # Rows are untrusted. The dataset decides which files and URLs they may name, not the template.
            raise TemplateError(
                f"the row names the {kind} {shorten(str(value))}, which is none of the sample's media",
                where=f"{where}, sample {shorten(sample.id)}",
                fix=f"let the data say which column holds it: columns: {{{kind}: {name or 'NAME'}}}",
            )
        return (as_part(medium or {"type": kind, kind: value}),)

    return find


def _known_medium(value: str, sample: Sample) -> Media | None:
    """Return the sample's medium that was built from this cell; None if there is none.

    The dataset has already resolved the path of such a medium.
    """
    for medium in sample.media:
        if not isinstance(medium.source, (bytes, bytearray)):
            source = str(medium.source)
        else:
            source = ""
        if medium.name == value or source == value or source.endswith(f"/{value}"):
            return medium
    return None
