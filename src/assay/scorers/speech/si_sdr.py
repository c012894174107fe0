"""Scale-invariant signal-to-distortion ratio: how much of a clip is the reference, in decibels, at any loudness."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Audio, Output, Sample, Score
from ...media import decode_audio
from ...registry import scorers
from ..answers import data_error, no_target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_DECIBELS = 100.0
"""The largest value that is reported. It is beyond the resolution of 16-bit audio; a perfect copy would be infinite."""


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
    """Return 10 log10(|a r|² / |a r - e|²) for the best factor a; NaN if either signal is silent.

    The mean is not subtracted.
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
