"""Parameters of users' functions: their names, and the arguments that a function accepts."""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .shapes import Fields, Record


def parameters_of(function: object) -> tuple[str, ...]:
    """Return a function's parameter names without the `self` of a method; `*` and `**` for variable arguments."""
    inner = getattr(function, "__func__", None)
    target = function if inner is None else inner
    try:
        names = _names(target)
    except TypeError:  # an object that cannot be hashed
        names = _names.__wrapped__(target)
    if inner is not None and names[:1] not in (("*",), ("**",)):
        return names[1:]
    return names


_SIGNS: Mapping[Any, str] = {
    inspect.Parameter.VAR_KEYWORD: "**",
    inspect.Parameter.VAR_POSITIONAL: "*",
}


@lru_cache(maxsize=1024)
def _names(function: Any) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(_SIGNS.get(parameter.kind, parameter.name) for parameter in parameters)


def accepted_by(function: object, arguments: Fields) -> Record:
    """Return the arguments that a function accepts by keyword; all of them if it has `**kwargs`."""
    names = parameters_of(function)
    return {
        name: arguments[name] for name in arguments if "**" in names or name in names
    }
