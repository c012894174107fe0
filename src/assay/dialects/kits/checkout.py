"""Find the dataset and model classes that a toolkit's checkout, or its installed package, defines.

The names are read from the syntax trees of the files. Importing the packages would import every model and every
dataset, with all the libraries they need. Only the file that defines the requested name is loaded.
"""

import ast
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...code.sources import parsed
from ...core import EMPTY, AssayError, UsageError
from ..shapes import Fields, Record
from ..source_names import missing_packages

ENVIRONMENT_CALLS = ("os.environ.get", "os.getenv")
ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
PIP_NAMES: Mapping[str, str] = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "fitz": "pymupdf",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Names under which pip installs packages that are imported by another name."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A class in a checkout: its file, its name, and the arguments that the checkout's configuration gives it."""

    file: Path
    cls: str
    arguments: Fields = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files of a toolkit, either from a source checkout or from the installed package."""

    package: Path
    """The folder of the toolkit's package."""
    model_folders: tuple[str, ...]
    own_dataset_files: frozenset[str]
    datasets_of: Callable[[Path], Sequence[tuple[Any, str]]]
    """Function that loads a file, and returns a (class, dataset name) pair for each dataset in it."""

    @property
    def dataset_folder(self) -> Path:
        """The folder of the toolkit's dataset classes."""
        return self.package / "dataset"

    @property
    def config(self) -> Path:
        """The file that lists the toolkit's models."""
        return self.package / "config.py"

    def dataset(
        self,
        name: str,
        *,
        with_own: bool = False,
    ) -> Defined | None:
        """Return the class that the checkout defines for a dataset, or None. Raise if its file cannot be loaded.

        Files that assay replaces are skipped, unless `with_own` is True.
        """
        folder = self.dataset_folder
        entry = _entry_of(folder / "video_dataset_config.py", name)
        if entry is not None:
            cls, arguments = entry
            file = _file_of_class(folder, cls)
            if file is not None:
                self.check_packages(file, name)
                return Defined(file, cls, arguments)
        errors: list[AssayError] = []
        for file in _files_that_name(folder, name):
            if file.name in self.own_dataset_files and not with_own:
                continue
            try:
                self.check_packages(file, name)
                classes = self.datasets_of(file)
            except AssayError as error:
                errors.append(error)
                continue
            for kind, dataset in classes:
                if dataset == name:
                    return Defined(file, kind.__name__)
        if errors:
            raise errors[0]
        return None

    def model(self, name: str) -> Defined | None:
        """Return the model class and arguments that `config.py` lists under a name. None if the name is not listed."""
        entry = _entry_of(self.config, name)
        if entry is None:
            return None
        cls, arguments = entry
        for part in self.model_folders:
            file = _file_of_class(self.package / part, cls)
            if file is not None:
                self.check_packages(file, name)
                return Defined(file, cls, arguments)
        package = self.package.name
        folders = " or ".join(f"{package}/{part}" for part in self.model_folders)
        raise UsageError(
            f"{name!r} is built by {cls}, which no file of {folders} defines",
            where=str(self.config),
        )

    def model_names(self) -> list[str]:
        """Return the names of all models in `config.py`."""
        tree = parsed(self.config)
        if tree is None:
            return []
        return [key for key, value in _entries(tree) if isinstance(value, ast.Call)]

    def check_packages(self, file: Path, name: str) -> None:
        """Raise if a file imports packages that are not installed. The message lists all of them."""
        missing = missing_packages(file, lambda top: top == self.package.name)
        if not missing:
            return
        installs = " ".join(PIP_NAMES.get(package, package) for package in missing)
        raise UsageError(
            f"{name} needs packages that are not installed: {', '.join(missing)}",
            where=str(file),
            fix=f"pip install {installs}",
        )


def _files_that_name(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files below a folder in which a name occurs."""
    for file in sorted(folder.rglob("*.py")):
        if file.name in ("__init__.py", "video_dataset_config.py"):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if f"'{name}'" in text or f'"{name}"' in text:
            yield file


def _file_of_class(folder: Path, cls: str) -> Path | None:
    """Return the file that defines a class of a package, or None.

    The file from which `__init__.py` imports the class comes first, then any other file
    that defines it.
    """
    tree = parsed(folder / "__init__.py")
    for node in tree.body if tree is not None else ():
        if not isinstance(node, ast.ImportFrom) or node.level != 1 or not node.module:
            continue
        if cls in [alias.asname or alias.name for alias in node.names]:
            path = folder.joinpath(*node.module.split("."))
            if path.is_dir():
                return _file_of_class(path, cls)
            return path.with_suffix(".py")
    for file in sorted(folder.rglob("*.py")):
        if f"class {cls}" in file.read_text(encoding="utf-8", errors="replace"):
            tree = parsed(file)
            for node in tree.body if tree is not None else ():
                if isinstance(node, ast.ClassDef) and node.name == cls:
                    return file
    return None


def _entry_of(config: Path, name: str) -> tuple[str, Record] | None:
    """Return the class name and arguments of the entry `name: partial(Class, argument=value, …)`, or `None`."""
    tree = parsed(config)
    if tree is None:
        return None
    value = dict(_entries(tree)).get(name)
    if value is None:
        return None
    if not isinstance(value, ast.Call):
        return _class_name(value, config), {}
    function = _class_name(value.func, config)
    if function != "partial":
        return function, _arguments(value, tree, config)
    if not value.args:
        raise UsageError(f"{name!r} names no class", where=f"{config}:{value.lineno}")
    return _class_name(value.args[0], config), _arguments(value, tree, config)


def _entries(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield names and values of dictionary entries with string keys, and of assignments like `group["name"] = …`."""
    for key, value in _keyed_values(tree):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _keyed_values(tree: ast.Module) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield the keys and values of dictionary entries, and of assignments like `group[key] = value`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from zip(node.keys, node.values, strict=True)
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Subscript):
                yield target.slice, node.value


def _class_name(
    node: ast.expr,
    config: Path,
) -> str:
    """Return the class name in an expression `Class` or `module.Class`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    raise UsageError(
        f"cannot tell which class {ast.unparse(node)} builds",
        where=f"{config}:{node.lineno}",
        fix="--register a file that adds it to the models",
    )


def _arguments(
    call: ast.Call,
    tree: ast.Module,
    config: Path,
) -> Record:
    """Return the keyword arguments of a call in a config file.

    Each must be a literal or a name that the file defines.
    """
    arguments: Record = {}
    for keyword in call.keywords:
        value = _value(keyword.value, tree, config)
        if keyword.arg is not None:
            arguments[keyword.arg] = value
        elif isinstance(value, dict):
            arguments.update(value)
    return arguments


def _value(
    node: ast.expr,
    tree: ast.Module,
    config: Path,
) -> Any:
    """Return the value of an expression in a config file without running it.

    It may be a literal, a product or sum of numbers, an environment variable, or a name that the file defines.
    """
    try:
        return ast.literal_eval(node)
    except ValueError:
        pass
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left = _value(node.left, tree, config)
        right = _value(node.right, tree, config)
        return ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ENVIRONMENT_CALLS:
        return os.environ.get(*(_value(part, tree, config) for part in node.args))
    if isinstance(node, ast.Name):
        for statement in tree.body:
            if not isinstance(statement, ast.Assign):
                continue
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id == node.id:
                return _value(statement.value, tree, config)
    raise UsageError(
        f"{ast.unparse(node)} is not a plain value",
        where=f"{config}:{node.lineno}",
        fix="--register a file that adds it to the models",
    )
