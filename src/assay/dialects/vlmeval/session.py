"""What a run tells the façade: what the user consented to, the judge, and the prediction files it serves.

User code calls `load(eval_file)` and `build_judge()` as plain functions, from threads of its own too; so what they need
is kept here, in one object for the process.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...runner.flow.desk import Desk


@dataclass
class Session:
    """The state of the run at hand."""

    trust_pickle: bool = False
    allow_private_urls: bool = False
    media_root: Path | None = None
    """A folder of the user's that rows may name files of, beside the data's own."""
    judge: str | None = None
    """The assay name of the judge the user gave; known while an `evaluate` runs."""
    desk: Desk | None = None
    """Who asks it, and keeps the answers in the run's journal; `None` outside a run."""
    work_folder: Path | None = None
    """Where prediction files go when the original command line was used; else they lie in the run folder."""
    label: str | None = None
    """What the original command line calls the model in file names."""
    served: dict[Path, Callable[[], Any]] = field(default_factory=dict)
    """Prediction files by path: what `load` gives back for them comes from the run's journal, not from the file."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def serve(self, path: Path, make: Callable[[], Any]) -> None:
        """From now on `load(path)` gives what `make` returns."""
        with self.lock:
            self.served[path.resolve()] = make

    def served_for(self, path: str | Path) -> Callable[[], Any] | None:
        """What serves a path; `None` for an ordinary file."""
        with self.lock:
            return self.served.get(Path(path).expanduser().resolve())

    @contextmanager
    def judged_by(self, judge: str | None, desk: Desk) -> Iterator[None]:
        """While a user's `evaluate` runs, its judge is this one."""
        self.judge, self.desk = judge, desk
        try:
            yield
        finally:
            self.judge, self.desk = None, None
            desk.close()


session = Session()
