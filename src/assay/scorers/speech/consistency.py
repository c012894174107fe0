"""Speech-text consistency: does a model that speaks say what it writes?

What a recogniser hears in the model's speech is compared with the model's own text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...core import EMPTY, Output, Requirement, Sample, Score, Spec, UsageError
from ...registry import scorers
from ..answers import no_answer
from .heard import heard_rate
from .speech_normalize import REQUIRES, check_normalizer
from .wer import CharacterErrorRate, ErrorRate, MixedErrorRate, WordErrorRate, pooled_rates

UNITS: dict[str, type[WordErrorRate] | type[CharacterErrorRate] | type[MixedErrorRate]] = {
    "words": WordErrorRate,
    "characters": CharacterErrorRate,
    "mixed": MixedErrorRate,
}


@scorers.register("speech_consistency")
@dataclass(frozen=True)
class SpeechConsistency:
    """Error rate of a transcript of the model's speech against the model's own text."""

    normalize: str = "none"
    unit: str = "words"
    """`words`, `characters` (Chinese) or `mixed`."""
    instruction: str = ""
    """What the recogniser is told beside the audio, where it needs telling."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    reads: ClassVar[tuple[str, ...]] = ("audio",)
    needs: ClassVar[tuple[str, ...]] = ("asr",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        check_normalizer(self.normalize, "speech_consistency")
        if self.unit not in UNITS:
            raise UsageError(f"scorer 'speech_consistency' has no unit {self.unit!r}", fix=f"one of {', '.join(UNITS)}")

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The libraries of the normalizer."""
        return REQUIRES.get(self.normalize, ())

    @property
    def metric(self) -> str:
        """The name that stands beside the number."""
        return f"consistency[{self._rate.metric}]"

    @property
    def summarizers(self) -> tuple[Spec, ...]:
        """As those of an error rate."""
        return pooled_rates(self.metric)

    @property
    def _rate(self) -> ErrorRate:
        return UNITS[self.unit](self.normalize)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if silence := no_answer(output):
            return silence
        if not output.text.strip():
            return Score.unparsed(reason="no text beside the audio")
        return await heard_rate(self._rate, (output.text,), output, self.models, self.instruction, self.metric)
