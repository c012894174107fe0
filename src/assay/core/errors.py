"""Errors: what happened, where, and how to fix it, in one line.

Every fault a user can meet is an `AssayError`. The command line prints its one line and leaves with its `exit_code`;
a traceback appears only with `--debug`. Authors of extensions raise plain Python errors: `blame` adds who and where.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

SHOWN_CHARACTERS = 60
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
# Escapes, bidirectional overrides and the like: what a row or a model wrote must not steer a terminal.
_CONTROLS = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def shorten(value: object, limit: int = SHOWN_CHARACTERS) -> str:
    """`repr` of a value on one line, at most `limit` characters, for use inside a message."""
    text = repr(value[: limit * 2] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name most like `name`, forgiving case and `-`/`_`; `None` if nothing is close."""
    folded = {_fold(k): k for k in names}
    close = difflib.get_close_matches(_fold(name), list(folded), n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def suggest(
    name: str, names: Iterable[str], otherwise: str, cutoff: float = 0.6
) -> str:
    """How to fix an unknown name: the nearest known one; where none is close, `otherwise` and all of them."""
    close = nearest(name, names, cutoff)
    return f"did you mean {close!r}?" if close else f"{otherwise} {', '.join(names)}"


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")


class AssayError(Exception):
    """A fault with its place and its remedy; `str()` is the one line that is shown."""

    exit_code = 1

    def __init__(
        self, what: str, *, where: str | None = None, fix: str | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        line = f"{line}; fix: {self.fix}" if self.fix else line
        return _CONTROLS.sub("", " ".join(line.split()))


class UsageError(AssayError):
    """Wrong settings: nothing was started."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that no registry knows, with the nearest one that it does."""

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
        fix = f"did you mean {close!r}? {listing}" if close else listing
        super().__init__(f"unknown {kind} {name!r}", where=where, fix=fix)
        self.kind, self.name, self.nearest = kind, name, close


class UnknownOption(UsageError):
    """An option that a component does not have."""

    def __init__(
        self,
        what: str,
        option: str,
        *,
        where: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(f"{what} has no option {option!r}", where=where, fix=fix)
        self.option = option


class NameTaken(UsageError):
    """Two different things were registered under one name."""


class MissingExtra(UsageError):
    """A library that is not part of the base install is needed."""

    def __init__(self, feature: str, pip: str, *, where: str | None = None) -> None:
        # Unquoted, zsh takes the brackets of an extra for a pattern and finds no file of that name.
        typed = re.sub(r"(?<![\w'\"])[\w-]+\[[\w,-]+\]", r"'\g<0>'", pip)
        super().__init__(
            f"{feature} is not installed", where=where, fix=f"pip install {typed}"
        )
        self.pip = pip


class ModalityMismatch(UsageError):
    """A task sends, or expects, what the model cannot take or make."""


class PlanError(UsageError):
    """All faults found before a model was loaded, one line each."""

    def __init__(self, faults: Sequence[AssayError]) -> None:
        super().__init__(f"{len(faults)} faults found before the run started")
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


def raise_all(faults: Iterable[AssayError]) -> None:
    """Raises the faults, each said once; nothing where there are none."""
    unique = list({str(fault): fault for fault in faults}.values())
    if unique:
        raise unique[0] if len(unique) == 1 else PlanError(unique)


class DataError(AssayError):
    """A row or a file that cannot be used; the place is `file:row:column`."""

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
        place = ":".join(str(p) for p in (file, row, column) if p is not None)
        described = what if got is None else f"{what}, got {shorten(got)}"
        super().__init__(described, where=place or None, fix=fix)
        self.file, self.row, self.column = file, row, column


class ComponentError(AssayError):
    """A template, model, scorer or summarizer failed; names the component and the sample."""


class TemplateError(ComponentError):
    """A prompt could not be built from a sample."""


class UnknownColumn(TemplateError):
    """A template names what the row does not have."""


class ForbiddenTemplate(TemplateError):
    """A template wants what no template may have, whatever the row."""


class UnfitTemplate(TemplateError):
    """A template does not show what the way of asking needs, whatever the row."""


class ModelError(ComponentError):
    """A model could not answer: infrastructure, never a wrong answer."""


class ScorerError(ComponentError):
    """A scorer raised instead of returning a score."""


class SummarizerError(ComponentError):
    """A summarizer raised instead of returning numbers."""


class ErrorBudgetExceeded(AssayError):
    """Too many infrastructure errors: the run was stopped, what was answered is kept."""


class StoreError(AssayError):
    """The run folder cannot be read or written."""


class FolderInUse(StoreError):
    """Another process writes to this run folder."""

    exit_code = 75


class DiskFull(StoreError):
    """The disk took less than was written to it; the journal is still whole."""

    exit_code = 74


@contextmanager
def blame(
    kind: type[ComponentError], component: str, sample: str | None = None
) -> Iterator[None]:
    """Turns any error raised inside into `kind`, naming the component and the sample."""
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
    """`error` as a `kind` that names the component, the sample and the user's own line."""
    place = component if sample is None else f"{component}, sample {shorten(sample)}"
    what = (
        f"called sys.exit({error.code!r})"
        if isinstance(error, SystemExit)
        else f"{type(error).__name__}: {error}"
    )
    return kind(f"{what}{users_line(error)}", where=place)


def users_line(error: BaseException, *, libraries: bool = True) -> str:
    """` (file.py:12)` of the innermost frame of the user's own code, else of a library; empty when there is none."""
    users = foreign = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        module = trace.tb_frame.f_globals.get("__name__", "")
        is_ours = str(module).startswith("assay.") or file.startswith(
            _PACKAGE
        )  # `python -m` calls a module `__main__`
        if not is_ours and "importlib" not in file:
            line = f" ({file.rsplit('/', 1)[-1]}:{trace.tb_lineno})"
            if file.startswith(_STANDARD_LIBRARY) or "site-packages" in file:
                foreign = line
            else:
                users = line
        trace = trace.tb_next
    return users or (foreign if libraries else "")
