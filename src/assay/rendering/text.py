"""Texts that contain Jinja, compiled once and rendered from JSON values."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta
from jinja2.exceptions import SecurityError, UndefinedError

from ..core import EMPTY, TemplateError, UsageError, nearest
from ..core.errors import ForbiddenTemplate
from .limits import MAX_CHARACTERS, RunawayTemplate
from .sandbox import PlainSandbox
from .values import Shown, plain_value

BLOCK_OPTIONS = ("trim_blocks", "lstrip_blocks")
"""Jinja's options for white space around block tags. Both are off unless a template sets them."""


@lru_cache(maxsize=4)
def environment(
    trim_blocks: bool = False,
    lstrip_blocks: bool = False,
) -> PlainSandbox:
    """Return the shared Jinja environment with these block options. An unknown variable in a template is an error."""
    return PlainSandbox(
        undefined=jinja2.StrictUndefined,
        trim_blocks=trim_blocks,
        lstrip_blocks=lstrip_blocks,
    )


def block_options(
    template: Mapping[str, Any],
    where: str,
) -> dict[str, bool]:
    """Return the options for block tags in a template. Raise if one is not true or false."""
    options: dict[str, bool] = {}
    for name in BLOCK_OPTIONS:
        value = template.get(name, False)
        if not isinstance(value, bool):
            raise UsageError(
                f"{name} must be true or false, got {value!r}",
                where=where or None,
                fix=f"write {name}: true, or leave it out",
            )
        options[name] = value
    return options


def compiled_text(
    text: str,
    where: str,
    blocks: Mapping[str, bool] = EMPTY,
) -> tuple[jinja2.Template, frozenset[str]]:
    """Return a text compiled as a Jinja template, and the names of the variables in it."""
    jinja = environment(**blocks)
    try:
        template = jinja.from_string(text)
        names = meta.find_undeclared_variables(jinja.parse(text))
        return template, frozenset(names)
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(
            f"not valid Jinja: {error.message}",
            where=f"{where}, line {error.lineno}",
            fix="write literal braces as {{ '{{' }} or inside {% raw %}",
        ) from error
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise UsageError(
            f"not valid Jinja: nested too deep ({error})", where=where
        ) from error


Piece = str | jinja2.nodes.Name
"""A part of a template that needs no code: literal text, or the name of a variable to insert."""


def plain_pieces(
    text: str,
    blocks: Mapping[str, bool] = EMPTY,
) -> tuple[Piece, ...] | None:
    """Split a template that only inserts variables, such as `Q: {{ question }}`; None for any other template."""
    pieces: list[Piece] = []
    for output in environment(**blocks).parse(text).body:
        for node in getattr(output, "nodes", (output,)):
            if isinstance(node, jinja2.nodes.TemplateData):
                pieces.append(node.data)
            elif isinstance(node, jinja2.nodes.Name):
                pieces.append(node)
            else:
                return None
    return tuple(pieces)


def join_pieces(
    pieces: Sequence[Piece],
    values: Mapping[str, Any],
) -> str | None:
    """Return the rendered text.

    Return None if Jinja must render it, because a value is missing, is not text, or is
    long.
    """
    texts: list[str] = []
    for piece in pieces:
        text = piece if isinstance(piece, str) else values.get(piece.name)
        if type(text) is not str:
            return None
        texts.append(text)
    joined = "".join(texts)
    return joined if len(joined) <= MAX_CHARACTERS else None


def why_refused(error: Exception, where: str) -> TemplateError:
    """Convert an exception raised while rendering into an error with a reason and a fix."""
    if isinstance(error, RunawayTemplate):
        fix = "write less, or write the template as a Python function"
        return TemplateError(
            f"the template produces too much: {error}",
            where=where,
            fix=fix,
        )
    if isinstance(error, TypeError) and "no loader" in str(error):
        fix = "write the text of the other file into this one, or write the template as a Python function"
        return ForbiddenTemplate(
            "a template cannot include or import other files",
            where=where,
            fix=fix,
        )
    if isinstance(error, SecurityError):
        reason = f"the template uses something that no template may use: {error}"
        fix = "use the columns of the row, or write the template as a Python function"
        return ForbiddenTemplate(reason, where=where, fix=fix)
    if isinstance(error, UndefinedError):
        reason, _, name = (
            str(error.message).removesuffix("'").rpartition(" has no attribute '")
        )
        if reason:
            fix = f"check the name, or write `| default('')` behind it where some rows have no {name!r}"
            return TemplateError(
                f"a value in the text has no {name!r}",
                where=where,
                fix=fix,
            )
    return TemplateError(f"{type(error).__name__}: {error}", where=where)


class PlainText:
    """A Jinja template, compiled once. Its variables are checked against the known names."""

    __slots__ = ("_template", "names", "text", "where")

    def __init__(
        self,
        text: str,
        variables: frozenset[str],
        *,
        where: str,
        blocks: Mapping[str, bool] = EMPTY,
    ) -> None:
        self.text = text
        self.where = where
        self._template, self.names = compiled_text(text, where, blocks)
        for name in sorted(self.names - variables):
            close = nearest(name, variables)
            hint = f"did you mean {close!r}? " if close else ""
            fix = f"{hint}known names: {', '.join(sorted(variables))}"
            raise UsageError(
                f"unknown name {name!r}",
                where=where,
                fix=fix,
            )

    def __call__(
        self,
        values: Mapping[str, Any],
        *,
        where: str = "",
    ) -> str:
        """Render the text with the values of its variables.

        Each medium becomes a placeholder, which the caller replaces with the medium.
        """
        media = Shown()
        try:
            plain = {
                name: plain_value(values[name], media)
                for name in self.names
                if name in values
            }
            return media.words(self._template.render(plain))
        except Exception as error:
            raise why_refused(
                error, ", ".join(filter(None, (self.where, where)))
            ) from error
