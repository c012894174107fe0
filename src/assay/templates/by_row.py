"""A template for rows of several kinds: choice questions with lettered options, other questions unchanged."""

from dataclasses import dataclass

from ..core import Prompt, Sample
from ..registry import templates
from .choices import Choices
from .plain import Question


@templates.register("by_row")
@dataclass(frozen=True)
class ByRow:
    """Lettered options if the row has options, else the question alone."""

    def __call__(self, sample: Sample) -> Prompt:
        return (_CHOICES if sample.choices else _QUESTION)(sample)

    def solution(self, sample: Sample) -> object:
        """Return the end of a solved example."""
        return (_CHOICES if sample.choices else _QUESTION).solution(sample)


_CHOICES, _QUESTION = Choices(), Question()
