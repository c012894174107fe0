"""What a run tells the façade: what the user consented to, the judge, and the prediction files it serves.

User code calls `load(eval_file)` and `build_judge()` as plain functions, from threads of its own too; so what they need
is kept here, in one object for the process.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import EMPTY


@dataclass
class Session:
    """The state of the run at hand."""

    trust_pickle: bool = False
    allow_private_urls: bool = False
    judge: str | None = None
    """The assay name of the judge the user gave."""
    judge_args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    work_folder: Path | None = None
    """Where prediction files go when the original command line was used; else they lie in the run folder."""
    judge_file: Path | None = None
    """Where the judge's answers are kept, so that none is asked for twice."""
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


session = Session()
