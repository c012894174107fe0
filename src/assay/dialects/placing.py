"""Placing: which module of a guest's tree a file is, so that its relative imports mean what they meant there.

A file under a folder of the tree's name (`vlmeval/dataset/mine.py`) is the module its path says. A file that lies alone
is placed where its relative imports lead somewhere: the packages of the façade are tried, and the one wins in which
most of them are found. A dialect declares nothing for it but its names.
"""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .source_names import ImportFrom, names_in


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder whose files are the modules of a package; of the top level if `package` is empty."""

    package: str
    folder: Path

    def place_of(self, name: str) -> Path | None:
        """The path, without a suffix, that a dotted name means here; `None` for a name outside the package."""
        if not self.package:
            return self.folder.joinpath(*name.split("."))
        if name == self.package:
            return self.folder
        inner = name.removeprefix(f"{self.package}.")
        return self.folder.joinpath(*inner.split(".")) if inner != name else None

    def file_of(self, name: str) -> Path | None:
        """The file of a module."""
        place = self.place_of(name)
        return module_file(place) if place is not None else None

    def name_of(self, file: Path) -> str | None:
        """The dotted name of a file; `None` for one that lies elsewhere."""
        if not file.is_relative_to(self.folder):
            return None
        parts = list(file.relative_to(self.folder).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join(
            [
                *([self.package] if self.package else []),
                *(part.replace(".", "_") for part in parts),
            ]
        )


def module_file(place: Path) -> Path | None:
    """The file of the module at a path without a suffix; a package wins over a module, as in Python."""
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if file.is_file():
            return file
    return None


def mounts_of(file: Path, names: Mapping[str, str]) -> tuple[Mount, ...]:
    """Where the modules of a guest file's surroundings lie, the nearest first."""
    file = file.resolve()
    root = tree_above(file, names)
    if root is not None:
        return (Mount("", root),)
    package = home_of(file, names)
    beside = Mount("", file.parent)
    return (Mount(package, file.parent), beside) if package else (beside,)


def tree_above(file: Path, names: Mapping[str, str]) -> Path | None:
    """The folder that holds the guest's package, for a file that lies in such a package; the innermost."""
    tops = {name.partition(".")[0] for name in names}
    for folder in file.parents:
        if folder.name in tops and _is_tree(folder, names):
            return folder.parent
    return None


def _is_tree(folder: Path, names: Mapping[str, str]) -> bool:
    """Whether a folder holds parts that the façade of the same name holds too."""
    parts = _children(folder.name, facade_files(tuple(names.items())))
    return any(
        (folder / part).is_dir() or (folder / f"{part}.py").is_file() for part in parts
    )


def home_of(file: Path, names: Mapping[str, str]) -> str | None:
    """The package a lone file was written for; `None` if its relative imports lead nowhere in the façade."""
    nodes = [
        node
        for node in names_in(file).imports
        if node.level and not _is_beside(file, node, names)
    ]
    if not nodes:
        return None
    modules = facade_files(tuple(names.items()))
    best: tuple[int, str] | None = None
    for package in _packages(modules, file.parent.name):
        score = _score(package, nodes, modules)
        if score and (best is None or score > best[0]):
            best = score, package
    return best[1] if best else None


def _packages(modules: Mapping[str, Path], folder: str) -> Iterator[str]:
    """Packages of the façade, those near the top first; then what could be a package of the user's inside each."""
    packages = sorted(
        (n for n, f in modules.items() if f.name == "__init__.py"),
        key=lambda n: (n.count("."), n),
    )
    yield from packages
    yield from (f"{package}.{folder.replace('.', '_')}" for package in packages)


def _score(
    package: str, nodes: Sequence[ImportFrom], modules: Mapping[str, Path]
) -> int:
    score = 0
    for node in nodes:
        target = absolute_name(package, node.module, node.level)
        if target is None:
            return 0
        file = modules.get(target)
        if file is None:
            continue
        exported = _offered(file)
        found = sum(
            there in exported or f"{target}.{there}" in modules
            for there, _ in node.names
        )
        # A module that is there is a hint, the names that are asked of it are the evidence.
        score += 1 + 2 * found
    return score


def _is_beside(file: Path, node: ImportFrom, names: Mapping[str, str]) -> bool:
    """Whether an import finds a file of the user's own, which says nothing; a copy of upstream's does not count."""
    found = _imported_file(file, node)
    if found is None:
        return False
    last = node.module.rpartition(".")[2]
    ours = [
        f
        for name, f in facade_files(tuple(names.items())).items()
        if name.rpartition(".")[2] == last
    ]
    return not any(
        names_in(found).exported & _offered(facade_file) for facade_file in ours
    )


def _imported_file(file: Path, node: ImportFrom) -> Path | None:
    """The file that a relative import names, as files lie on the disk; `None` without a module, or without its file."""
    folder = file.parents[min(node.level, len(file.parents)) - 1]
    return (
        module_file(folder.joinpath(*node.module.split("."))) if node.module else None
    )


def _offered(ours: Path) -> frozenset[str]:
    """What a module of the façade offers, with the names of modules that it takes whole."""
    names = names_in(ours)
    files = [
        found
        for node in names.imports
        if node.is_star and node.level and (found := _imported_file(ours, node))
    ]
    return names.exported.union(*map(_offered, files))


def absolute_name(package: str, module: str, level: int) -> str | None:
    """The dotted name of a relative import made in a package; `None` if it leads beyond the top."""
    parts = package.split(".") if package else []
    if level - 1 >= len(parts):
        return None
    return ".".join([*parts[: len(parts) - (level - 1)], *([module] if module else [])])


@lru_cache(maxsize=32)
def facade_files(names: tuple[tuple[str, str], ...]) -> Mapping[str, Path]:
    """Every module that assay stands for, by its guest name, with the file that does; none of them is run."""
    found: dict[str, Path] = {}
    for name, real in names:
        place = _folder_of(real)
        file = module_file(place) if place is not None else None
        if place is None or file is None:
            continue
        found[name] = file
        if file.name == "__init__.py":
            for inner in sorted(place.rglob("*.py")):
                parts = inner.relative_to(place).with_suffix("").parts
                found[
                    ".".join([name, *(part for part in parts if part != "__init__")])
                ] = inner
    for name in list(found):
        outer = name.rpartition(".")[0]
        while outer and outer not in found:
            found[outer] = (
                Path(outer) / "__init__.py"
            )  # a package that is only a parent of ours
            outer = outer.rpartition(".")[0]
    return found


def _folder_of(real: str) -> Path | None:
    """The path, without a suffix, of a module of assay; its parents are not run."""
    top, *rest = real.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    place = origin.parent if origin.name == "__init__.py" else origin.with_suffix("")
    return place.joinpath(*rest)


def is_upstreams(theirs: Path, name: str, names: Mapping[str, str]) -> bool:
    """Whether a file or package of the user's is upstream's, which ours stands for: it offers what ours offers.

    A user may well have a `pipeline.py` or `tasks/` that has nothing to do with the guest's: those share no name.
    """
    modules = facade_files(tuple(names.items()))
    offered = names_in(theirs).exported
    if theirs.name == "__init__.py":
        folder = theirs.parent
        if any(
            (folder / part).is_dir() or (folder / f"{part}.py").is_file()
            for part in _children(name, modules)
        ):
            return True
        if not offered and not any(file != theirs for file in folder.glob("*.py")):
            return True  # an empty package hides nothing
    ours = modules.get(name)
    return ours is not None and bool(offered & _offered(ours))


def _children(name: str, modules: Mapping[str, Path]) -> set[str]:
    below = f"{name}."
    return {
        other.removeprefix(below).partition(".")[0]
        for other in modules
        if other.startswith(below)
    }
