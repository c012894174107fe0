"""Toolkits' files: loaded once per state of their source, their own classes, and the configs that name them."""

import json
import re
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
    """Return what `load` makes of a toolkit's file. A file that changed is loaded again."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError("no such file", where=str(path))
    guest = Guest.of_file(dialect, names, file, force=force)
    key = (dialect, file, digest_behind(file, libraries=False), force)
    if key not in _loaded:
        _loaded[key] = load(guest, file)
    result: Loaded = _loaded[key]
    return result


def own_classes(module: ModuleType) -> list[type]:
    """Return the classes a user's file defines itself, in order."""
    return [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type)
        and getattr(thing, "__module__", "") == module.__name__
    ]


def most_derived(named: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Return classes with names, without base classes of another class in the list with the same name.

    A base class and its subclass in one file both know the dataset; the file is about the subclass.
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
    """Return the members of a config file, each an object of objects."""
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
    """Return a config if it has the right shape. Raise for the first fault."""
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


_DRAWS = re.compile(
    r"""['"](I?T2I|TI2I)['"]|\b(NUM_GENERATIONS|num_generations|batch_generat(e|ion)_inner)\b"""
    r"""|\bimages(\.generate\b|\.edit\b|/generations|/edits)"""
)


def speaks_of_drawing(path: Path) -> bool:
    """Return True if a file is about models that generate images."""
    return _DRAWS.search(path.read_text(encoding="utf-8", errors="replace")) is not None
