"""Axes of charts: the range of numbers, its ticks, and the pixels they have."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Ends = tuple[float, float]
Numbers = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps numbers from `low` to `high` to pixels from `start` to `end`. A vertical axis starts at the bottom."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        share = (value - self.low) / (self.high - self.low or 1)
        return self.start + share * (self.end - self.start)


def domain_of(
    values: Sequence[float | None],
    intervals: Sequence[Ends | None] = (),
    scale: Ends | None = None,
) -> Ends:
    """Return the range of an axis: the scale if it covers all numbers, 0 to 1 for shares, else with a small margin."""
    numbers = finite(values)
    for ends in intervals:
        numbers += finite(ends or ())
    if not numbers:
        return 0.0, 1.0
    low = min(numbers)
    high = max(numbers)
    is_closed = scale is not None and all(map(math.isfinite, scale))
    if scale is not None and is_closed and scale[0] <= low and high <= scale[1]:
        return scale
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    margin = (high - low or abs(high) or 1.0) * 0.08
    bottom = low - margin
    if low >= 0:
        bottom = max(0.0, bottom)
    return bottom, high + margin


def finite(values: Numbers) -> list[float]:
    """Return the values that are finite numbers."""
    return [value for value in values if value is not None and math.isfinite(value)]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers that divide a range."""
    if not high > low:
        return [low]
    step = _tick_step(high - low, most)
    marks = []
    mark = math.ceil(low / step - 1e-9) * step
    while mark <= high + step * 1e-9:
        marks.append(float(f"{mark:.12g}"))
        mark += step
    return marks


def _tick_step(length: float, most: int) -> float:
    """Return the smallest step of 1, 2, 5 or 10 times a power of ten that gives at most `most` ticks."""
    rough = length / most
    power = 10.0 ** math.floor(math.log10(rough))
    for factor in (1, 2, 5, 10):
        step = factor * power
        if length / step <= most:
            return step
    return rough


def short(value: float) -> str:
    """Return a number for an axis."""
    if abs(value) >= 10000:
        thousands = float(f"{value / 1000:.3g}")
        return f"{thousands:g}k"
    rounded = float(f"{value:.4g}")
    return f"{rounded:g}"


def decades(low: float, high: float) -> list[float]:
    """Return the logarithms of 1, 2 and 5 times powers of ten in a range, or of the powers alone if these are many."""
    steps = [0.0]
    if high - low <= 2.5:
        steps.append(math.log10(2))
        steps.append(math.log10(5))
    first = math.floor(low)
    last = math.ceil(high)
    marks = []
    for power in range(first, last + 1):
        for step in steps:
            mark = power + step
            if low <= mark <= high:
                marks.append(mark)
    if len(marks) > 1:
        return marks
    return [low, high]
