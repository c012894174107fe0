"""A fault in a user's file, explained: the line where it is, what it is, and what to do about it."""

import builtins
import re
from pathlib import Path
from traceback import walk_tb

from ..core import AssayError, Output, PlanError, Sample, nearest, suggest
from ..core.errors import shorten

_PLACE = re.compile(r"\s*\((?P<file>[^()\s]+\.py):(?P<line>\d+)\)")
_YAML_KEY = re.compile(r"key '(?P<key>[^']+)'")
_ASSAY = Path(__file__).parent.parent


class Fault(AssayError):
    """What `assay check` found."""

    exit_code = 1


def explained(
    error: BaseException,
    file: Path,
    *,
    line: int | None = None,
    sample: Sample | None = None,
) -> AssayError:
    """`error` with the file, the line and a remedy; `line` is where the thing at fault is defined."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, PlanError):
        error = error.faults[
            0
        ]  # the first is explained, the others show when it is mended
    if isinstance(error, AssayError):
        return _from_assay(error, file, line, sample)
    fix = remedy(error, sample) or _general(file)
    return Fault(
        _what(error), where=place_of(file, line_of(error, file) or line), fix=fix
    )


def _from_assay(
    error: AssayError, file: Path, line: int | None, sample: Sample | None
) -> AssayError:
    cause = error.__cause__
    what = error.what
    found = line_of(cause, file) if cause is not None else None
    place = _PLACE.search(what)
    if place is not None and place["file"] == file.name:
        found = found or int(place["line"])
    what = _PLACE.sub("", what) if found else what
    where = error.where or ""
    is_located = str(file) in where or file.name in where
    if is_located and found is None:
        where = _with_line(where, what, file, line)
    else:
        # Who was at work (a template, a scorer, which sample) is worth keeping once the place is known.
        what = what if is_located or not where else f"{where}: {what}"
        where = place_of(file, found or line)
    fix = (
        error.fix
        or (remedy(cause, sample) if cause is not None else None)
        or _general(file)
    )
    return Fault(what, where=where, fix=None if "; fix: " in what else fix)


def _with_line(where: str, what: str, file: Path, line: int | None) -> str:
    """The place an error names, with the line of a YAML key or of the definition where it has none."""
    if re.search(r":\d", where.rpartition(file.name)[2]):
        return where
    key = _YAML_KEY.search(what)
    if key is not None and file.suffix in (".yaml", ".yml"):
        for number, text in enumerate(
            file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        ):
            if re.match(rf"\s*[\"']?{re.escape(key['key'])}[\"']?\s*:", text):
                return place_of(file, number)
    return place_of(file, line) if line is not None and file.suffix == ".py" else where


def line_of(error: BaseException, file: Path) -> int | None:
    """The deepest line of the user's file that an error passed through."""
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


def place_of(file: Path, line: int | None) -> str:
    """`file:line`, as far as the line is known."""
    return str(file) if line is None else f"{file}:{line}"


def _what(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"not valid Python: {error.msg}"
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def remedy(error: BaseException, sample: Sample | None = None) -> str | None:
    """What usually helps against an error of this kind; `None` where nothing can be said."""
    if " must return " in str(error):
        return "look at its `return`: is there one on every way through?"
    if isinstance(error, SyntaxError):
        return "mend the syntax of that line"
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
        return "look at what that line is given; sample.input, sample.target and output.text are mostly text"
    return None


def _key_remedy(error: KeyError, sample: Sample | None) -> str | None:
    if sample is None or not error.args:
        return None
    names = [str(name) for name in sample.fields]
    return suggest(str(error.args[0]), names, "the row has")


def _attribute_remedy(error: AttributeError) -> str:
    owner, name = error.obj, error.name or ""
    names = (
        [n for n in dir(owner) if not n.startswith("_")] if owner is not None else []
    )
    close = nearest(name, names)
    if isinstance(owner, (Sample, Output)) and not close:
        return f"a {type(owner).__name__.lower()} has {', '.join(names)}"
    return (
        f"did you mean {close!r}?"
        if close
        else f"a {type(owner).__name__} has no {name!r}"
    )


def _name_remedy(error: NameError) -> str:
    close = nearest(error.name or "", dir(builtins))
    return f"define or import {error.name!r}" + (
        f", or did you mean {close!r}?" if close else ""
    )


def _general(file: Path) -> str:
    if file.suffix == ".py":
        return (
            f"mend it there; `assay check {file.name} --debug` shows how it came about"
        )
    return "mend it there"
