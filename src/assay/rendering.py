"""Texts with Jinja in them, rendered in a sandbox from plain values alone.

Templates are data: they see text, numbers, lists and mappings, and what comes out is text.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .core import TemplateError, UsageError, nearest


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """The one environment all texts share; an unknown variable is an error, block tags leave no blank lines behind."""
    return ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )


class PlainText:
    """One Jinja text, compiled once; its names are checked against those that will be there."""

    __slots__ = ("_template", "names", "text", "where")

    def __init__(self, text: str, known: frozenset[str], *, where: str) -> None:
        self.text, self.where = text, where
        try:
            self._template = environment().from_string(text)
            self.names = frozenset(meta.find_undeclared_variables(environment().parse(text)))
        except jinja2.TemplateSyntaxError as error:
            raise UsageError(
                f"not valid Jinja: {error.message}",
                where=f"{where}, line {error.lineno}",
                fix="write literal braces as {{ '{{' }} or inside {% raw %}",
            ) from error
        for name in sorted(self.names - known):
            close = nearest(name, known)
            hint = f"did you mean {close!r}? " if close else ""
            fix = f"{hint}known names: {', '.join(sorted(known))}"
            raise UsageError(f"unknown name {name!r}", where=where, fix=fix)

    def __call__(self, values: Mapping[str, Any], *, where: str = "") -> str:
        try:
            return self._template.render(plain_value(values))
        except SecurityError as error:
            raise TemplateError(
                f"the text reaches for what a template may not touch: {error}",
                where=", ".join(filter(None, (self.where, where))),
            ) from error
        except Exception as error:
            raise TemplateError(
                f"{type(error).__name__}: {error}", where=", ".join(filter(None, (self.where, where)))
            ) from error


def plain_value(value: Any) -> Any:
    """The value as JSON knows it; whatever else it is becomes its kind, as `[image]`."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return f"[{getattr(value, 'kind', type(value).__name__)}]"
