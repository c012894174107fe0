"""What surrounds a guest's code while it runs: consents, the data it is pointed at, files that are served, its judges.

A guest's methods call `load`, `prepare_tsv` or `build_judge` as plain functions, from threads of their own too, without
saying on whose behalf: the innermost surroundings answer for them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .judge_desk import Desk


@dataclass(eq=False)
class Surroundings:
    """What a guest's code may rely on."""

    trust_pickle: bool = False
    allow_private_urls: bool = False
    data: Path | None = None
    """The table to read in place of the one a dataset class declares."""
    kept: Path | None = None
    """The table as the run at hand keeps it, for a machine that does not have the one a class declares."""
    media_root: Path | None = None
    """A folder of the user's that rows may name files of, beside the data's own."""
    judge: str | None = None
    """The assay name of the judge the user gave; known while an `evaluate` runs."""
    desk: "Desk | None" = None
    """Who asks judges, and keeps the answers in the run's journal; `None` outside a run."""
    work_folder: Path | None = None
    """Where prediction files go when the original command line was used; else they lie in the run folder."""
    label: str | None = None
    """What the original command line calls the model in file names."""
    served: dict[Path, Callable[[], Any]] = field(default_factory=dict)
    """Files by path that `load` makes from the run's journal."""

    def served_for(self, path: str | os.PathLike[str]) -> Callable[[], Any] | None:
        """What serves a path; `None` for an ordinary file."""
        return (
            self.served.get(Path(path).expanduser().resolve()) if self.served else None
        )

    def unserve(self, path: str | os.PathLike[str]) -> None:
        """From now on `load(path)` reads the file."""
        self.served.pop(Path(path).expanduser().resolve(), None)


_stack: list[Surroundings] = [Surroundings()]


def current() -> Surroundings:
    """The innermost surroundings."""
    return _stack[-1]


def of_process() -> Surroundings:
    """The outermost surroundings, which the process sets for itself."""
    return _stack[0]


@contextmanager
def around(surroundings: Surroundings) -> Iterator[None]:
    """Guest code inside sees `surroundings`."""
    _stack.append(surroundings)
    try:
        yield
    finally:
        _stack.remove(surroundings)


@contextmanager
def working_in(folder: Path, label: str | None = None) -> Iterator[None]:
    """Evaluations inside leave their files in `folder`, where the original command has them."""
    process = of_process()
    process.work_folder, process.label = folder, label
    try:
        yield
    finally:
        process.work_folder, process.label = None, None
