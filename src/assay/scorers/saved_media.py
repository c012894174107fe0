"""Read replies of specialists that were saved earlier, such as detections, similarities or recognised text.

A reply is stored in the output's own JSON, in the output's details, or in a column of
the row. So a specialist can run earlier or on another machine. This module also has the
scorer `saved_number`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..core import Output, Sample, Score
from ..registry import scorers
from .answers import no_verdict


def saved(
    sample: Sample,
    output: Output,
    name: str,
) -> object:
    """Return the saved reply `name` from the output's JSON, its details or the row.

    If none of them contains this name, return all of the output's JSON.
    """
    answer = output.json
    if isinstance(answer, Mapping) and name in answer:
        return answer[name]
    for source in (output.details, sample.fields):
        if source.get(name) is not None:
            return read_json(source[name])
    return answer


def read_json(value: object) -> object:
    """Return the value of a table cell. A text that is JSON is parsed; any other text is returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


@scorers.register("saved_number")
@dataclass(frozen=True)
class SavedNumber:
    """The score is the saved reply itself: a number from `low` to `high`."""

    entry: str = "score"
    low: float = 0.0
    high: float = 1.0
    reads: ClassVar[tuple[str, ...]] = ()

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest accepted value: `low` and `high`."""
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
