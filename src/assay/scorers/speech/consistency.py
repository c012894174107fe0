"""Speech-text consistency: whether a model that speaks says what it writes.

The scorer compares a recogniser's transcript of the model's speech with the model's own text.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import no_answer
from ..scorer_options import check_option
from .heard import HeardRate
from .wer import CharacterErrorRate, ErrorRate, MixedErrorRate, WordErrorRate

UNITS: dict[
    str, type[WordErrorRate] | type[CharacterErrorRate] | type[MixedErrorRate]
] = {
    "words": WordErrorRate,
    "characters": CharacterErrorRate,
    "mixed": MixedErrorRate,
}


@scorers.register("speech_consistency")
@dataclass(frozen=True)
class SpeechConsistency(HeardRate):
    """Error rate of a transcript of the model's speech against the model's own text."""

    unit: str = field(default="words", kw_only=True)
    """`words`, `characters` (Chinese) or `mixed`."""
    kind: ClassVar[str] = "speech_consistency"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self.kind, "unit", self.unit, UNITS)

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return f"consistency[{self._rate.metric}]"

    @property
    def _rate(self) -> ErrorRate:
        return UNITS[self.unit](self.normalize)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        silence = no_answer(output)
        if silence:
            return silence
        if not output.text.strip():
            return Score.unparsed(reason="no text beside the audio")
        return await self.heard(self._rate, (output.text,), output)
