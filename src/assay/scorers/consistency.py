"""Speech-text consistency: does a model that speaks say what it writes?

The model's speech is transcribed by a recognizer the scorer is *given* under the role `asr`; its own text is the
reference. The number depends on the recognizer, so name it beside the number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core import EMPTY, Audio, Message, ModelError, Outcome, Output, Prompt, Sample, Score, Spec, Text, UsageError
from ..registry import scorers
from .answers import no_answer
from .speech_normalize import check_normalizer
from .wer import CharacterErrorRate, ErrorRate, MixedErrorRate, WordErrorRate, pooled_rates, rate_details

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
    """What the recognizer is told beside the sound, where it needs telling."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("asr",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        check_normalizer(self.normalize, "speech_consistency")
        if self.unit not in UNITS:
            raise UsageError(f"scorer 'speech_consistency' has no unit {self.unit!r}", fix=f"one of {', '.join(UNITS)}")

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
        speech = next((medium for medium in output.media if isinstance(medium, Audio)), None)
        if silence := no_answer(output):
            return silence
        if not output.text.strip():
            return Score.unparsed(reason="no text beside the audio")
        if speech is None:
            # What was written and not said stays in the corpus as deletions: silence must not improve the rate.
            unsaid, _ = self._rate.compare((output.text,), "")
            details = rate_details(unsaid, self.metric)
            return Score(unsaid.rate, Outcome.UNPARSED, details={**details, "reason": "no audio in the output"})
        try:
            transcript = await transcribe(self.models, speech, self.instruction)
        except ModelError as error:
            return Score(None, Outcome.JUDGE_ERROR, details={"reason": str(error)})
        edits, answer = self._rate.compare((output.text,), transcript)
        return Score(edits.rate, answer=answer, details=rate_details(edits, self.metric))


async def transcribe(models: Mapping[str, Any], speech: Audio, instruction: str = "") -> str:
    """What the recognizer hears; a `ModelError` where it fails."""
    if "asr" not in models:
        raise UsageError("no model is given for the role 'asr'", fix="name one with --judge asr=MODEL")
    parts = (speech, Text(instruction)) if instruction else (speech,)
    reply: Output = await models["asr"].ask(Prompt((Message("user", parts),)))
    if reply.error is not None:
        raise ModelError(f"{reply.error.kind}: {reply.error.message}", where="role 'asr'")
    return reply.text
