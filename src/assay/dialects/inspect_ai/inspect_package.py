"""Import the installed packages inspect_ai and inspect_evals when a task is loaded."""

import contextlib
import importlib
import importlib.metadata
import os
from collections.abc import Iterator
from types import ModuleType

from ...core import UsageError, library, shorten

EXTRA = "assay[inspect]"
PROVIDER = "assay"
LOADERS = ("ConnectionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError")
"""Exceptions that inspect_ai's dataset loaders raise if a download fails, by name."""


def module(name: str) -> ModuleType:
    """Return a module of inspect_ai by name. If inspect_ai is missing, raise with the command to install it."""
    return library(f"inspect_ai.{name}" if name else "inspect_ai", "inspect_ai", EXTRA)


def version() -> str:
    """Return the version of the installed inspect_ai."""
    return importlib.metadata.version("inspect_ai")


def need_evals() -> None:
    """Raise if inspect_evals is missing, with the command to install it."""
    module("")
    library("inspect_evals", "inspect_evals", "inspect_evals")


@contextlib.contextmanager
def loading(reference: str) -> Iterator[None]:
    """Convert an error while a task is loaded to a one-line error with a fix.

    Missing packages and failed downloads have specific messages.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the task needs the package {error.name!r}",
            where=reference,
            fix=f"pip install {str(error.name).partition('.')[0]}",
        ) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {shorten(str(error), 160)}"
        if _is_unreachable(error):
            raise UsageError(
                f"the task's data cannot be fetched: {reason}",
                where=reference,
                fix="fetch it once where there is a network, and copy the cache folder ($HF_HOME, or the one that"
                " inspect_evals names)",
            ) from error
        raise UsageError(
            f"the task cannot be loaded: {reason}",
            where=reference,
            fix="`inspect eval` of the same task says more",
        ) from error


def _is_unreachable(error: BaseException | None) -> bool:
    while error is not None:
        names = [kind.__name__ for kind in type(error).__mro__]
        if any(name in names for name in LOADERS):
            return True
        if "Name or service not known" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def quiet() -> None:
    """Turn off inspect_ai's progress display and its search for newer versions."""
    os.environ.setdefault("INSPECT_LOG_LEVEL", "critical")
    os.environ.setdefault("INSPECT_DISPLAY", "none")
