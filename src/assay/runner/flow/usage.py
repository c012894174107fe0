"""Usage: tokens, seconds and throughput of one cell, read from its own records."""

import time
from typing import Any

from ..counts.spending import cost_of
from .rows import CellRun


class UsageMeter:
    """Measures a cell from its creation on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._cpu = time.process_time()

    def read(self, running: CellRun) -> dict[str, Any]:
        """What the cell took; tokens where the backend counted them."""
        seconds = time.monotonic() - self._started
        asked = running.progress.done - running.progress.reused
        usage: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "cpu_seconds": round(time.process_time() - self._cpu, 3),
            "asked": asked,
            "reused": running.progress.reused,
            "samples_per_second": round(asked / seconds, 3) if seconds > 0 else None,
        }
        usage.update(running.tokens)
        usage.update(running.remarks.to_plain())
        cost = cost_of(usage, running.cell.run.model_args)
        return usage if cost is None else {**usage, "cost": cost}
