"""The template of rows of several sorts: a question with options is asked as one, any other as it stands."""

from dataclasses import dataclass
from typing import Any

from ..core import Prompt, Sample
from ..registry import templates
from .choices import Choices
from .plain import Question


@templates.register("by_row")
@dataclass(frozen=True)
class ByRow:
    """Lettered options where the row has options; the question alone where it has none."""

    def __call__(self, sample: Sample) -> Prompt:
        return (_CHOICES if sample.choices else _QUESTION)(sample)

    def solution(self, sample: Sample) -> Any:
        """How a solved example ends."""
        return (_CHOICES if sample.choices else _QUESTION).solution(sample)


_CHOICES, _QUESTION = Choices(), Question()
