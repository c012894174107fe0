"""Inspect users' files and configs: the classes of a file, the entries of a JSON config."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import UsageError, shorten
from ..shapes import Record


def own_classes(module: ModuleType) -> list[type]:
    """Return the classes that a user's module defines, in order, without imported ones."""
    return [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type)
        and getattr(thing, "__module__", "") == module.__name__
    ]


def most_derived(named: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Drop each (class, dataset name) pair if a subclass declares the same dataset."""
    return [
        (kind, name)
        for kind, name in named
        if not any(
            other is not kind and name == same and issubclass(other, kind)
            for other, same in named
        )
    ]


def read_config(
    path: Path,
    keys: Sequence[str] = ("model", "data"),
) -> dict[str, Record]:
    """Return the sections `keys` of a JSON config. The values in each section must be objects."""
    try:
        plain = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(f"not valid JSON: {error}", where=str(path)) from error
    return checked_config(plain, keys, str(path))


def checked_config(
    plain: Any,
    keys: Sequence[str],
    where: str,
) -> dict[str, Record]:
    """Return the sections `keys` of a parsed config. Raise if a section or a value in it is not an object."""
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
    r"""['"](I?T2I|TI2I)['"]"""  # MODES = ["T2I"]
    r"|\b(NUM_GENERATIONS|num_generations|batch_generat(e|ion)_inner)\b"
    r"|\bimages(\.generate\b|\.edit\b|/generations|/edits)"  # client.images.generate(…)
)


def mentions_image_generation(path: Path) -> bool:
    """Return True if a file contains names such as `T2I` that occur only in code for image generation."""
    return _DRAWS.search(path.read_text(encoding="utf-8", errors="replace")) is not None
