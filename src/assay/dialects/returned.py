"""Check and convert the values that users' functions return. Errors include the function's name."""

import inspect
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import ScorerError, shorten
from ..runner.summary.results import flatten
from .shapes import Fields, Function

LEAVES = (str, int, float, bool, type(None))


def bare(value: Any) -> object:
    """Return a single value without its numpy or torch type; anything else unchanged."""
    is_single = hasattr(value, "item") and getattr(value, "size", 1) == 1
    return value.item() if is_single else value


def plain(value: object) -> object:
    """Convert arrays in a value to lists, so that JSON can store it. Other values are returned unchanged."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, Mapping):
        return {_key(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    unwrapped = getattr(value, "tolist", None) or getattr(value, "item", None)
    return unwrapped() if callable(unwrapped) else value


def _key(key: object) -> object:
    bare = plain(key)
    if type(bare) in LEAVES:
        return bare
    return str(key)


FIX = "return a dict of numbers"


def defined_at(function: Function) -> str:
    """Return `file.py:12` for a Python function; its name if its file is unknown."""
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return getattr(inner, "__qualname__", repr(inner))
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def checked_metrics(
    returned: object,
    function: Function,
    subject: str,
) -> Fields:
    """Return the dictionary of numbers that a user's metric returned.

    Raise if it has no number, and warn about numbers that are infinite or NaN.
    """
    where = f"{subject}, {defined_at(function)}"
    if not isinstance(returned, Mapping):
        kind = type(returned).__name__
        raise ScorerError(
            f"returned a {kind}: {shorten(returned)}",
            where=where,
            fix=FIX,
        )
    numbers = flatten(returned)
    if not numbers:
        raise ScorerError(
            f"returned no numbers: {shorten(dict(returned))}",
            where=where,
            fix=FIX,
        )
    for name, number in not_finite(numbers).items():
        warnings.warn(f"{where}: returned {number} for {name!r}", stacklevel=2)
    return returned


def not_finite(numbers: Fields) -> dict[str, float]:
    """Return only the infinite and NaN numbers of a nested dictionary, with flattened names."""
    flat = flatten(numbers)
    return {name: number for name, number in flat.items() if not math.isfinite(number)}
