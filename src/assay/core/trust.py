"""Whose code may run: every file that a command names, and none that only a foreign run folder asks for.

`assay score RUN` and `assay run --config RUN/run.json` read from `run.json` what to run. Where the folder was made by
somebody else, a `Gate` is up meanwhile: the places that start code (`userfiles`, guests, workers, programs of scorers)
ask `check` first.
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
    """Code that a foreign run folder asks for and the command does not name."""


class Gate:
    """What a command names itself, while it reads the settings of a foreign run."""

    def __init__(self, where: str, why: str, named: Iterable[Any] = ()) -> None:
        self.where, self.why = where, why
        texts = [*_texts(list(named))]
        self._words = frozenset(texts)
        self._files = frozenset(
            os.path.realpath(os.path.expanduser(_file_of(text))) for text in texts
        )

    def allows(self, path: str) -> bool:
        """Whether a file is one the command names, or lies in a folder that it names."""
        real = os.path.realpath(os.path.expanduser(path))
        return any(
            real == file or (os.path.isdir(file) and real.startswith(file + os.sep))
            for file in self._files
        )

    def names(self, word: str) -> bool:
        """Whether the command gives an option of this name."""
        return word in self._words

    def refusal(self, what: str, remedy: str) -> UntrustedCode:
        """The one line that says what a foreign run asks for."""
        return UntrustedCode(
            f"this run asks for {what}, and {self.why}",
            where=self.where,
            fix=f"{remedy}, or agree to what its run.json asks for: --trust_code",
        )


@contextmanager
def guarded(gate: Gate | None) -> Iterator[None]:
    """Keeps a gate up for the time of a block; without one nothing changes."""
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
    """For the time in which a file that may run does: what it loads itself is its own affair."""
    _inside.depth = getattr(_inside, "depth", 0) + 1
    try:
        yield
    finally:
        _inside.depth -= 1


def check(path: str | Path) -> None:
    """Raises where a file may not run."""
    if not _gates or getattr(_inside, "depth", 0) > 0:
        return
    for gate in _gates:
        if not gate.allows(str(path)):
            raise gate.refusal(f"code, {path}", "name the file on the command line")


def check_option(name: str, value: object) -> None:
    """Raises where an option that can start code, or send what it should not, was not given by the command."""
    for gate in _gates if value else ():
        if not gate.names(name):
            raise gate.refusal(f"the option {name!r}", "give it on the command line")


def _file_of(text: str) -> str:
    """The file of `FILE.py:name`, `worker/FILE.py:Class`, `role=FILE.py`, or a path as it is."""
    path, colon, _ = text.rpartition(":")
    path = path if colon and path.endswith(".py") else text
    scheme, slash, rest = path.partition("/")
    return rest if slash and scheme == "worker" else path


def _texts(values: Any) -> Iterator[str]:
    """All words among the settings of a command, the names of options included."""
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
