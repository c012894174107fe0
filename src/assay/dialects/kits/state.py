"""What surrounds a guest's code while it runs: consents, the data it is pointed at, files that are served, its judges.

A guest's methods call `load`, `prepare_tsv` or `build_judge` as plain functions, from threads of their own too, without
saying on whose behalf: the innermost surroundings answer for them.
"""

import os
import threading
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
    """Who asks it, and keeps the answers in the run's journal; `None` outside a run."""
    ask_judge: Callable[..., Any] | None = None
    """How a judge is asked so that the run keeps the answer; `None` outside a run."""
    work_folder: Path | None = None
    """Where prediction files go when the original command line was used; else they lie in the run folder."""
    label: str | None = None
    """What the original command line calls the model in file names."""
    served: dict[Path, Callable[[], Any]] = field(default_factory=dict)
    """Files by path that `load` makes from the run's journal."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def serve(self, path: Path, make: Callable[[], Any]) -> None:
        """From now on `load(path)` gives what `make` returns."""
        with self.lock:
            self.served[path.resolve()] = make

    def served_for(self, path: str | os.PathLike[str]) -> Callable[[], Any] | None:
        """What serves a path; `None` for an ordinary file."""
        if not self.served:
            return None
        with self.lock:
            return self.served.get(Path(path).expanduser().resolve())

    def unserve(self, path: str | os.PathLike[str]) -> None:
        """From now on `load(path)` reads the file."""
        with self.lock:
            self.served.pop(Path(path).expanduser().resolve(), None)

    @contextmanager
    def judged_by(self, judge: str | None, desk: "Desk") -> Iterator[None]:
        """While a user's `evaluate` runs, its judge is this one."""
        self.judge, self.desk = judge, desk
        try:
            yield
        finally:
            self.judge, self.desk = None, None
            desk.close()


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
