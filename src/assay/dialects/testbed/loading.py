"""Loading testbed files: what a file or a folder registers, and the loaders and scripts it brings."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import UsageError
from ..guest import Guest
from .claims import NAMES, datasets_home, defines_builder, is_dataset_folder

SHARED = {name: real for name, real in NAMES.items() if name != "testbed"}
"""Inside a tree called `testbed`: ours answers for these, the user's files for everything else below."""


@dataclass
class Loaded:
    """What was found at one place."""

    folder: Path
    retrievers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    postprocesses: dict[str, Callable[..., Any]] = field(default_factory=dict)
    loaders: dict[str, Any] = field(default_factory=dict)
    """Loaders the file made, by the variable that holds them."""
    script: Path | None = None
    """The loading script of a dataset folder."""
    guest: Guest | None = None


def guest_for(path: Path, *, force: bool = False) -> Guest:
    """The guest of a file or folder: rooted at the tree it lies in, or at its own folder."""
    place = path.resolve()
    above = [parent for parent in (place, *place.parents) if parent.name == "testbed"]
    if above and place != above[0] / "__init__.py":
        return Guest("testbed", SHARED, above[0].parent, force=True)
    return Guest(
        "testbed", NAMES, place if place.is_dir() else place.parent, force=force
    )


def load_path(
    path: Path, *, force: bool = False, first: Sequence[str] = ()
) -> list[Loaded]:
    """Everything at a path: one file, one dataset folder, or each folder of a tree. `first` is loaded before."""
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


def _load_folder(folder: Path, force: bool, first: Sequence[str]) -> Loaded:
    start, script = folder / "__init__.py", folder / f"{folder.name}.py"
    loaded = Loaded(
        folder,
        script=script if defines_builder(script) else None,
        guest=guest_for(folder, force=force),
    )
    _collect(loaded, [*first, *([str(start)] if start.is_file() else [])])
    return loaded


def _load_file(path: Path, force: bool, first: Sequence[str]) -> Loaded:
    loaded = Loaded(path.parent, guest=guest_for(path, force=force))
    script = path if defines_builder(path) else None
    _collect(loaded, [*first, *([] if script else [str(path)])])
    loaded.script = script
    return loaded


def _collect(loaded: Loaded, files: Sequence[str]) -> None:
    """Runs files and keeps what they register; the testbed's tables are not asked, since others write there too."""
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


def own_classes(module: ModuleType, base: type) -> dict[str, Any]:
    """The classes on a base that a module defines itself, by name."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if inspect.isclass(thing)
        and issubclass(thing, base)
        and thing.__module__ == module.__name__
    }


def only_class(module: ModuleType, base: type, name: str, where: str) -> Any:
    """The one class on a base that a module defines."""
    classes = own_classes(module, base)
    if len(classes) != 1:
        raise UsageError(
            f"expected one class derived from {name}, found {len(classes)}", where=where
        )
    return next(iter(classes.values()))


def _variable(modules: Sequence[ModuleType], thing: Any) -> str | None:
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
    name: str, retrievers: Mapping[str, Callable[..., Any]]
) -> Callable[..., Any] | None:
    """The retriever of a name: the file's own, else the one that ships; never one that another file registered."""
    from .data_registry import SHIPPED

    return retrievers.get(name) or (SHIPPED[name][0] if name in SHIPPED else None)
