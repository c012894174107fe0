"""`saved_number`: a number that a specialist assigned to an output (VQAScore, a probability), checked and returned."""

import math
from dataclasses import dataclass
from typing import ClassVar

from ..core import Output, Sample, Score
from ..registry import scorers
from .answers import no_verdict
from .saved_media import saved


@scorers.register("saved_number")
@dataclass(frozen=True)
class SavedNumber:
    """The saved entry, if it is a number from `low` to `high`."""

    entry: str = "score"
    low: float = 0.0
    high: float = 1.0
    reads: ClassVar[tuple[str, ...]] = ()

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of the number."""
        return self.low, self.high

    def __call__(self, sample: Sample, output: Output) -> Score:
        number = saved(sample, output, self.entry)
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not math.isfinite(number)
        ):
            return no_verdict(f"no number was saved as {self.entry!r}")
        if not self.low <= number <= self.high:
            reason = (
                f"{self.entry!r} is {number:g}, outside {self.low:g} … {self.high:g}"
            )
            return no_verdict(reason)
        return Score(float(number))
