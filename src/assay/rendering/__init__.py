"""Render Jinja templates in a sandbox, from JSON values only."""

from .limits import RunawayTemplate
from .sandbox import PlainSandbox
from .text import PlainText, environment, why_refused
from .values import LETTERS, Shown, plain_value, plain_values, variables_of

__all__ = [
    "LETTERS",
    "PlainSandbox",
    "PlainText",
    "RunawayTemplate",
    "Shown",
    "environment",
    "plain_value",
    "plain_values",
    "variables_of",
    "why_refused",
]
