"""`--limit`: whether so few samples can tell what the run seems meant to tell."""

from collections.abc import Sequence

from ...summarizers.statistics import minimum_detectable_paired_binary, wilson
from ..options import RunOptions
from .cell import Cell
from .forecast import expected_requests

TRIAL = 10
"""So few samples are a trial of the set-up: nobody takes its number for one."""
WIDEST = 0.1
"""An interval of ± 10 points, or a difference of 10 points, is the least that is worth a run."""
DIFFER = 0.2
"""The share of samples on which two models are taken to differ."""
ENOUGH = {"value": 400, "difference": 630}
"""Samples that give a share to ± 5 points, and that show a difference of 5 points where models differ on 20 %."""


def small_limit_note(options: RunOptions, cells: Sequence[Cell]) -> str | None:
    """One line where `--limit` leaves too few samples: to give a value, or to tell models apart; else `None`."""
    if options.limit is None or options.until is not None or not cells:
        return None
    counts = [count // cell.task.epochs for cell in cells if (count := expected_requests(cell)) is not None]
    n = min(counts, default=0)
    compares = options.baseline is not None or len({cell.model_name for cell in cells}) > 1
    if n < 2 or (n <= TRIAL and not compares):
        return None
    if compares:
        shown = _smallest(n)
        if shown is not None and shown <= WIDEST:
            return None
        told = f"a difference of {shown * 100:.0f} points" if shown is not None else "no difference that is likely"
        enough = ENOUGH["difference"]
        return f"--limit {options.limit}: {n} samples show {told} between models; --limit {enough} shows 5"
    low, high = wilson(n // 2, n)
    if (high - low) / 2 <= WIDEST:
        return None
    width, enough = (high - low) * 50, ENOUGH["value"]
    return f"--limit {options.limit}: {n} samples give a value to ± {width:.0f} points; --limit {enough} to ± 5"


def _smallest(n: int) -> float | None:
    try:
        return minimum_detectable_paired_binary(n, DIFFER)
    except ValueError:
        return None
