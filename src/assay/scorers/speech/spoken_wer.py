"""Spoken WER: is synthetic speech understood? A recogniser's transcript is compared with the target."""

from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, no_target
from .heard import HeardRate
from .wer import WordErrorRate


@scorers.register("spoken_wer")
@dataclass(frozen=True)
class SpokenWer(HeardRate):
    """Word error rate of a transcript of the output's speech against the target."""

    kind: ClassVar[str] = "spoken_wer"

    async def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        return await self.heard(WordErrorRate(self.normalize), references, output)
