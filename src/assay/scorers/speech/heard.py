"""The error rate of a recogniser's transcript of the output's speech.

The run provides the recogniser under the role `asr`. Its own errors are part of the number, so voices can be
compared only with the same recogniser: name it with the number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Audio, Message, ModelError, Outcome, Output, Prompt, Score, Text
from ..answers import no_verdict
from ..given_models import GivenModels, ask_model
from .wer import ErrorRate, PooledRate, rate_details


@dataclass(frozen=True)
class HeardRate(PooledRate, GivenModels):
    """The error rate of a transcript by a recogniser."""

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
        """Return the error rate of a transcript of the output's speech, with its counts named after the metric."""
        speech = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        if speech is None:
            # Missing speech stays in the corpus as deletions: silence must not improve the rate.
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
