"""Load testbed files: the registrations of a file or folder, its context loaders and its loading script."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import UsageError
from ..guest import Guest
from ..shapes import Function, Record
from .claims import NAMES, datasets_home, defines_builder, is_dataset_folder

SHARED = {name: real for name, real in NAMES.items() if name != "testbed"}
"""Modules that assay replaces inside a tree called `testbed`. All others are the user's files."""


@dataclass
class Loaded:
    """The registrations of one file or folder."""

    folder: Path
    retrievers: dict[str, Function] = field(default_factory=dict)
    postprocesses: dict[str, Function] = field(default_factory=dict)
    loaders: Record = field(default_factory=dict)
    """Context loaders that the file created, by variable name."""
    script: Path | None = None
    """The loading script of a dataset folder."""
    guest: Guest | None = None


def guest_for(path: Path, *, force: bool = False) -> Guest:
    """Return the guest of a file or folder.

    Its root is the tree called `testbed` around it, otherwise its own folder.
    """
    resolved = path.resolve()
    above = [
        parent for parent in (resolved, *resolved.parents) if parent.name == "testbed"
    ]
    if above and resolved != above[0] / "__init__.py":
        return Guest("testbed", SHARED, above[0].parent, force=True)
    return Guest(
        "testbed",
        NAMES,
        resolved if resolved.is_dir() else resolved.parent,
        force=force,
    )


def load_path(
    path: Path,
    *,
    force: bool = False,
    first: Sequence[str] = (),
) -> list[Loaded]:
    """Load one file, one dataset folder, or each folder of a tree. Load `first` before it."""
    path = path.expanduser()
    if path.is_dir() and not is_dataset_folder(path):
        home = datasets_home(path)
        if home is None:
            raise UsageError(
                "no dataset folder in it",
                where=str(path),
                fix="point at <name>/ with <name>.py or __init__.py",
            )
        folders = sorted(inner for inner in home.iterdir() if is_dataset_folder(inner))
        return [_load_folder(inner, force, first) for inner in folders]
    if path.is_dir():
        return [_load_folder(path, force, first)]
    if defines_builder(path) and path.parent.name == path.stem:
        return [_load_folder(path.parent, force, first)]
    return [_load_file(path, force, first)]


def _load_folder(
    folder: Path,
    force: bool,
    first: Sequence[str],
) -> Loaded:
    start, script = folder / "__init__.py", folder / f"{folder.name}.py"
    loaded = Loaded(
        folder,
        script=script if defines_builder(script) else None,
        guest=guest_for(folder, force=force),
    )
    _collect(loaded, [*first, *([str(start)] if start.is_file() else [])])
    return loaded


def _load_file(
    path: Path,
    force: bool,
    first: Sequence[str],
) -> Loaded:
    loaded = Loaded(path.parent, guest=guest_for(path, force=force))
    script = path if defines_builder(path) else None
    _collect(loaded, [*first, *([] if script else [str(path)])])
    loaded.script = script
    return loaded


def _collect(
    loaded: Loaded,
    files: Sequence[str],
) -> None:
    """Run files and store their registrations.

    Other files write to the testbed's tables, too, so only new entries count.
    """
    from .context_loaders import MADE
    from .data_registry import REGISTERED

    assert loaded.guest is not None
    old_names, old_loaders = len(REGISTERED), len(MADE)
    modules = [loaded.guest.load(file) for file in files]
    for kind, name, function in REGISTERED[old_names:]:
        (loaded.retrievers if kind == "retriever" else loaded.postprocesses)[name] = (
            function
        )
    for number, loader in enumerate(MADE[old_loaders:], start=1):
        loaded.loaders[_variable(modules, loader) or f"loader{number}"] = loader
    del REGISTERED[old_names:], MADE[old_loaders:]


def own_classes(module: ModuleType, base: type) -> Record:
    """Return the classes derived from `base` that a module itself defines, by name."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if inspect.isclass(thing)
        and issubclass(thing, base)
        and thing.__module__ == module.__name__
    }


def only_class(
    module: ModuleType,
    base: type,
    name: str,
    where: str,
) -> Any:
    """Return the only class derived from `base` that a module defines. Raise if there are none or several."""
    classes = own_classes(module, base)
    if len(classes) != 1:
        raise UsageError(
            f"expected one class derived from {name}, found {len(classes)}", where=where
        )
    return next(iter(classes.values()))


def _variable(
    modules: Sequence[ModuleType],
    thing: object,
) -> str | None:
    return next(
        (
            name
            for module in modules
            for name, value in vars(module).items()
            if value is thing
        ),
        None,
    )


def known_retriever(
    name: str,
    retrievers: Mapping[str, Function],
) -> Function | None:
    """Return the retriever with a name: the file's own, or else a shipped one.

    Retrievers that other files registered are never used.
    """
    from .data_registry import SHIPPED

    return retrievers.get(name) or (SHIPPED[name][0] if name in SHIPPED else None)
