"""Users' files: `file.py`, or `file.py:name` for one object in it.

By naming a file, the user agrees to run it. Each file is loaded once, under a unique
module name, with its folder importable, so that it may import other modules of the
folder. If loading fails, nothing remains loaded.
"""

import hashlib
import importlib.util
import os
import re
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from .. import core
from ..core import trust
from ..core.errors import AssayError, UnknownName, UsageError, suggest
from ..core.secrets import without_keys
from . import neighbours
from .data_files import watching
from .sources import behind, digest_behind

_UNEXPECTED = re.compile(
    r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'"
)
_loaded: dict[tuple[Path, str], ModuleType] = {}


def is_reference(name: str) -> bool:
    """Return True if a name refers to a Python file: `file.py` or `file.py:attribute`."""
    return split_reference(name)[0].endswith(".py")


def split_reference(name: str) -> tuple[str, str | None]:
    """Split `file.py:fn` into path and attribute; the attribute is `None` for the whole file."""
    path, colon, attribute = name.rpartition(":")
    if colon and path.endswith(".py"):
        return path, attribute
    return name, None


def one_spelling(name: str) -> str:
    """Normalize the path in a task or model reference: `./a/../file.py:fn` ->
    `file.py:fn`.

    The result is relative to the working folder. An absolute path outside of that
    folder stays absolute.
    """
    path, attribute = split_reference(name)
    file = Path(path).expanduser()
    if not path.endswith(".py") or not file.is_file():
        return name
    full = os.path.abspath(file)
    working_folder = os.path.join(os.getcwd(), "")
    is_elsewhere = not full.startswith(working_folder)
    if is_elsewhere and file.is_absolute():
        spelling = full
    else:
        spelling = os.path.relpath(full)
    if attribute is None:
        return spelling
    return f"{spelling}:{attribute}"


def load_file(path: str | Path) -> ModuleType:
    """Return the module of a user's file. It is loaded again if it, or a user's file that it imports, has changed."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError(
            "no such file",
            where=str(path),
            fix="check the path",
        )
    if file.suffix != ".py":
        raise UsageError("not a Python file", where=str(path))
    trust.check(file)
    digest = digest_behind(file, libraries=False)[:12]
    if (file, digest) in _loaded:
        return _loaded[file, digest]
    if any(other == file for other, _ in _loaded):
        # Some file that it imports has changed, so read it again.
        neighbours.forget({str(path) for path in behind(file)[0] - {file}})
    name = f"assay_user_{file.stem.replace('-', '_').replace('.', '_')}_{digest}"
    neighbours.open_folder(file.parent)
    loader = neighbours.Loader(name, str(file))
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None  # There is a loader, so there is a spec.
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        with trust.running(), watching():
            loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, AssayError) or not isinstance(
            error, (Exception, SystemExit)
        ):
            raise
        where = failing_place(error, path, file)
        raise UsageError(
            describe_failure(error),
            where=where,
            fix=loading_fix(error),
        ) from error
    _loaded[file, digest] = module
    return module


def load_attribute(reference: str) -> Any:
    """Return the object to which `file.py:name` refers."""
    path, attribute = split_reference(reference)
    module = load_file(path)
    if attribute is None:
        return module
    if not hasattr(module, attribute):
        names = [n for n in vars(module) if not n.startswith("_")]
        raise UnknownName(
            "name",
            attribute,
            names,
            where=path,
            hint=f"{path} defines {', '.join(names) or 'nothing'}",
        )
    return getattr(module, attribute)


def load_component(reference: str, usual: str) -> tuple[str, Any]:
    """Return the object to which `file.py:name` refers, and its name.

    For a reference without a name, return the object called `usual`, or the only
    callable in the file.
    """
    path, attribute = split_reference(reference)
    if attribute is None:
        module = load_file(path)
        names = [
            name
            for name, thing in vars(module).items()
            if not name.startswith("_")
            and callable(thing)
            and getattr(thing, "__module__", None) == module.__name__
        ]
        if not hasattr(module, usual) and len(names) != 1:
            if names:
                defined = f"it defines {', '.join(names)}"
            else:
                defined = "it defines no function"
            fix = f"write {path}:{names[0] if names else usual}, or name the one that is meant {usual!r}"
            raise UsageError(
                f"the file does not say which function is meant: {defined}",
                where=path,
                fix=fix,
            )
        if hasattr(module, usual):
            attribute = usual
        else:
            attribute = names[0]
    return attribute, load_attribute(f"{path}:{attribute}")


def file_digest(path: str | Path) -> str:
    """Return the sha256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


RELATIVE_FIX = (
    "import modules beside the file by name: `from helper import …` without the dot"
)


def loading_fix(error: BaseException) -> str | None:
    """Return advice on what to change in a file that could not be loaded; None if the
    error's message already has it.
    """
    if isinstance(error, SystemExit):
        return 'put it under if __name__ == "__main__":'
    if isinstance(error, SyntaxError):
        return "correct that line"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package.startswith("assay_"):
            return RELATIVE_FIX
        return f"pip install {package}, or put {package}.py beside the file"
    if isinstance(error, ImportError) and "relative import" in str(error):
        return RELATIVE_FIX
    return keyword_fix(error)


def keyword_fix(error: BaseException) -> str | None:
    """Return the field name that the author of an unknown argument probably meant.

    Works for `Task`, `Sample` and similar classes.
    """
    if not isinstance(error, TypeError):
        return None
    match = _UNEXPECTED.search(str(error))
    if match is None:
        return None
    class_name, argument = match.groups()
    kind = getattr(core, class_name, None)
    if not is_dataclass(kind):
        return None
    names = [field.name for field in fields(kind) if field.init]
    return suggest(argument, names, f"a {class_name} has")


def describe_failure(error: BaseException) -> str:
    """Return a short reason why a file could not be loaded."""
    if isinstance(error, SystemExit):
        return f"calls sys.exit({error.code!r}) while it is loaded"
    if isinstance(error, SyntaxError):
        return f"not valid Python: {error.msg}"
    if isinstance(error, ModuleNotFoundError) and str(error).startswith(
        "No module named"
    ):
        name = str(error.name)
        if name.startswith("assay_"):  # the name that the file's folder has here
            return f"imports '.{name.partition('.')[2]}', and the file is in no package with such a module"
        return f"imports {name!r}, which is not installed"
    if isinstance(error, ModuleNotFoundError):
        return without_keys(str(error))
    return without_keys(f"{type(error).__name__}: {error}")


def failing_line(error: BaseException, file: Path) -> str:
    """Return the line of `file` where an error occurred as `:12`; empty if it occurred in another file."""
    if isinstance(error, SyntaxError) and error.lineno and _is_of(error, file):
        return f":{error.lineno}"
    frames = walk_tb(error.__traceback__)
    lines = [
        f":{line}" for frame, line in frames if frame.f_code.co_filename == str(file)
    ]
    return lines[-1] if lines else ""


def _is_of(error: SyntaxError, file: Path) -> bool:
    """Return True if a syntax error is in this file and not in a module that the file imports."""
    return error.filename in (None, str(file), "<unknown>")


def failing_place(
    error: BaseException,
    path: str | Path,
    file: Path,
) -> str:
    """Return the file and line where an error occurred.

    The file is `path`, or an imported module that is not valid Python.
    """
    if isinstance(error, SyntaxError) and not _is_of(error, file):
        return f"{error.filename}:{error.lineno}"
    return f"{path}{failing_line(error, file)}"
