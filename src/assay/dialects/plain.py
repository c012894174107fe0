"""Plain values: what guest code returned, without numpy's wrapping, so that files hold numbers as numbers."""

from collections.abc import Mapping
from typing import Any

LEAVES = (str, int, float, bool, type(None))


def plain(value: Any) -> Any:
    """A value as JSON can hold it; what has no plain form is left for the writer to name."""
    if type(value) in LEAVES:
        return value
    if isinstance(value, Mapping):
        return {_key(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    unwrapped = getattr(value, "tolist", None) or getattr(value, "item", None)
    return unwrapped() if callable(unwrapped) else value


def _key(key: Any) -> Any:
    bare = plain(key)
    return bare if type(bare) in LEAVES else str(key)
