"""Determine the module name of a toolkit's file, so that its relative imports work as in the toolkit's tree.

A file below a folder with the tree's name (`vlmeval/dataset/mine.py`) has the module
name of its path. A file outside of any tree is treated as a module of the package in
which most of its relative imports exist, judged by the modules that assay replaces. A
toolkit declares these in `names.toml`.
"""

import importlib.util
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .source_names import ImportFrom, names_in


def facade_names(dialect: str) -> dict[str, str]:
    """Return the toolkit's modules that assay replaces, each with assay's `module` or, for a part, `module: names`."""
    table = Path(__file__).with_name(dialect) / "names.toml"
    names: dict[str, str] = tomllib.loads(table.read_text(encoding="utf-8"))
    return {name: f"{__package__}.{real}" for name, real in names.items()}


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder that contains the modules of `package`. If `package` is empty, they are top-level modules."""

    package: str
    folder: Path

    def place_of(self, name: str) -> Path | None:
        """Return the path of a module by its dotted name, without `.py`; `None` for a name outside the package."""
        if not self.package:
            return self.folder.joinpath(*name.split("."))
        if name == self.package:
            return self.folder
        inner = name.removeprefix(f"{self.package}.")
        if inner != name:
            return self.folder.joinpath(*inner.split("."))
        return None

    def file_of(self, name: str) -> Path | None:
        """Return the file of the module with a dotted name, or `None` if there is none."""
        path = self.place_of(name)
        return module_file(path) if path is not None else None

    def name_of(self, file: Path) -> str | None:
        """Return the dotted name of a file; `None` if it is not below the folder."""
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
    """Return the file of the module at a path without a suffix. A package wins over a module, as in Python."""
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if file.is_file():
            return file
    return None


def mounts_of(
    file: Path,
    names: Mapping[str, str],
) -> tuple[Mount, ...]:
    """Return the folders in which the imports of a toolkit's file are searched, the nearest first."""
    file = file.resolve()
    root = tree_above(file, names)
    if root is not None:
        return (Mount("", root),)
    package = home_of(file, names)
    beside = Mount("", file.parent)
    if package:
        return (Mount(package, file.parent), beside)
    return (beside,)


def tree_above(
    file: Path,
    names: Mapping[str, str],
) -> Path | None:
    """Return the innermost folder around a file that contains the toolkit's package; None if there is none.

    It must contain modules of the toolkit, not only a folder with its name.
    """
    tops = {name.partition(".")[0] for name in names}
    for folder in file.parents:
        if folder.name in tops and _is_tree(folder, names):
            return folder.parent
    return None


@dataclass(frozen=True, slots=True)
class FacadeModule:
    """A toolkit's module that assay replaces: the file of the replacement, and the names in it (None for all)."""

    file: Path
    part: frozenset[str] | None = None

    @property
    def offered(self) -> frozenset[str]:
        """The names that the replacement provides, including those of its star imports."""
        if self.part is not None:
            return self.part
        return _offered(self.file)


def _is_tree(
    folder: Path,
    names: Mapping[str, str],
) -> bool:
    """Return True if a folder, which has the name of a toolkit's package, contains a module that assay replaces."""
    parts = _children(folder.name, facade_files(tuple(names.items())))
    return any(
        (folder / part).is_dir() or (folder / f"{part}.py").is_file() for part in parts
    )


def home_of(
    file: Path,
    names: Mapping[str, str],
) -> str | None:
    """Return the toolkit's package that best matches a file's relative imports. `None` if none matches."""
    nodes = []
    for node in names_in(file).imports:
        if node.level and not _finds_user_file(file, node, names):
            nodes.append(node)
    if not nodes:
        return None
    modules = facade_files(tuple(names.items()))
    best: tuple[int, str] | None = None
    for package in _packages(modules, file.parent.name):
        score = _score(package, nodes, modules)
        if score and (best is None or score > best[0]):
            best = score, package
    return best[1] if best else None


def _packages(
    modules: Mapping[str, FacadeModule],
    folder: str,
) -> Iterator[str]:
    """Yield the toolkit's packages: the top-level ones, then the possible subpackage `folder` of each."""
    names = set()
    for name, module in modules.items():
        if "." in name:
            names.add(name.rpartition(".")[0])
        if module.file.name == "__init__.py":
            names.add(name)
    packages = sorted(names, key=lambda name: (name.count("."), name))
    yield from packages
    inner_name = folder.replace(".", "_")
    for package in packages:
        yield f"{package}.{inner_name}"


def _score(
    package: str,
    nodes: Sequence[ImportFrom],
    modules: Mapping[str, FacadeModule],
) -> int:
    score = 0
    for node in nodes:
        target = absolute_name(package, node.module, node.level)
        if target is None:
            return 0
        module = modules.get(target)
        if module is None:
            continue
        exported = module.offered
        match_count = sum(
            there in exported or f"{target}.{there}" in modules
            for there, _ in node.names
        )
        # An existing module is a hint; the imported names are the evidence.
        score += 1 + 2 * match_count
    return score


def _finds_user_file(
    file: Path,
    node: ImportFrom,
    names: Mapping[str, str],
) -> bool:
    """Return True if a relative import refers to a file of the user rather than to the toolkit.

    A copy of the toolkit's file does not count as a file of the user.
    """
    imported = _imported_file(file, node)
    if imported is None:
        return False
    last = node.module.rpartition(".")[2]
    exported = names_in(imported).exported
    modules = facade_files(tuple(names.items()))
    return not any(
        exported & module.offered
        for name, module in modules.items()
        if name.rpartition(".")[2] == last
    )


def _imported_file(file: Path, node: ImportFrom) -> Path | None:
    """Return the file that a relative import refers to; `None` if it has no module name or the file does not exist."""
    folder = file.parents[min(node.level, len(file.parents)) - 1]
    if node.module:
        return module_file(folder.joinpath(*node.module.split(".")))
    return None


def _offered(ours: Path) -> frozenset[str]:
    """Return the names that a module of assay provides to a toolkit's files. Its star imports are followed."""
    names = names_in(ours)
    files = []
    for node in names.imports:
        if node.is_star and node.level and (file := _imported_file(ours, node)):
            files.append(file)
    return names.exported.union(*map(_offered, files))


def absolute_name(
    package: str,
    module: str,
    level: int,
) -> str | None:
    """Return the absolute dotted name of a relative import in a package; `None` if it goes above the top package."""
    if package:
        parts = package.split(".")
    else:
        parts = []
    if level - 1 >= len(parts):
        return None
    return ".".join([*parts[: len(parts) - (level - 1)], *([module] if module else [])])


@lru_cache(maxsize=32)
def _modules_inside(name: str, folder: Path) -> dict[str, FacadeModule]:
    """Return all modules inside a package of assay, by their dotted names in the toolkit."""
    modules = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        inner_parts = [part for part in parts if part != "__init__"]
        full_name = ".".join([name, *inner_parts])
        modules[full_name] = FacadeModule(file)
    return modules


def facade_files(names: tuple[tuple[str, str], ...]) -> Mapping[str, FacadeModule]:
    """Return assay's replacements, by the dotted names of the toolkit's modules. No module is run."""
    modules: dict[str, FacadeModule] = {}
    for name, real in names:
        module_name, _, part = real.partition(":")
        path = _folder_of(module_name)
        if path is not None:
            file = module_file(path)
        else:
            file = None
        if path is None or file is None:
            continue
        if part:
            provided = frozenset(part.split())
        else:
            provided = None
        modules[name] = FacadeModule(file, provided)
        if file.name == "__init__.py" and not part:
            modules.update(_modules_inside(name, path))
    for name in list(modules):
        outer = name.rpartition(".")[0]
        while outer and outer not in modules:
            # A parent package without a replacement.
            modules[outer] = FacadeModule(Path(outer) / "__init__.py", frozenset())
            outer = outer.rpartition(".")[0]
    return modules


def _folder_of(real: str) -> Path | None:
    """Return the path of a module of assay without `.py`. Its parent packages are not run."""
    top, *rest = real.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    if origin.name == "__init__.py":
        path = origin.parent
    else:
        path = origin.with_suffix("")
    return path.joinpath(*rest)


def is_upstreams(
    theirs: Path,
    name: str,
    names: Mapping[str, str],
) -> bool:
    """Return True if a user's file or package is a copy of the toolkit's, because it defines the same names.

    A user may have a `pipeline.py` or `tasks/` that is unrelated to the toolkit. Such a file
    has none of these names.
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
            return True  # An empty package hides nothing.
    ours = modules.get(name)
    return ours is not None and bool(offered & ours.offered)


def _children(
    name: str,
    modules: Mapping[str, FacadeModule],
) -> set[str]:
    below = f"{name}."
    children = set()
    for other in modules:
        if other.startswith(below):
            children.add(other.removeprefix(below).partition(".")[0])
    return children
