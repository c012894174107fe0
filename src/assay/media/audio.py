"""Audio decoded to 32-bit floats, with every change that was made written down.

What the header promises is held against what was decoded: libsndfile reads a WAV that was cut in half as a shorter
clip without a word.
"""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core import Audio, DataError, UsageError
from .checks import CONTAINERS, check_audio, check_length
from .containers import read_container
from .facts import DEFAULT_LIMITS, Limits
from .resample import resample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class DecodedAudio:
    """A decoded audio clip."""

    samples: "Floats"
    """Frames, or frames by channels where there are two; -1 to 1 unless the file itself goes beyond."""
    rate: int
    conversions: tuple[str, ...] = ()
    """What was done to it after decoding: `mixed 2 channels to 1`, `resampled 44100 Hz to 16000 Hz`."""

    @property
    def channels(self) -> int:
        """1 or 2."""
        return 1 if self.samples.ndim == 1 else self.samples.shape[1]

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / self.rate


def decode_audio(
    audio: Audio,
    *,
    rate: int | None = None,
    channels: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> DecodedAudio:
    """The audio as it is in the file; another `rate`, or a mix-down by `channels=1`, only when asked for.

    More than two channels are a `DataError` unless they are to be mixed: nobody knows which one speaks. The work is
    done in a process of its own.
    """
    import numpy as np

    from .bounded import decode

    if channels not in (None, 1):
        raise UsageError(
            f"cannot make {channels} channels of an audio clip",
            fix="channels=1, or None to keep them",
        )
    check_audio(audio, limits)
    reply, body = decode(audio, limits, {"rate": rate, "channels": channels})
    samples: Floats = np.frombuffer(body, np.float32).reshape(reply["shape"])
    return DecodedAudio(samples, reply["rate"], tuple(reply["conversions"]))


def decode_audio_here(
    audio: Audio,
    *,
    rate: int | None = None,
    channels: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> DecodedAudio:
    """`decode_audio` in this process."""
    import numpy as np

    samples, found = _read(audio, limits)
    if not np.isfinite(samples).all():
        bad = int(np.count_nonzero(~np.isfinite(samples)))
        raise audio.fault(
            f"{bad} of {samples.size} samples are not finite (NaN or infinite)"
        )
    conversions: list[str] = []
    count = samples.shape[1]
    if channels == 1 and count > 1:
        samples = samples.mean(axis=1, dtype=np.float32, keepdims=True)
        conversions.append(f"mixed {count} channels to 1")
    elif count > 2:
        raise audio.fault(
            f"the audio has {count} channels at {found:,} Hz",
            fix="mix it down: channels=1",
        )
    if rate is not None and rate != found:
        samples = resample(samples, found, rate)
        conversions.append(f"resampled {found} Hz to {rate} Hz")
    shaped = samples[:, 0] if samples.shape[1] == 1 else samples
    return DecodedAudio(np.ascontiguousarray(shaped), rate or found, tuple(conversions))


def _read(audio: Audio, limits: Limits) -> "tuple[Floats, int]":
    """Frames by channels, and the rate."""
    import soundfile

    facts = check_audio(audio, limits)
    if facts.format in CONTAINERS:
        return read_container(audio, facts.format, limits)
    try:
        with soundfile.SoundFile(io.BytesIO(audio.data())) as opened:
            promised = opened.frames if facts.frames is None else facts.frames
            check_length(audio, promised, opened.samplerate, opened.channels, limits)
            # A codec that cannot be sought in does not know for itself where it ends.
            count = -1 if opened.seekable() else opened.frames
            samples: Floats = opened.read(count, dtype="float32", always_2d=True)
            rate = int(opened.samplerate)
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # libsndfile's own errors, and whatever its wrapper meets in a file that is none of the usual ones.
        reason = str(error).partition(": ")[2] or str(error)
        raise audio.fault(
            f"the {facts.format} cannot be decoded: {reason}",
            fix="convert it to WAV or FLAC, or get it again",
        ) from error
    if len(samples) < promised:
        raise audio.fault(
            f"the {facts.format} is cut off: {len(samples)} of {promised} frames",
            fix="get the file again",
        )
    return samples, rate
