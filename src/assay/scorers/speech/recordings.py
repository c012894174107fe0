"""Compare two recordings: the signal-to-distortion ratio, and the similarity of the voices.

Speaker similarity is the cosine between the embeddings of two voices. The run provides
the encoder under the role `speaker`, which replies to a clip with its embedding as
JSON. Values from different encoders are not comparable, so the encoder's name is part
of the metric: `sim[wavlm-large-sv]`.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Audio, Message, ModelError, Output, Prompt, Sample, Score, Spec
from ...media import decode_audio
from ...registry import scorers
from ..answers import data_error, no_target, no_verdict
from ..given_models import GivenModels, ask_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_DECIBELS = 100.0
"""The highest SI-SDR that is reported. A perfect copy would be infinite, and 16-bit audio cannot reach this value."""


@scorers.register("si_sdr")
@dataclass(frozen=True)
class SiSdr:
    """SI-SDR of the output's audio against the target's, in dB; both must have the same rate and length."""

    reads: ClassVar[tuple[str, ...]] = ("audio",)
    bounds: ClassVar[tuple[float, float] | None] = None
    blocking: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        reference = next(
            (item for item in sample.targets if isinstance(item, Audio)), None
        )
        if reference is None:
            return no_target(sample, "target audio")
        speech = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        if speech is None:
            return Score.unparsed(reason="no audio in the output")
        expected_audio = decode_audio(reference, channels=1)
        audio = decode_audio(speech, channels=1)
        if expected_audio.rate != audio.rate or len(expected_audio.samples) != len(
            audio.samples
        ):
            expected, got = (
                f"{len(item.samples)} frames at {item.rate} Hz"
                for item in (expected_audio, audio)
            )
            reason = f"the reference has {expected}, the output {got}"
            return Score.unparsed(reason=reason)
        value = si_sdr(expected_audio.samples, audio.samples)
        if math.isnan(value):
            if not expected_audio.samples.any():
                return data_error("the reference is silent")
            return Score.unparsed(reason="the output is silent")
        conversions = list(expected_audio.conversions + audio.conversions)
        return Score(
            max(-MOST_DECIBELS, min(MOST_DECIBELS, value)),
            details={"conversions": conversions},
        )


def si_sdr(
    reference: "NDArray[np.floating[Any]]",
    estimate: "NDArray[np.floating[Any]]",
) -> float:
    """Return 10 log10(|a r|² / |a r - e|²) for reference r, estimate e and the best factor a.

    Return NaN if either signal is silent. The mean is not subtracted.
    """
    import numpy as np

    target = np.asarray(reference, np.float64)
    signal_estimate = np.asarray(estimate, np.float64)
    energy = float(target @ target)
    if energy:
        scale = float(target @ signal_estimate) / energy
    else:
        scale = 0.0
    part = scale * target
    signal = float(part @ part)
    noise = float((part - signal_estimate) @ (part - signal_estimate))
    if not energy or not float(signal_estimate @ signal_estimate):
        return math.nan
    if noise == 0:
        return math.inf
    if signal:
        return 10 * math.log10(signal / noise)
    return -math.inf


@scorers.register("speaker_similarity")
@dataclass(frozen=True)
class SpeakerSimilarity(GivenModels):
    """Cosine similarity of the voices in the output and in the reference recording, -1 to 1."""

    encoder: str
    """The name of the encoder and its checkpoint, which becomes part of the metric's name."""
    reference: str = "target"
    """The source of the voice to match: `target`, `input` (the first audio clip of the question), or a column."""
    reads: ClassVar[tuple[str, ...]] = ("audio",)
    needs: ClassVar[tuple[str, ...]] = ("speaker",)
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return f"sim[{self.encoder}]"

    @property
    def summarizers(self) -> tuple[Spec, ...]:
        """The summarizer that averages the cosines. The average is reported under the
        metric's name, which contains the encoder.
        """
        return (
            Spec(
                "pooled",
                {"numerator": "cosine", "denominator": "pairs", "metric": self.metric},
            ),
        )

    async def __call__(self, sample: Sample, output: Output) -> Score:
        reference = self._reference(sample)
        if reference is None:
            return no_target(sample, f"audio in {self.reference!r}")
        speech = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        if speech is None:
            return Score.unparsed(
                reason="no audio in the output",
                cosine=0.0,
                pairs=1,
            )
        try:
            expected, actual = await asyncio.gather(
                self._embed(reference), self._embed(speech)
            )
            value = cosine(expected, actual)
        except ModelError as error:
            return no_verdict(str(error))
        return Score(
            value, details={"cosine": value, "pairs": 1, "metric": self.metric}
        )

    def _reference(self, sample: Sample) -> Audio | None:
        """Return the recording with the voice to match, or None."""
        if self.reference == "input":
            candidates: Sequence[Any] = sample.media
        elif self.reference == "target":
            candidates = sample.targets
        else:
            candidates = (sample.fields.get(self.reference),)
        return next((item for item in candidates if isinstance(item, Audio)), None)

    async def _embed(self, audio: Audio) -> Sequence[float]:
        """Return the embedding of a recording."""
        reply = await ask_model(
            self.models,
            "speaker",
            Prompt((Message("user", (audio,)),), produces=("json",)),
        )
        return _embedding(reply.json)


def cosine(
    one: Sequence[float],
    other: Sequence[float],
) -> float:
    """Return the cosine of two vectors. Raise `ModelError` if it is undefined: for zeros or different lengths."""
    if len(one) != len(other):
        raise ModelError(
            f"embeddings of {len(one)} and {len(other)} numbers", where="role 'speaker'"
        )
    lengths = math.hypot(*one) * math.hypot(*other)
    if not lengths or not math.isfinite(lengths):
        raise ModelError(
            "an embedding of length 0, or with a number that is not finite",
            where="role 'speaker'",
        )
    dot = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return max(-1.0, min(1.0, dot / lengths))


def _embedding(value: object) -> Sequence[float]:
    """Return the embedding in a reply: a list of numbers, or the entry `embedding` of a dictionary."""
    if isinstance(value, Mapping):
        numbers = value.get("embedding")
    else:
        numbers = value
    if (
        not isinstance(numbers, (list, tuple))
        or not numbers
        or not all(isinstance(n, (int, float)) for n in numbers)
    ):
        raise ModelError(
            "the reply has no embedding",
            where="role 'speaker'",
            fix="answer with JSON: a list of numbers",
        )
    return [float(number) for number in numbers]
