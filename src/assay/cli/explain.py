"""Explain errors: add the file, the line and a fix to an error in a user's file, and remove secrets from tracebacks."""

import builtins
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from traceback import walk_tb
from types import TracebackType

from ..core import AssayError, Output, PlanError, Sample, nearest, suggest
from ..core.errors import shorten
from ..core.secrets import learn, without
from .arguments import typed_options

_PLACE = re.compile(r"\s*\((?P<file>[^()\s]+\.py):(?P<line>\d+)\)")
_YAML_KEY = re.compile(r"key '(?P<key>[^']+)'")
_ASSAY = Path(__file__).parent.parent


class Fault(AssayError):
    """A fault that `assay check` found."""

    exit_code = 1


def explained(
    error: BaseException,
    file: Path,
    *,
    line: int | None = None,
    sample: Sample | None = None,
) -> AssayError:
    """Convert an error to one that names the user's file, the line and a fix.

    `line` is the line on which the faulty object is defined.
    """
    if isinstance(error, Fault):
        return error
    if isinstance(error, PlanError):
        error = error.faults[
            0
        ]  # explain the first error; the others appear after it is fixed
    if isinstance(error, AssayError):
        return _from_assay(error, file, line, sample)
    fix = remedy(error, sample) or _general(file)
    return Fault(
        _what(error),
        where=place_of(file, line_of(error, file) or line),
        fix=fix,
    )


def _from_assay(
    error: AssayError,
    file: Path,
    line: int | None,
    sample: Sample | None,
) -> AssayError:
    cause = error.__cause__
    message = error.what
    if cause is not None:
        line_number = line_of(cause, file)
    else:
        line_number = None
    location = _PLACE.search(message)
    if location is not None and location["file"] == file.name:
        line_number = line_number or int(location["line"])
    if line_number:
        message = _PLACE.sub("", message)
    where = error.where or ""
    is_located = str(file) in where or file.name in where
    if is_located and line_number is None:
        where = _with_line(where, message, file, line)
    else:
        # Keep which component and sample failed, in addition to the location.
        if where and not is_located:
            message = f"{where}: {message}"
        where = place_of(file, line_number or line)
    fix = (
        error.fix
        or (remedy(cause, sample) if cause is not None else None)
        or _general(file)
    )
    return Fault(
        message,
        where=where,
        fix=None if "; fix: " in message else fix,
    )


def _with_line(
    where: str,
    what: str,
    file: Path,
    line: int | None,
) -> str:
    """Return the file and line of an error. Without a line, use that of the YAML key or the definition."""
    if re.search(r":\d", where.rpartition(file.name)[2]):
        return where
    key = _YAML_KEY.search(what)
    if key is not None and file.suffix in (".yaml", ".yml"):
        line_of_key = _line_of_key(file, key["key"])
        if line_of_key is None:
            return where
        return place_of(file, line_of_key)
    if line is not None and file.suffix == ".py":
        return place_of(file, line)
    return where


def _line_of_key(file: Path, key: str) -> int | None:
    """Return the number of the first line in a YAML file that sets a key."""
    setting = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*:")
    text = file.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if setting.match(line):
            return number
    return None


def line_of(error: BaseException, file: Path) -> int | None:
    """Return the last line of the user's file that the traceback contains, or None if it contains none."""
    if isinstance(error, SyntaxError):
        return error.lineno
    places = [
        (Path(frame.f_code.co_filename), line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    lines = [
        line
        for path, line in places
        if path.name == file.name and not path.is_relative_to(_ASSAY)
    ]
    return lines[-1] if lines else None


def place_of(
    file: Path,
    line: int | None,
) -> str:
    """Return `file:line`, or the file alone if the line is unknown."""
    if line is None:
        return str(file)
    return f"{file}:{line}"


def _what(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"not valid Python: {error.msg}"
    text = str(error)
    if text:
        return f"{type(error).__name__}: {text}"
    return type(error).__name__


def remedy(
    error: BaseException,
    sample: Sample | None = None,
) -> str | None:
    """Return advice on how to fix this type of error in a user's file; `None` if there is none."""
    if " must return " in str(error):
        return "check its `return` statements: every path needs one"
    if isinstance(error, SyntaxError):
        return "correct the syntax of that line"
    if isinstance(error, ModuleNotFoundError):
        return f"pip install {str(error.name).partition('.')[0]}, or do without it"
    if isinstance(error, AttributeError):
        return _attribute_remedy(error)
    if isinstance(error, NameError):
        return _name_remedy(error)
    if isinstance(error, KeyError):
        return _key_remedy(error, sample)
    if isinstance(error, IndexError):
        return "look how long it is before taking that place"
    if isinstance(error, FileNotFoundError):
        return f"check the path {shorten(error.filename)}; a relative one starts at the folder you are in"
    if isinstance(error, ZeroDivisionError):
        return "look whether it is 0 before dividing"
    if isinstance(error, (TypeError, ValueError)):
        return "check the values on that line; sample.input, sample.target and output.text are usually text"
    return None


def _key_remedy(
    error: KeyError,
    sample: Sample | None,
) -> str | None:
    if sample is None or not error.args:
        return None
    names = [str(name) for name in sample.fields]
    return suggest(str(error.args[0]), names, "the row has")


def _attribute_remedy(error: AttributeError) -> str:
    owner = error.obj
    name = error.name or ""
    if owner is not None:
        names = [n for n in dir(owner) if not n.startswith("_")]
    else:
        names = []
    close = nearest(name, names)
    if isinstance(owner, (Sample, Output)) and not close:
        return f"a {type(owner).__name__.lower()} has {', '.join(names)}"
    if close:
        return f"did you mean {close!r}?"
    return f"a {type(owner).__name__} has no {name!r}"


def _name_remedy(error: NameError) -> str:
    close = nearest(error.name or "", dir(builtins))
    return f"define or import {error.name!r}" + (
        f", or did you mean {close!r}?" if close else ""
    )


def _general(file: Path) -> str:
    if file.suffix == ".py":
        return f"correct it there; `assay check {file.name} --debug` shows how it came about"
    return "correct it there"


def without_secrets(
    text: str,
    arguments: Sequence[str],
) -> str:
    """Return a text without the API keys in the environment and in the command."""
    learn(*typed_options(arguments))
    return without(text)


def shown_traceback(
    error: BaseException,
    arguments: Sequence[str],
    trace: TracebackType | None = None,
) -> str:
    """Return Python's traceback of an error, with everything removed that is an API key
    or looks like one.

    If `trace` is set, the text starts at that frame.
    """
    lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
    return without_secrets("".join(lines), arguments)
