"""References with their structure: a list means any of its entries, a tuple all of them, in any nesting.

JSON has no tuples, so files contain `{"__tuple__": true, "items": […]}` for a tuple.
"""

from collections.abc import Mapping
from typing import Any

from ...core import AllOf
from ..returned import LEAVES, plain

MARK = "__tuple__"


def encoded(value: object) -> Any:
    """Return a value that JSON can hold, with its tuples marked."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, tuple):
        return {MARK: True, "items": [encoded(item) for item in value]}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encoded(item) for key, item in value.items()}
    return plain(value)


def decoded(value: object) -> Any:
    """Return a value read from JSON with its tuples restored."""
    kind = type(value)
    if kind is str or kind is int:
        return value
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, Mapping):
        if value.get(MARK) is True:
            return tuple(decoded(item) for item in value["items"])
        return {key: decoded(item) for key, item in value.items()}
    return value


def as_target(reference: object) -> Any:
    """Turn a TELEVAL reference into a target: a list becomes alternatives, a tuple `AllOf`."""
    if isinstance(reference, tuple):
        return AllOf(tuple(as_target(item) for item in reference))
    if isinstance(reference, list):
        return tuple(as_target(item) for item in reference)
    return reference


def as_reference(target: object) -> Any:
    """Return the TELEVAL reference behind a target."""
    if isinstance(target, AllOf):
        return tuple(as_reference(part) for part in target.parts)
    if isinstance(target, tuple):
        return [as_reference(item) for item in target]
    return target
