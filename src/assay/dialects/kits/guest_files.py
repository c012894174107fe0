"""Files of guests: each loaded once for each state of its source, its own classes, and the configs that name them."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ...code.sources import digest_behind
from ...core import UsageError, shorten
from ..guest import Guest

HINT = "--register FILE names the file that defines it"
Loaded = TypeVar("Loaded")
_loaded: dict[tuple[str, Path, str, bool], Any] = {}


def load_once(
    dialect: str,
    names: Mapping[str, str],
    path: str | Path,
    load: Callable[[Guest, Path], Loaded],
    *,
    force: bool = False,
) -> Loaded:
    """What `load` makes of a guest file; a file that changed since is loaded again."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError("no such file", where=str(path))
    guest = Guest.of_file(dialect, names, file, force=force)
    key = (dialect, file, digest_behind(file, libraries=False), force)
    if key not in _loaded:
        _loaded[key] = load(guest, file)
    found: Loaded = _loaded[key]
    return found


def own_classes(module: ModuleType) -> list[type]:
    """The classes a user's file defines itself, in the order in which they stand there."""
    return [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type)
        and getattr(thing, "__module__", "") == module.__name__
    ]


def most_derived(named: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Classes with names, without those another class of the list derives from and has the name too.

    A base class and its subclass in one file both know the dataset; the subclass is what the file is about.
    """
    return [
        (kind, name)
        for kind, name in named
        if not any(
            other is not kind and name == same and issubclass(other, kind)
            for other, same in named
        )
    ]


def read_config(
    path: Path, keys: Sequence[str] = ("model", "data")
) -> dict[str, dict[str, Any]]:
    """The members of a config file, each an object of objects."""
    try:
        plain = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(f"not valid JSON: {error}", where=str(path)) from error
    return checked_config(plain, keys, str(path))


def checked_config(
    plain: Any, keys: Sequence[str], where: str
) -> dict[str, dict[str, Any]]:
    """A config of the right shape; the first fault otherwise."""
    for key in keys:
        if not isinstance(plain, Mapping) or not isinstance(plain.get(key), Mapping):
            raise UsageError(
                f"`{key}` must be an object of names",
                where=where,
                fix='{"model": {…}, "data": {…}}',
            )
        for name, entry in plain[key].items():
            if not isinstance(entry, Mapping):
                raise UsageError(
                    f"expected an object, got {shorten(entry)}",
                    where=f"{where}, key `{key}.{name}`",
                )
    return {
        key: {name: dict(entry) for name, entry in plain[key].items()} for key in keys
    }
