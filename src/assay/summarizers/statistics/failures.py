"""What failed samples could have done to a mean: both bounds, and when a row must say so."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SHOW_BOUNDS_ABOVE = 0.01
FLAG_ABOVE = 0.05


@dataclass(frozen=True, slots=True)
class FailureBounds:
    """The mean over all expected samples if every failure had been wrong, and if every one had been right."""

    worst: float
    best: float
    share: float
    """Failures among all expected samples."""
    shown: bool
    """More than 1 % failed: the row carries both bounds."""
    flagged: bool
    """More than 5 % failed: the row itself is in doubt."""


def failure_bounds(
    values: Sequence[float], failures: int, *, minimum: float = 0.0, maximum: float = 1.0
) -> FailureBounds:
    """The bounds left open by `failures` samples that have no value, on a score from minimum to maximum."""
    if failures < 0:
        raise ValueError(f"failures cannot be negative, got {failures}")
    total = len(values) + failures
    if not total:
        raise ValueError("no samples: there is nothing to bound")
    known = math.fsum(values)
    share = failures / total
    return FailureBounds(
        worst=(known + failures * minimum) / total,
        best=(known + failures * maximum) / total,
        share=share,
        shown=share > SHOW_BOUNDS_ABOVE,
        flagged=share > FLAG_ABOVE,
    )
