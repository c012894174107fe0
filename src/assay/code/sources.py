"""Sources: the files behind a piece of code, so that a change of any of them is seen.

Behind a user's file lie all files of the user that it imports, and those that they import: a constant taken from a
neighbour counts like a function. Imports are read off the syntax tree, so that nothing is run and one inside a function
counts too. Libraries are known by name and version.

What importing a file read, as from a file of settings beside it, is not in its bytes: see `data_files`.
"""

import ast
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, TypeVar

from . import neighbours

T = TypeVar("T")
LookUp = Callable[[Path, str], tuple[list[Path], list[Path]]]
"""For a file's folder and a name at the top: the files that importing it runs, and the folders of its modules."""
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)
_OWN = Path(__file__).resolve().parent.parent
_STANDARD = str(Path(os.__file__).parent)
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/([^/.]*)", re.DOTALL)
LARGEST_KEPT = 1 << 18
"""Bytes of a file whose syntax tree is kept: the tree of data in Python takes fifty times the memory of its text."""
_guest_trees: set[Path] = set()
"""Packages of other systems whose `__init__.py` files are not run."""
_OWN_IMPORT = re.compile(r"^[ \t]*(from \.[^\n(]*(?:\([^)]*\))?)", re.MULTILINE)
_BY_NAME = ("import_module", "__import__")
_BY_PATH = ("spec_from_file_location", "run_path", "SourceFileLoader", "exec")


def until_changed(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keeps what a function says of a file until the file changes; of the last `most` files."""

    def keeping(function: Callable[..., T]) -> Callable[..., T]:
        memory = lru_cache(maxsize=most)(
            lambda file, _state, *more: function(file, *more)
        )

        def current(file: Path, *more: Any) -> T:
            now = file.stat()
            state = (
                now.st_mtime_ns,
                now.st_size,
                now.st_ctime_ns,
                now.st_ino,
            )  # a copy may keep time and size
            return memory(file.absolute(), state, *more)

        return current

    return keeping


def digest_behind(file: str | Path, *, libraries: bool = True) -> str:
    """Digest of a file and of all that lies behind it; `libraries=False` leaves the versions of libraries out."""
    # While a process runs, its user's files may change, and those of assay do not.
    return (_digest_of_own if is_own(file) else _digest_behind)(str(file), libraries)


def _digest_behind(file: str, libraries: bool) -> str:
    files, imported = behind(Path(file))
    lines = sorted(f"{path.name} {_digest(path)}" for path in files)
    if libraries:
        lines += sorted(f"{name} {version_of(name)}" for name in imported)
    return hashlib.sha256(
        "\n".join(lines).encode("utf-8", "surrogateescape")
    ).hexdigest()


_digest_of_own = lru_cache(maxsize=4096)(_digest_behind)


def behind(file: Path) -> tuple[set[Path], set[str]]:
    """A file with the user's files it imports, however far; and the libraries they import.

    Of assay's own files only those of the same folder count, and a library's file stands for itself.
    """
    start = file.resolve()
    files, libraries, waiting = {start}, set(), [start]
    if library := _INSTALLED.match(str(start)):
        return files, {library[1]}
    room = start.parent if is_own(start) else None
    spec_of = cache(
        neighbours.found
    )  # each name at the top once: looking goes through all of Python's path
    look_up = cache(lambda folder, top: _look_up(folder, top, spec_of(top)))
    while waiting:
        at = waiting.pop()
        for name, found in _own_imports(at) if room else _imports(at, look_up):
            if room is None and not is_users(found):
                libraries.add(name.partition(".")[0])
            elif found not in files and (room is None or room in found.parents):
                files.add(found)
                waiting.append(found)
    return files, libraries - {""}


def leave_inits_out(package: Path) -> None:
    """From now on the `__init__.py` files of a package of another system lie behind nothing: they are not run."""
    _guest_trees.add(package)


def _is_run(file: Path) -> bool:
    return file.is_file() and (
        file.name != "__init__.py" or _guest_trees.isdisjoint(file.parents)
    )


@lru_cache(maxsize=8192)
def is_users(file: str | Path) -> bool:
    """Whether a file is the user's own: neither Python's, nor an installed library's, nor assay's."""
    return not (
        _INSTALLED.match(str(file)) or str(file).startswith(_STANDARD) or is_own(file)
    )


def is_own(file: str | Path) -> bool:
    """Whether a file is one of assay's."""
    return str(file).startswith(f"{_OWN}{os.sep}")


def version_of(library: str) -> str:
    """The version of an installed library; the digest of its first file where its name does not tell."""
    from importlib import metadata

    try:
        about = metadata.distribution(library)
        head = (about.read_text("METADATA") or "").partition("\n\n")[0]
        stated = _VERSION.search(head)  # the rest of it is long, and not asked for
        return stated[1] if stated else about.version
    except (metadata.PackageNotFoundError, ValueError):
        file = neighbours.file_of(neighbours.found(library))
        return _digest(file) if file is not None and file.is_file() else ""


def _imports(file: Path, look_up: LookUp) -> Iterator[tuple[str, Path]]:
    """Each name a file imports, with the files it leads to; standard modules are passed over."""
    names, is_open = _imported_names(file)
    for name in names:
        if name.partition(".")[0] not in sys.stdlib_module_names:
            for path in _files_of(name, file.parent, look_up):
                yield name, path
    if is_open and is_users(file):
        # What is loaded by a name made up on the way may be any file nearby.
        for path in (*file.parent.glob("*.py"), *file.parent.glob("*/*.py")):
            yield "", path.resolve()


@lru_cache(maxsize=4096)
def _own_imports(file: Path) -> list[tuple[str, Path]]:
    """The same for one of assay's files, where what is not relative leads into other rooms, or to libraries."""
    return list(_imports(file, lambda folder, top: ([], [])))


@until_changed(8192)
def _imported_names(file: Path) -> tuple[tuple[str, ...], bool]:
    """The modules a file may import by name, and whether it loads further ones that cannot be told.

    Of assay's own files only the relative import statements are parsed, which stand on lines of their own: every run
    waits for this.
    """
    tree: ast.Module | None = None
    if is_own(file):
        tree = ast.parse(
            "\n".join(_OWN_IMPORT.findall(file.read_text(encoding="utf-8")))
        )
    elif file.suffix == ".py":
        tree = parsed(file)
    names: dict[str, None] = {}
    is_open = False
    for node in ast.walk(tree) if tree is not None else ():
        names.update((name, None) for name in names_imported(node))
        if isinstance(node, ast.Call):
            callee = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            first = node.args[0] if node.args else None
            if (
                callee in _BY_NAME
                and isinstance(first, ast.Constant)
                and isinstance(first.value, str)
            ):
                names[first.value] = None
            elif callee in _BY_NAME or callee in _BY_PATH:
                is_open = True
    return tuple(names), is_open


def names_imported(node: ast.AST) -> list[str]:
    """The dotted names that an import statement may take a module by, relative ones with their dots."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = f"{'.' * node.level}{node.module or ''}"
    joint = "." if node.module else ""
    # Each of the names may be a module of its own.
    return [
        base,
        *(f"{base}{joint}{alias.name}" for alias in node.names if alias.name != "*"),
    ]


def parsed(file: Path) -> ast.Module | None:
    """The syntax tree of a Python file, only to be looked at; `None` where it cannot be read, or is not Python."""
    try:
        return _kept_tree(file) if file.stat().st_size < LARGEST_KEPT else _tree(file)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return None


def _tree(file: Path) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # what is odd about a user's text is Python's to say, when it is run
        return ast.parse(file.read_bytes())


_kept_tree = until_changed(16)(
    _tree
)  # each file of a run is looked at by several, one after another


def _files_of(name: str, folder: Path, look_up: LookUp) -> list[Path]:
    """The files that importing a name runs, for a file in a folder."""
    parts = [part for part in name.split(".") if part]
    dots = len(name) - len(name.lstrip("."))
    for _ in range(dots - 1):
        folder = folder.parent
    files, folders = look_up(folder, parts.pop(0)) if dots == 0 else ([], [folder])
    inside = [folder / "__init__.py"] if dots else []
    for part in parts:
        inside += [
            path
            for f in folders
            for path in (f / f"{part}.py", f / part / "__init__.py")
        ]
        folders = [_followed(f / part) for f in folders if (f / part).is_dir()]
    # A library is known by its name: of its modules only those count that are links to files of the user.
    inside = [path for path in map(_followed, inside) if not files or is_users(path)]
    return [*files, *(path.resolve() for path in inside if _is_run(path))]


def _followed(path: Path) -> Path:
    return path.resolve() if path.is_symlink() else path


def _look_up(
    folder: Path, top: str, spec: ModuleSpec | None
) -> tuple[list[Path], list[Path]]:
    spec = neighbours.beside(folder, top, spec)
    file = neighbours.file_of(spec)
    files = [file.resolve()] if file is not None and _is_run(file) else []
    places = spec.submodule_search_locations if spec is not None else None
    folders = (
        [_followed(Path(place)) for place in places or ()]
        if file or places
        else [folder / top]
    )
    return files, folders


@until_changed(8192)
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
