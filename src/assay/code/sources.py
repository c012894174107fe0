"""Sources: the files on which code depends, so that a change in them is noticed.

A user's file depends on all the user's files it imports, directly or not, because it
may use their constants and functions. Imports are read from the syntax tree, so that
nothing is run and imports inside functions are included. `data_files` covers the files
that a file reads while it is imported, such as settings.

Files of installed libraries, which pip put into `site-packages` or into a folder of
`pip install --target`, are not the user's own. They are identified by the name and the
version of their library.
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
from typing import TypeVar

from . import neighbours

_SITE_PACKAGES = re.compile(r".*/(?:site|dist)-packages/([^/.]*)", re.DOTALL)


def library_of(file: str | Path) -> str | None:
    """Return the top-level name of the installed library that contains a file. Return None if no library does."""
    path = str(file)
    if match := _SITE_PACKAGES.match(path):
        return match[1]
    for beginning, names in _target_folders(tuple(sys.path)):
        if path.startswith(beginning):
            first_part = path[len(beginning) :].partition(os.sep)[0]
            if first_part in names:
                return first_part.partition(".")[0]
    return None


@lru_cache(maxsize=16)
def _target_folders(
    search_path: tuple[str, ...],
) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the folders in Python's path that pip installed packages into, each with the names of its packages."""
    targets = []
    for folder in dict.fromkeys(search_path):
        if not folder:
            continue
        names = _installed_in(Path(folder))
        if names:
            for path in (folder, os.path.realpath(folder)):
                targets.append((os.path.join(path, ""), names))
    return tuple(targets)


def _installed_in(folder: Path) -> frozenset[str]:
    """Return the files and folders that pip installed into a folder, by the `RECORD` of each package."""
    names = set()
    for record in folder.glob("*.dist-info/RECORD"):
        for line in record.read_text("utf-8", "replace").splitlines():
            path = line.partition(",")[0].strip('"')
            names.add(path.partition("/")[0])
    return frozenset(names)


T = TypeVar("T")
LookUp = Callable[[Path, str], tuple[list[Path], list[Path]]]
"""A function that finds the files that run when a module is imported.

It takes the folder of the importing file and the first part of the module name. It
returns the files, and the folders in which to search for submodules.
"""
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)
_OWN = Path(__file__).resolve().parent.parent
_STANDARD = str(Path(os.__file__).parent)
LARGEST_KEPT = 1 << 18
"""Maximum size in bytes of a file whose syntax tree is cached.

For a file that consists of data, the tree needs fifty times the memory of the text.
"""
_guest_trees: set[Path] = set()
"""Folders of other toolkits' packages. Their `__init__.py` files are ignored, because assay does not run them."""
_OWN_IMPORT = re.compile(r"^[ \t]*(from \.[^\n(]*(?:\([^)]*\))?)", re.MULTILINE)
_BY_NAME = ("import_module", "__import__")
_BY_PATH = ("spec_from_file_location", "run_path", "SourceFileLoader", "exec")


def until_changed(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that caches a function's result per file.

    The result is computed again when the file changes. At most `most` results are
    cached.
    """

    def keeping(function: Callable[..., T]) -> Callable[..., T]:
        memory = lru_cache(maxsize=most)(
            lambda file, _state, *more: function(file, *more)
        )

        def current(file: Path, *more: object) -> T:
            now = file.stat()
            # A copied file may have the same time and size.
            state = (now.st_mtime_ns, now.st_size, now.st_ctime_ns, now.st_ino)
            return memory(file.absolute(), state, *more)

        return current

    return keeping


def digest_behind(
    file: str | Path,
    *,
    libraries: bool = True,
) -> str:
    """Return the digest of a file and of everything it imports.

    With `libraries=False`, versions of libraries are left out.
    """
    # While a process runs, its user's files may change, but assay's do not.
    if is_own(file):
        return _digest_of_own(str(file), libraries)
    return _digest_behind(str(file), libraries)


def _digest_behind(file: str, libraries: bool) -> str:
    files, imported = behind(Path(file))
    lines = [f"{path.name} {_digest(path)}" for path in files]
    lines.sort()
    if libraries:
        versions = [f"{name} {version_of(name)}" for name in imported]
        lines += sorted(versions)
    text = "\n".join(lines)
    content = text.encode("utf-8", "surrogateescape")
    return hashlib.sha256(content).hexdigest()


_digest_of_own = lru_cache(maxsize=4096)(_digest_behind)


def behind(file: Path) -> tuple[set[Path], set[str]]:
    """Return a file with all the user's files it imports, directly or not, and the libraries they import.

    For one of assay's own files, return the imported files of its folder. For a
    library's file, return only that file.
    """
    start = file.resolve()
    library = library_of(start)
    if library is not None:
        return {start}, {library}
    if is_own(start):
        return _behind_own(start), set()

    # Look up each top-level name once, because a lookup searches all of Python's path.
    spec_of = cache(neighbours.find_module)
    look_up = cache(lambda folder, top: _look_up(folder, top, spec_of(top)))
    files = {start}
    libraries: set[str] = set()
    waiting = [start]
    while waiting:
        current = waiting.pop()
        for name, path in _imports(current, look_up):
            if not is_users(path):
                libraries.add(name.partition(".")[0])
            elif path not in files:
                files.add(path)
                waiting.append(path)
    return files, libraries - {""}


def _behind_own(start: Path) -> set[Path]:
    """Return one of assay's own files together with its direct and indirect imports in the same folder or below."""
    files = {start}
    waiting = [start]
    while waiting:
        current = waiting.pop()
        for _, path in _own_imports(current):
            if path not in files and start.parent in path.parents:
                files.add(path)
                waiting.append(path)
    return files


def leave_inits_out(package: Path) -> None:
    """Ignore the `__init__.py` files of another toolkit's package, because assay does not run them."""
    _guest_trees.add(package)


def _is_run(file: Path) -> bool:
    """Return True if importing a file runs it."""
    if not file.is_file():
        return False
    return file.name != "__init__.py" or _guest_trees.isdisjoint(file.parents)


@lru_cache(maxsize=8192)
def is_users(file: str | Path) -> bool:
    """Return True if a file is the user's own and not part of Python, an installed library or assay."""
    if str(file).startswith(_STANDARD) or is_own(file):
        return False
    return library_of(file) is None


def is_own(file: str | Path) -> bool:
    """Return True if a file belongs to assay."""
    return str(file).startswith(f"{_OWN}{os.sep}")


def version_of(library: str) -> str:
    """Return the version of an installed library; without a version, the digest of its first file."""
    from importlib import metadata

    try:
        about = metadata.distribution(library)
        text = about.read_text("METADATA") or ""
        # The text after the empty line is long and not needed.
        head = text.partition("\n\n")[0]
        stated = _VERSION.search(head)
        return stated[1] if stated else about.version
    except (metadata.PackageNotFoundError, ValueError):
        file = neighbours.file_of(neighbours.find_module(library))
        if file is not None and file.is_file():
            return _digest(file)
        return ""


def _imports(file: Path, look_up: LookUp) -> Iterator[tuple[str, Path]]:
    """Yield (name, file) for every file that the imports in `file` run, except files of the standard library."""
    names, is_open = _imported_names(file)
    for name in names:
        if name.partition(".")[0] not in sys.stdlib_module_names:
            for path in _files_of(name, file.parent, look_up):
                yield name, path
    if is_open and is_users(file):
        # A module loaded under a computed name may be any file nearby.
        for path in (*file.parent.glob("*.py"), *file.parent.glob("*/*.py")):
            yield "", path.resolve()


@lru_cache(maxsize=4096)
def _own_imports(file: Path) -> list[tuple[str, Path]]:
    """Return the relative imports in one of assay's files.

    Its absolute imports are of other packages, which are ignored.
    """
    return list(_imports(file, lambda folder, top: ([], [])))


@until_changed(8192)
def _imported_names(file: Path) -> tuple[tuple[str, ...], bool]:
    """Return the modules that a file may import. The second value is True if it also
    imports modules by computed names.

    In assay's own files, only the lines with relative imports are parsed, because every
    run waits for the result.
    """
    tree: ast.Module | None = None
    if is_own(file):
        text = file.read_text(encoding="utf-8")
        statements = _OWN_IMPORT.findall(text)
        tree = ast.parse("\n".join(statements))
    elif file.suffix == ".py":
        tree = parsed(file)
    if tree is None:
        return (), False

    names: dict[str, None] = {}
    is_open = False
    for node in ast.walk(tree):
        names.update(dict.fromkeys(names_imported(node)))
        if not isinstance(node, ast.Call):
            continue
        callee = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        if node.args:
            name = _text_of(node.args[0])
        else:
            name = None
        if callee in _BY_NAME and name is not None:
            names[name] = None
        elif callee in _BY_NAME or callee in _BY_PATH:
            is_open = True
    return tuple(names), is_open


def _text_of(node: ast.expr) -> str | None:
    """Return the value of a string literal, or None for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def names_imported(node: ast.AST) -> list[str]:
    """Return the dotted names of all modules that an import statement may import, with leading dots if relative."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = f"{'.' * node.level}{node.module or ''}"
    joint = "." if node.module else ""
    names = [base]
    for alias in node.names:
        # Each of the names may be a module.
        if alias.name != "*":
            names.append(f"{base}{joint}{alias.name}")
    return names


def parsed(file: Path) -> ast.Module | None:
    """Return the read-only syntax tree of a Python file; None if it cannot be read or is not Python."""
    try:
        if file.stat().st_size < LARGEST_KEPT:
            return _kept_tree(file)
        return _tree(file)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return None


def _tree(file: Path) -> ast.Module:
    with warnings.catch_warnings():
        # Python itself warns about questionable syntax when the file is run.
        warnings.simplefilter("ignore")
        return ast.parse(file.read_bytes())


# Several functions inspect each file of a run, one after another.
_kept_tree = until_changed(16)(_tree)


def _files_of(
    name: str,
    folder: Path,
    look_up: LookUp,
) -> list[Path]:
    """Return the files that run when a file in `folder` imports `name`."""
    parts = [part for part in name.split(".") if part]
    dots = len(name) - len(name.lstrip("."))
    files: list[Path] = []
    inside: list[Path] = []
    if dots == 0:
        files, folders = look_up(folder, parts.pop(0))
    else:
        for _ in range(dots - 1):
            folder = folder.parent
        folders = [folder]
        inside.append(folder / "__init__.py")
    for part in parts:
        subfolders = []
        for parent in folders:
            inside.append(parent / f"{part}.py")
            inside.append(parent / part / "__init__.py")
            if (parent / part).is_dir():
                subfolders.append(_followed(parent / part))
        folders = subfolders
    # A library is identified by its name. Of its modules only links to the user's files count.
    inside = [path for path in map(_followed, inside) if not files or is_users(path)]
    return [*files, *(path.resolve() for path in inside if _is_run(path))]


def _followed(path: Path) -> Path:
    if path.is_symlink():
        return path.resolve()
    return path


def _look_up(
    folder: Path,
    top: str,
    spec: ModuleSpec | None,
) -> tuple[list[Path], list[Path]]:
    spec = neighbours.spec_in_folder(folder, top, spec)
    file = neighbours.file_of(spec)
    files: list[Path] = []
    if file is not None and _is_run(file):
        files.append(file.resolve())

    folders: list[Path] = []
    if spec is not None:
        for location in spec.submodule_search_locations or ():
            folders.append(_followed(Path(location)))
    if file is None and not folders:
        folders.append(folder / top)
    return files, folders


@until_changed(8192)
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
