"""Load testbed files: the registrations of a file or folder, its context loaders and its loading script.

Upstream imports every folder of its tree at once. Here an unregistered name is looked
up in the tree around the script, which is searched on the module path, in the working
folder and in its parents. As in upstream, a folder's own retriever and postprocessing function
take precedence over shipped ones, if the packages they import are installed.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import UsageError
from ..guest import Guest
from ..protocol import is_upstream
from ..shapes import Function, Record
from .claims import NAMES, datasets_home, defines_builder, is_dataset_folder
from .context_loaders import MADE
from .data_registry import REGISTERED, SHIPPED

SHARED = {name: real for name, real in NAMES.items() if name != "testbed"}
"""Modules of assay that files in a tree called `testbed` import. All other modules of the tree are the user's."""


@dataclass
class Loaded:
    """The registrations of one file or folder, its context loaders and its loading script."""

    folder: Path
    guest: Guest
    retrievers: dict[str, Function] = field(default_factory=dict)
    postprocesses: dict[str, Function] = field(default_factory=dict)
    loaders: Record = field(default_factory=dict)
    """Context loaders that the file created, by the name of their variable."""
    script: Path | None = None
    """The loading script of a dataset folder."""


def guest_for(path: Path, *, force: bool = False) -> Guest:
    """Return the importer for a file or folder, which makes the testbed's names importable in it.

    Its root is the tree called `testbed` around the file, otherwise the file's own folder.
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
    """Load one file, one dataset folder, or each dataset folder of a tree. Before each, load the files in `first`."""
    path = path.expanduser()
    if defines_builder(path) and path.parent.name == path.stem:
        path = path.parent
    if not path.is_dir():
        if defines_builder(path):
            return [_load(path, [], path, force, first)]
        return [_load(path, [path], None, force, first)]
    folders = [path]
    if not is_dataset_folder(path):
        home = datasets_home(path)
        if home is None:
            raise UsageError(
                "no dataset folder in it",
                where=str(path),
                fix="point at <name>/ with <name>.py or __init__.py",
            )
        folders = sorted(inner for inner in home.iterdir() if is_dataset_folder(inner))
    all_loaded = []
    for folder in folders:
        start, script = folder / "__init__.py", folder / f"{folder.name}.py"
        files = [start] if start.is_file() else []
        builder = script if defines_builder(script) else None
        all_loaded.append(_load(folder, files, builder, force, first))
    return all_loaded


def _load(
    path: Path,
    files: Sequence[Path],
    script: Path | None,
    force: bool,
    first: Sequence[str],
) -> Loaded:
    """Run files, and return their registrations.

    The registry is shared with other files, so only entries that were added by this run
    are returned.
    """
    loaded = Loaded(
        path if path.is_dir() else path.parent,
        guest_for(path, force=force),
        script=script,
    )
    old_names, old_loaders = len(REGISTERED), len(MADE)
    modules = [loaded.guest.load(file) for file in [*map(Path, first), *files]]
    for kind, name, function in REGISTERED[old_names:]:
        table = loaded.retrievers if kind == "retriever" else loaded.postprocesses
        table[name] = function
    for number, loader in enumerate(MADE[old_loaders:], start=1):
        names = [
            name
            for module in modules
            for name, value in vars(module).items()
            if value is loader
        ]
        loaded.loaders[names[0] if names else f"loader{number}"] = loader
    del REGISTERED[old_names:], MADE[old_loaders:]
    return loaded


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


def known_retriever(
    name: str,
    retrievers: Mapping[str, Function],
) -> Function | None:
    """Return the retriever of a dataset: the one in the user's file or, if there is none, the shipped one.

    Retrievers that other files registered are never used.
    """
    return retrievers.get(name) or (SHIPPED[name][0] if name in SHIPPED else None)


_registered: set[tuple[Path, bool]] = set()
"""The `__init__.py` files that were run, each with True if upstream's rules applied at that time."""


def register_nearby(name: str, is_known: bool) -> None:
    """Register a dataset from the folder with its name near the script, if there is one.

    A name that is already registered is skipped, except that under upstream's rules the folder replaces it.
    """
    if not name.isidentifier() or (is_known and not is_upstream("testbed")):
        return
    for base in bases():
        folder = base / "testbed" / "data" / name
        if (folder / "__init__.py").is_file():
            register_folder(folder, is_known)
            return


def register_folder(folder: Path, is_known: bool) -> None:
    """Run the `__init__.py` of a dataset's folder, which registers the dataset's functions.

    If it imports a missing package and the dataset is already known, keep the functions
    that are already registered.
    """
    start = (folder / "__init__.py").resolve()
    key = (start, is_upstream("testbed"))
    if not start.is_file() or key in _registered:
        return
    _registered.add(key)
    try:
        guest_for(folder).load(start)
    except UsageError as error:
        if not is_known or not isinstance(error.__cause__, ImportError):
            raise


def bases() -> list[Path]:
    """Return the folders that are searched for a script's tree: the working folder, its parents, the module path."""
    here = Path.cwd()
    return [here, *here.parents, *(Path(entry) for entry in sys.path if entry)]
