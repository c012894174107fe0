"""The scorer of rows of several sorts: the chosen option where the row has options, else a target in the answer."""

from dataclasses import dataclass, replace
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..text.match import Includes
from .choice import Choice

_CHOICE, _INCLUDES = Choice(), Includes()


@scorers.register("choice_or_match")
@dataclass(frozen=True)
class ChoiceOrMatch:
    """As `choice` for rows with options and as `includes` for the others; `details` says which of the two it was."""

    reads: ClassVar[tuple[str, ...]] = ("text", "target")

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = (_CHOICE if sample.choices else _INCLUDES)(sample, output)
        return replace(
            score,
            details={
                **score.details,
                "scored_as": "choice" if sample.choices else "includes",
            },
        )
