"""The context of a toolkit's code while it runs: permissions, data, served files, judges, and whose rules apply.

A toolkit's methods call `load`, `prepare_tsv` or `build_judge` as plain functions, also from their own threads,
without naming the caller. The innermost context applies to them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol import is_upstream

if TYPE_CHECKING:
    from .judging import JudgePool


@dataclass(eq=False)
class Surroundings:
    """Data, judges and files that a toolkit's code uses while it runs."""

    trust_pickle: bool = False
    allow_private_urls: bool = False
    data: Path | None = None
    """The table to read instead of the one that a dataset class declares."""
    copied_table: Path | None = None
    """The current run's copy of the table, for a machine without the table that a class declares."""
    media_root: Path | None = None
    """A folder of the user with files that rows may name, in addition to the data's own folder."""
    judge: str | None = None
    """The assay name of the judge that the user gave; set while an `evaluate` runs."""
    judge_pool: "JudgePool | None" = None
    """Asks judges and stores their answers in the run's journal; `None` outside a run."""
    work_folder: Path | None = None
    """The folder for prediction files if the original command line was used; otherwise they are in the run folder."""
    label: str | None = None
    """The model's name in file names of the original command line."""
    served: dict[Path, Callable[[], Any]] = field(default_factory=dict)
    """Files by path that `load` reads from the run's journal."""

    def served_for(self, path: str | os.PathLike[str]) -> Callable[[], Any] | None:
        """Return the function that serves a path, or `None` for an ordinary file."""
        if self.served:
            return self.served.get(Path(path).expanduser().resolve())
        return None

    def unserve(self, path: str | os.PathLike[str]) -> None:
        """Make `load(path)` read the file itself from now on."""
        self.served.pop(Path(path).expanduser().resolve(), None)


_stack: list[Surroundings] = [Surroundings()]


def current() -> Surroundings:
    """Return the innermost context."""
    return _stack[-1]


def of_process() -> Surroundings:
    """Return the outermost context, which the process sets for itself."""
    return _stack[0]


@contextmanager
def around(surroundings: Surroundings) -> Iterator[None]:
    """Use `surroundings` as the context inside the block."""
    _stack.append(surroundings)
    try:
        yield
    finally:
        _stack.remove(surroundings)


@contextmanager
def working_in(
    folder: Path,
    label: str | None = None,
) -> Iterator[None]:
    """Let evaluations inside the block write their files to `folder`, as the original command does."""
    process = of_process()
    process.work_folder, process.label = folder, label
    try:
        yield
    finally:
        process.work_folder, process.label = None, None


KITS = ("vlmeval", "ulmeval")


def as_upstream() -> bool:
    """Return True if upstream's rules were chosen for either toolkit."""
    return any(is_upstream(kit) for kit in KITS)
