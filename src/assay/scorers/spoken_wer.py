"""Spoken WER: is synthetic speech understood? What a recogniser hears in it, against what was to be said.

The recogniser is *given* under the role `asr`. Its own errors are in the number, so the number compares voices only
under the same recogniser: name it beside the number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core import EMPTY, Audio, ModelError, Outcome, Output, Sample, Score, Spec
from ..registry import scorers
from .answers import accepted, no_target
from .consistency import transcribe
from .speech_normalize import check_normalizer
from .wer import WordErrorRate, pooled_rates, rate_details


@scorers.register("spoken_wer")
@dataclass(frozen=True)
class SpokenWer:
    """Word error rate of a transcript of the output's speech against the target."""

    normalize: str = "none"
    instruction: str = ""
    """What the recogniser is told beside the sound, where it needs telling."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("asr",)
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        check_normalizer(self.normalize, "spoken_wer")

    @property
    def metric(self) -> str:
        """The name that stands beside the number."""
        return f"spoken_wer[{self.normalize}]"

    @property
    def summarizers(self) -> tuple[Spec, ...]:
        """As those of an error rate."""
        return pooled_rates(self.metric)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        rate = WordErrorRate(self.normalize)
        speech = next((medium for medium in output.media if isinstance(medium, Audio)), None)
        if speech is None:
            # What was not said stays in the corpus as deletions: silence must not improve the rate.
            unsaid, _ = rate.compare(references, "")
            details = rate_details(unsaid, self.metric)
            return Score(unsaid.rate, Outcome.UNPARSED, details={**details, "reason": "no audio in the output"})
        try:
            transcript = await transcribe(self.models, speech, self.instruction)
        except ModelError as error:
            return Score(None, Outcome.JUDGE_ERROR, details={"reason": str(error)})
        edits, answer = rate.compare(references, transcript)
        return Score(edits.rate, answer=answer, details=rate_details(edits, self.metric))
