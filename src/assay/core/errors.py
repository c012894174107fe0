"""Errors with location and fix in one line, and helpers for the wording of messages.

Every error a user can meet is an `AssayError`. The command line prints its one line and exits with its `exit_code`; a
traceback appears only with `--debug`. Authors of extensions raise plain Python errors: `blame` adds component and
sample.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

SHOWN_CHARACTERS = 60
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
# Terminal escapes and bidirectional overrides: text from rows and models must not control the terminal.
_CONTROLS = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def shorten(
    value: object,
    limit: int = SHOWN_CHARACTERS,
) -> str:
    """Return `repr(value)` on one line, cut to `limit` characters, for use in a message."""
    text = repr(value[: limit * 2] if isinstance(value, (str, bytes)) else value)
    if len(text) <= limit:
        return text
    return text[: limit - 1] + "…"


def nearest(
    name: str,
    names: Iterable[str],
    cutoff: float = 0.6,
) -> str | None:
    """Return the known name most similar to `name`, ignoring case and `-`/`_`; None if none is similar."""
    folded = {_fold(k): k for k in names}
    close = difflib.get_close_matches(
        _fold(name),
        list(folded),
        n=1,
        cutoff=cutoff,
    )
    if close:
        return folded[close[0]]
    return None


def suggest(
    name: str,
    names: Iterable[str],
    otherwise: str,
    cutoff: float = 0.6,
) -> str:
    """Return advice for an unknown name: the nearest known name. If no name is near,
    `otherwise` and all known names.
    """
    close = nearest(name, names, cutoff)
    if close:
        return f"did you mean {close!r}?"
    return f"{otherwise} {', '.join(names)}"


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


class AssayError(Exception):
    """An error with its location and its fix. `str()` gives the line that users see."""

    exit_code = 1

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        if self.where:
            line = f"{self.where}: {self.what}"
        else:
            line = self.what
        if self.fix:
            line = f"{_without_stop(line)}; fix: {self.fix}"
        return _CONTROLS.sub("", " ".join(line.split()))


def _without_stop(text: str) -> str:
    """Remove the period at the end of a message. An ellipsis at the end stays."""
    if text.endswith(".") and not text.endswith(".."):
        return text[:-1]
    return text


class UsageError(AssayError):
    """Invalid settings. Nothing was started."""

    exit_code = 2


class UnknownName(UsageError):
    """Raised for a name that is not registered. The message suggests the nearest registered name."""

    def __init__(
        self,
        kind: str,
        name: str,
        choices: Iterable[str],
        *,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        names = sorted(choices)
        close = nearest(name, names)
        listing = hint or f"`assay ls {kind}s` prints all {len(names)}"
        if close:
            fix = f"did you mean {close!r}? {listing}"
        else:
            fix = listing
        super().__init__(
            f"unknown {kind} {name!r}",
            where=where,
            fix=fix,
        )
        self.kind = kind
        self.name = name
        self.nearest = close


class UnknownOption(UsageError):
    """An option name that the component does not define."""

    def __init__(
        self,
        what: str,
        option: str,
        *,
        where: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(
            f"{what} has no option {option!r}",
            where=where,
            fix=fix,
        )
        self.option = option


class NameTaken(UsageError):
    """Two different things were registered under one name."""


class MissingExtra(UsageError):
    """A library outside the base install is missing."""

    def __init__(
        self,
        feature: str,
        pip: str,
        *,
        where: str | None = None,
    ) -> None:
        # zsh treats the unquoted brackets of an extra as a file pattern.
        typed = re.sub(r"(?<![\w'\"])[\w-]+\[[\w,-]+\]", r"'\g<0>'", pip)
        super().__init__(
            f"{feature} is not installed",
            where=where,
            fix=f"pip install {typed}",
        )
        self.pip = pip


class ModalityMismatch(UsageError):
    """A task sends or expects a kind of content that the model does not support."""


class PlanError(UsageError):
    """All errors found before a model was loaded, one line each."""

    def __init__(self, faults: Sequence[AssayError]) -> None:
        super().__init__(f"{len(faults)} faults found before the run started")
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


def raise_all(faults: Iterable[AssayError]) -> None:
    """Raise the error, or a `PlanError` that lists all of them if they differ. Do nothing if there are none."""
    unique = list({str(fault): fault for fault in faults}.values())
    if unique:
        raise unique[0] if len(unique) == 1 else PlanError(unique)


class DataError(AssayError):
    """A row or a file that cannot be used. The location is `file:row:column`."""

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | int | None = None,
        got: object = None,
        fix: str | None = None,
    ) -> None:
        location = [str(part) for part in (file, row, column) if part is not None]
        if got is None:
            described = what
        else:
            described = f"{what}, got {shorten(got)}"
        super().__init__(
            described,
            where=":".join(location) or None,
            fix=fix,
        )
        self.file = file
        self.row = row
        self.column = column


class ComponentError(AssayError):
    """A template, model, scorer or summarizer failed. The message names the component and the sample."""


class TemplateError(ComponentError):
    """A prompt could not be built from a sample."""


class UnknownColumn(TemplateError):
    """A template uses a column that the row does not have."""


class ForbiddenTemplate(TemplateError):
    """A template does something forbidden, such as including another file, so every row would fail."""


class UnfitTemplate(TemplateError):
    """A prompt lacks something that the measure requires, such as the lettered options, so every row would fail."""


class ModelError(ComponentError):
    """A model could not answer: an infrastructure error, not a wrong answer."""


class ScorerError(ComponentError):
    """A scorer raised instead of returning a score."""


class SummarizerError(ComponentError):
    """A summarizer raised instead of returning metrics."""


class ErrorBudgetExceeded(AssayError):
    """Too many infrastructure errors. The run stopped, and recorded answers are kept."""


class StoreError(AssayError):
    """The run folder cannot be read or written."""


class UnusablePath(StoreError):
    """The requested run folder or output path cannot be used. Nothing was started."""

    exit_code = 2


class FolderInUse(StoreError):
    """Another process is writing to this run folder."""

    exit_code = 75


class DiskFull(StoreError):
    """The disk is full. The journal is still intact."""

    exit_code = 74


@contextmanager
def blame(
    kind: type[ComponentError],
    component: str,
    sample: str | None = None,
) -> Iterator[None]:
    """Context manager that converts any error in its block to `kind`, with the name of
    the component and the sample.
    """
    try:
        yield
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        raise blamed(kind, error, component, sample) from error


def blamed(
    kind: type[ComponentError],
    error: BaseException,
    component: str,
    sample: str | None = None,
) -> ComponentError:
    """Convert an error to `kind`. Its message names the component, the sample and the line of the user's code."""
    where = component
    if sample is not None:
        where = f"{component}, sample {shorten(sample)}"
    fault = f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        fault = f"called sys.exit({error.code!r})"
    return kind(fault + users_line(error), where=where)


def users_definition(component: object) -> str:
    """Return ` (file.py:12)`, the location of a user's function or class. Empty for code of assay or a library."""
    import inspect  # slow to import, and needed only for an error

    if callable(component):
        function = inspect.unwrap(component)
    else:
        function = component
    code = getattr(function, "__code__", None)
    if code is None:
        method = vars(type(function)).get("__call__")
        code = getattr(method, "__code__", None)
    if code is None:
        return ""
    file = code.co_filename
    parts = (_PACKAGE, _STANDARD_LIBRARY)
    if file.startswith(parts) or "site-packages" in file or file.startswith("<"):
        return ""
    return f" ({file.rsplit('/', 1)[-1]}:{code.co_firstlineno})"


def users_line(error: BaseException, *, libraries: bool = True) -> str:
    """Return ` (file.py:12)`, the last line of user or library code in an error's
    traceback; empty if there is none.
    """
    users = foreign = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        module = trace.tb_frame.f_globals.get("__name__", "")
        is_ours = str(module).startswith("assay.") or file.startswith(
            _PACKAGE
        )  # `python -m` calls a module `__main__`
        is_frozen = file.startswith(
            "<frozen "
        )  # added by the interpreter, such as exit()
        if not is_ours and not is_frozen and "importlib" not in file:
            line = f" ({file.rsplit('/', 1)[-1]}:{trace.tb_lineno})"
            if file.startswith(_STANDARD_LIBRARY) or "site-packages" in file:
                foreign = line
            else:
                users = line
        trace = trace.tb_next
    return users or (foreign if libraries else "")


def plural(
    count: int,
    noun: str,
    nouns: str = "",
) -> str:
    """Return a count with its noun: `plural(1, "sample")` is "1 sample", `plural(2, "sample")` is "2 samples"."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def note_line(note: str) -> str:
    """Prefix a note with `note:` for printing, unless it begins with `warning:`."""
    if note.startswith("warning: "):
        return note
    return f"note: {note}"
