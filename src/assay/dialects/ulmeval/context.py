"""What surrounds a guest's code while it runs: consents, the data it is pointed at, files that are served, its judges.

A guest's methods call `load`, `prepare_tsv` or `build_judge` without saying on whose behalf; the innermost `around`
answers for them, in whatever thread they run.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a guest's code may rely on."""

    trust_pickle: bool = False
    allow_private_urls: bool = False
    data: Path | None = None
    """The table to read in place of the one a dataset class declares."""
    kept: Path | None = None
    """The table as the run at hand keeps it, for a machine that does not have the one a class declares."""
    tables: Mapping[Path, Callable[[], Any]] = field(default_factory=dict)
    """Paths that stand for tables of the run: `load` makes them from the store."""
    ask_judge: Callable[..., Any] | None = None
    """How a judge is asked so that the run keeps the answer; `None` outside a run."""


_stack: list[Surroundings] = [Surroundings()]


def current() -> Surroundings:
    """The innermost surroundings."""
    return _stack[-1]


@contextmanager
def around(surroundings: Surroundings) -> Iterator[None]:
    """Guest code inside sees `surroundings`."""
    _stack.append(surroundings)
    try:
        yield
    finally:
        _stack.remove(surroundings)


_promised: list[Path] = []


@contextmanager
def evaluating_in(folder: Path) -> Iterator[None]:
    """Evaluations inside leave their files in `folder`, where the original command has them."""
    _promised.append(folder)
    try:
        yield
    finally:
        _promised.remove(folder)


def promised_folder() -> Path | None:
    """The folder of the original command; `None` where a run was started otherwise."""
    return _promised[-1] if _promised else None
