"""Decides which code may run: only files that the command names, not files that another
user's run folder requests.

`assay score RUN` and `assay run --config RUN/run.json` read from `run.json` what to
run. If another user created the folder, a `Gate` is active while its settings are read.
Everything that starts code (user files, toolkits, workers, programs of scorers) calls
`check` first.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import UsageError

_gates: list["Gate"] = []
_inside = threading.local()


class UntrustedCode(UsageError):
    """Raised for code that another user's run folder requests and the command does not name."""


class Gate:
    """The code that the command line allows to run while the settings of another user's run folder are read."""

    def __init__(
        self,
        where: str,
        why: str,
        named: Iterable[Any] = (),
    ) -> None:
        self.where = where
        self.why = why
        texts = [*_texts(list(named))]
        self._words = frozenset(texts)
        self._files = frozenset(
            os.path.realpath(os.path.expanduser(_file_of(text))) for text in texts
        )

    def allows(self, path: str) -> bool:
        """Return True if the command names the file, or a folder that contains it."""
        real = os.path.realpath(os.path.expanduser(path))
        return any(
            real == file or (os.path.isdir(file) and real.startswith(file + os.sep))
            for file in self._files
        )

    def names(self, word: str) -> bool:
        """Return True if the command sets an option of this name."""
        return word in self._words

    def refusal(self, what: str, remedy: str) -> UntrustedCode:
        """Return the error for code or an option that another user's run folder
        requests without the command's permission.
        """
        return UntrustedCode(
            f"this run asks for {what}, and {self.why}",
            where=self.where,
            fix=f"{remedy}, or agree to what its run.json asks for: --trust_code",
        )


@contextmanager
def guarded(gate: Gate | None) -> Iterator[None]:
    """Activate a gate during the block. Without a gate, do nothing."""
    if gate is None:
        yield
        return
    _gates.append(gate)
    try:
        yield
    finally:
        _gates.remove(gate)


@contextmanager
def running() -> Iterator[None]:
    """Mark that allowed code is running. Files that it loads itself are not checked."""
    _inside.depth = getattr(_inside, "depth", 0) + 1
    try:
        yield
    finally:
        _inside.depth -= 1


def check(path: str | Path) -> None:
    """Raise if an active gate does not allow the file to run."""
    if not _gates or getattr(_inside, "depth", 0) > 0:
        return
    for gate in _gates:
        if not gate.allows(str(path)):
            raise gate.refusal(f"code, {path}", "name the file on the command line")


def check_option(name: str, value: object) -> None:
    """Raise if an option that can start code or send data was not given on the command line."""
    for gate in _gates if value else ():
        if not gate.names(name):
            raise gate.refusal(f"the option {name!r}", "give it on the command line")


def _file_of(text: str) -> str:
    """Return the file in a reference such as `FILE.py:name` or `worker/FILE.py:Class`: here `FILE.py`."""
    path, colon, _ = text.rpartition(":")
    if not (colon and path.endswith(".py")):
        path = text
    scheme, slash, rest = path.partition("/")
    if slash and scheme == "worker":
        return rest
    return path


def _texts(values: object) -> Iterator[str]:
    """Yield all texts in the settings of a command, including option names."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, os.PathLike):
        yield os.fspath(values)
    elif isinstance(values, Mapping):
        for name, value in values.items():
            yield str(name)
            yield from _texts(value)
    elif isinstance(values, Sequence):
        for value in values:
            yield from _texts(value)
