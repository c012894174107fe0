"""Transcribe speech in the output with a recogniser, and compare the transcript with the target or the model's text.

The run provides the recogniser under the role `asr`. The error rate includes the
recogniser's errors, so voices are comparable only with the same recogniser: report
its name with the rate.

Speech-text consistency measures whether a model says what it writes. It compares a
recogniser's transcript of the model's speech with the model's own text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...core import (
    Audio,
    Message,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    Text,
)
from ...registry import scorers
from ..answers import accepted, no_answer, no_target, no_verdict
from ..given_models import GivenModels, ask_model
from ..scorer_options import check_option
from .wer import (
    CharacterErrorRate,
    ErrorRate,
    MixedErrorRate,
    PooledRate,
    WordErrorRate,
    rate_details,
)


@dataclass(frozen=True)
class HeardRate(PooledRate, GivenModels):
    """Base of scorers that compute the error rate of a recogniser's transcript."""

    normalize: str = "none"
    instruction: str = ""
    """An instruction to the recogniser, sent with the audio, if it needs one."""
    reads: ClassVar[tuple[str, ...]] = ("audio",)
    needs: ClassVar[tuple[str, ...]] = ("asr",)

    async def heard(
        self,
        rate: ErrorRate,
        references: Sequence[str],
        output: Output,
    ) -> Score:
        """Transcribe the output's speech, and return the error rate of the transcript.

        The counts of edits are stored in the details, under the name of the metric.
        """
        speech = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        if speech is None:
            # Missing speech is counted as deletions in the corpus: silence must not improve the rate.
            unsaid, _ = rate.compare(references, "")
            details = rate_details(unsaid, self.metric)
            return Score(
                unsaid.rate,
                Outcome.UNPARSED,
                details={**details, "reason": "no audio in the output"},
            )
        try:
            transcript = await transcribe(self.models, speech, self.instruction)
        except ModelError as error:
            return no_verdict(str(error))
        edits, answer = rate.compare(references, transcript)
        return Score(
            edits.rate,
            answer=answer,
            details=rate_details(edits, self.metric),
        )


async def transcribe(
    models: Mapping[str, Any],
    speech: Audio,
    instruction: str = "",
) -> str:
    """Return the recogniser's transcript. Raise `ModelError` if it fails."""
    parts = (speech, Text(instruction)) if instruction else (speech,)
    prompt = Prompt((Message("user", parts),))
    reply = await ask_model(models, "asr", prompt)
    return reply.text


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
    """The tokens to count: `words`, `characters` (for Chinese) or `mixed`."""
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
