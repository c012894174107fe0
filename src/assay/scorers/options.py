"""What scorers look at before a run: options that must be one of a few words, and libraries not everybody has."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ..core import MissingExtra, Requirement, UsageError


def check_option(scorer: str, option: str, value: object, words: Iterable[str]) -> None:
    """Refuses a value that is none of an option's words."""
    allowed = tuple(words)
    if value not in allowed:
        fix = f"{option}: one of {', '.join(allowed)}"
        raise UsageError(f"scorer {scorer!r} does not know {option}={value!r}", fix=fix)


def library(module: str, requirement: Requirement, where: str) -> Any:
    """A module of a library; `MissingExtra` where that is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(requirement.feature, requirement.pip, where=where) from error
