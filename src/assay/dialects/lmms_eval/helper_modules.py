"""Load the functions that task files declare with `!function`, from modules with unique names.

lmms-eval looks for included files in the working folder first, and imports every helper
module as `utils`. Here paths are relative to the file that contains them, and a helper
module is imported once, under its name in the package.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ...code.sources import digest_behind
from ...code.userfiles import load_file
from ...core import UsageError
from ..harness.package_care import limited_import
from ..harness.task_yaml import FUNCTION, merged_yaml
from .claims import LIBRARY
from .judge_clients import placeholder_keys, replaced_clients


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function that a task file declares with `!function`, not yet loaded."""

    name: str
    """The module and the function, such as `utils.mme_doc_to_text`."""
    file: Path
    """The YAML file with the declaration."""

    @property
    def module_file(self) -> Path:
        """The Python file with the function, next to the YAML file."""
        return self.file.parent / f"{self.name.rpartition('.')[0]}.py"


def resolved_yaml(path: str | Path) -> dict[str, Any]:
    """Return a task file merged with its includes. The functions after `!function` are already loaded."""
    config = merged_yaml(path, LIBRARY, _with_named_functions)
    resolved: dict[str, Any] = _replace(config, _function)
    return _with_absolute_files(resolved, Path(path).parent)


def helper_files(path: str | Path) -> list[Path]:
    """Return the helper modules next to a task file and the files it includes."""
    config = merged_yaml(path, LIBRARY, _with_named_functions)
    files: set[Path] = set()

    def collect(function: NamedFunction) -> str:
        if function.module_file.is_file():
            files.add(function.module_file)
        return function.name

    _replace(config, collect)
    return sorted(files)


def helpers_digest(path: str | Path) -> str:
    """Return a digest of the helper modules of a task file and of the modules next to them that they import."""
    files = helper_files(path)
    return " ".join(digest_behind(file, libraries=False) for file in files)


def forget_helpers(path: str | Path) -> None:
    """Remove the helper modules of a task file from `sys.modules`, so that the next load imports them again.

    Some modules have their own random generator, which must start again with each load.
    """
    files = {str(file) for file in helper_files(path)}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("lmms_eval.tasks.") and file in files:
            del sys.modules[name]


def _with_named_functions(
    config: dict[str, Any],
    file: Path,
) -> dict[str, Any]:
    """Replace each `!function NAME` in a file by a `NamedFunction` with the file's path.

    This is done before files are merged, because such names are relative to their file.
    """

    def remember(text: str) -> str | NamedFunction:
        if not text.startswith(FUNCTION):
            return text
        return NamedFunction(text.removeprefix(FUNCTION), file)

    named: dict[str, Any] = _replace(config, remember, str)
    return named


def _replace(
    value: object,
    change: Callable[[Any], object],
    kind: type = NamedFunction,
) -> Any:
    """Replace each value of type `kind` in a configuration, at any depth, with `change(value)`."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _replace(entry, change, kind) for name, entry in value.items()}
    if isinstance(value, list):
        return [_replace(entry, change, kind) for entry in value]
    return value


def _function(function: NamedFunction) -> object:
    """Load a named function or class. If it is missing, raise with the file that refers to it."""
    module_name, _, name = function.name.rpartition(".")
    module = _module(function.module_file, module_name, function.file)
    if not hasattr(module, name):
        raise UsageError(
            f"unknown function {name!r} in {module_name}",
            where=str(function.file),
            fix="check the name after `!function`",
        )
    function_or_class: object = getattr(module, name)
    return function_or_class


def _module(
    file: Path,
    name: str,
    yaml_file: Path,
) -> ModuleType:
    folder = LIBRARY.need_tasks_folder().resolve()
    with placeholder_keys(), replaced_clients(), _restored_search_path():
        if not file.is_file():
            return _absolute_module(name, file, yaml_file)
        with limited_import(file):
            if file.is_relative_to(folder):
                return _package_module(file, folder)
            return load_file(file)


def _absolute_module(
    name: str,
    file: Path,
    yaml_file: Path,
) -> ModuleType:
    """Import a module given by its full name, such as `lmms_eval.tasks.librispeech.utils`."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise
        raise UsageError(
            f"no module {name!r}: there is no {file.name} beside the file",
            where=str(yaml_file),
            fix="check the name after `!function`",
        ) from error


def _package_module(file: Path, folder: Path) -> ModuleType:
    """Return a helper module of the package under its full name, which is unique."""
    parts = file.relative_to(folder).with_suffix("").parts
    name = ".".join(("lmms_eval", "tasks", *parts))
    if not any("." in part for part in parts):
        return importlib.import_module(name)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


@contextmanager
def _restored_search_path() -> Iterator[None]:
    """Undo, at the end of the block, a helper module's changes to Python's search path.

    Modules loaded that way are also removed. Otherwise the next module that imports
    `utils` would get the `utils` of another task.
    """
    before = list(sys.path)
    loaded_before = set(sys.modules)
    try:
        yield
    finally:
        added = [entry for entry in sys.path if entry not in before]
        sys.path[:] = before
        for name in set(sys.modules) - loaded_before:
            file = getattr(sys.modules[name], "__file__", None)
            if "." not in name and file and str(Path(file).parent) in added:
                del sys.modules[name]


LOCAL_BUILDERS = frozenset({"csv", "json", "parquet", "text", "pandas", "arrow"})


def _with_absolute_files(
    config: dict[str, Any],
    folder: Path,
) -> dict[str, Any]:
    """Make paths of data files in a configuration absolute. `folder` is the folder of the YAML file."""
    kwargs = config.get("dataset_kwargs")
    is_local = config.get("dataset_path") in LOCAL_BUILDERS
    if not is_local or not isinstance(kwargs, dict) or "data_files" not in kwargs:
        return config

    def absolute(name: str) -> str:
        if (folder / name).is_file():
            return str(folder / name)
        return name

    files = _replace(kwargs["data_files"], absolute, str)
    return {**config, "dataset_kwargs": {**kwargs, "data_files": files}}
