"""Load users' files, and find the parameters of their functions."""

import inspect
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..kits.guest_files import load_once
from .claims import NAMES


def load_guest(path: str | Path) -> ModuleType:
    """Load a user's file with `vlmeval` importable; once for each state of its source."""
    return load_once("vlmeval", NAMES, path, lambda guest, file: guest.load(file))


def parameters_of(function: Any) -> tuple[str, ...]:
    """Return the names of a function's parameters, without a method's `self`; `*` and `**` stand for any."""
    inner = getattr(function, "__func__", None)
    names = _names(function if inner is None else inner)
    return (
        names[1:] if inner is not None and names[:1] not in (("*",), ("**",)) else names
    )


@lru_cache(maxsize=1024)
def _names(function: Any) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(
        "**"
        if p.kind is p.VAR_KEYWORD
        else "*"
        if p.kind is p.VAR_POSITIONAL
        else p.name
        for p in parameters
    )
