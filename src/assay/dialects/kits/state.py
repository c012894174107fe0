"""Settings with which a toolkit's code runs: permissions, data, files that `load` replaces, and judges.

A toolkit's methods call `load`, `prepare_tsv` or `build_judge` as plain functions, also
from their own threads, so the caller is unknown. The innermost settings on a stack
apply to such calls.
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
    """The permissions, data, judges and files that apply while a toolkit's code runs."""

    trust_pickle: bool = False
    allow_private_urls: bool = False
    data: Path | None = None
    """A table that is read instead of the one that the dataset class declares."""
    copied_table: Path | None = None
    """The run's copy of the dataset's table, read if this machine does not have the original."""
    media_root: Path | None = None
    """A user's additional folder with media. Rows may refer to files in it or in the data's folder."""
    judge: str | None = None
    """The judge that the user chose, by its name in assay. Set only while an `evaluate` runs."""
    judge_pool: "JudgePool | None" = None
    """The object that calls judges and stores their answers in the run's journal; `None` outside a run."""
    work_folder: Path | None = None
    """The folder for prediction files if the toolkit's own command is used; otherwise they are in the run folder."""
    label: str | None = None
    """The model's name in file names if the toolkit's own command is used."""
    served: dict[Path, Callable[[], Any]] = field(default_factory=dict)
    """Functions that `load` calls instead of reading a file, by file path. They return rows of the run's journal."""

    def served_for(self, path: str | os.PathLike[str]) -> Callable[[], Any] | None:
        """Return the function that `load` calls instead of reading a file, or `None` for an ordinary file."""
        if self.served:
            return self.served.get(Path(path).expanduser().resolve())
        return None

    def unserve(self, path: str | os.PathLike[str]) -> None:
        """Stop serving a path from memory, so that `load(path)` reads the file again."""
        self.served.pop(Path(path).expanduser().resolve(), None)


_stack: list[Surroundings] = [Surroundings()]


def current() -> Surroundings:
    """Return the innermost settings, which apply now."""
    return _stack[-1]


def of_process() -> Surroundings:
    """Return the settings of the process, which apply where no `around` block is active."""
    return _stack[0]


@contextmanager
def around(surroundings: Surroundings) -> Iterator[None]:
    """Apply `surroundings` inside the block."""
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
    """Write the files of evaluations inside the block to `folder`, as the toolkit's own command does."""
    process = of_process()
    process.work_folder, process.label = folder, label
    try:
        yield
    finally:
        process.work_folder, process.label = None, None


KITS = ("vlmeval", "ulmeval")


def as_upstream() -> bool:
    """Return True if VLMEvalKit's or ULMEvalKit's rules were chosen instead of assay's."""
    return any(is_upstream(kit) for kit in KITS)
