"""Texts with Jinja in them, compiled once and rendered from plain values."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta
from jinja2.exceptions import SecurityError, UndefinedError

from ..core import TemplateError, UsageError, nearest
from ..core.errors import ForbiddenTemplate
from .limits import RunawayTemplate
from .sandbox import PlainSandbox
from .values import Shown, plain_value


@lru_cache(maxsize=1)
def environment() -> PlainSandbox:
    """The one environment all texts share; an unknown variable is an error, block tags leave no blank lines behind."""
    return PlainSandbox(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def compiled_text(text: str, where: str) -> tuple[jinja2.Template, frozenset[str]]:
    """A text ready to render, and the names that it reads."""
    try:
        return environment().from_string(text), frozenset(
            meta.find_undeclared_variables(environment().parse(text))
        )
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


def why_refused(error: Exception, where: str) -> TemplateError:
    """What a rendering that failed did, in one line."""
    if isinstance(error, RunawayTemplate):
        fix = "write less, or write the template as a Python function"
        return TemplateError(f"the template runs away: {error}", where=where, fix=fix)
    if isinstance(error, TypeError) and "no loader" in str(error):
        fix = "write the text of the other file into this one, or write the template as a Python function"
        return ForbiddenTemplate(
            "a template can include or import no other file", where=where, fix=fix
        )
    if isinstance(error, SecurityError):
        what = f"the template reaches for what a template may not touch: {error}"
        fix = "use the columns of the row, or write the template as a Python function"
        return ForbiddenTemplate(what, where=where, fix=fix)
    if isinstance(error, UndefinedError):
        what, _, name = (
            str(error.message).removesuffix("'").rpartition(" has no attribute '")
        )
        if what:
            fix = f"check the name, or write `| default('')` behind it where some rows have no {name!r}"
            return TemplateError(
                f"there is no {name!r} in what the text names", where=where, fix=fix
            )
    return TemplateError(f"{type(error).__name__}: {error}", where=where)


class PlainText:
    """One Jinja text, compiled once; its names are checked against those that will be there."""

    __slots__ = ("_template", "names", "text", "where")

    def __init__(self, text: str, variables: frozenset[str], *, where: str) -> None:
        self.text, self.where = text, where
        self._template, self.names = compiled_text(text, where)
        for name in sorted(self.names - variables):
            close = nearest(name, variables)
            hint = f"did you mean {close!r}? " if close else ""
            fix = f"{hint}known names: {', '.join(sorted(variables))}"
            raise UsageError(f"unknown name {name!r}", where=where, fix=fix)

    def __call__(self, values: Mapping[str, Any], *, where: str = "") -> str:
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
