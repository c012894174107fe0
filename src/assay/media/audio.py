"""Decode audio to 32-bit floats, change its sampling rate, and record every conversion.

The decoded length is compared with the header, because libsndfile silently reads a truncated WAV as a shorter clip.

The sampling rate is changed by a polyphase low-pass filter in numpy, because the usual library for this is LGPL. A
windowed sinc of 64 zero crossings keeps aliases inaudible for speech.
"""

import io
from dataclasses import dataclass
from math import ceil, gcd
from types import ModuleType
from typing import TYPE_CHECKING

from ..core import Audio, DataError, UsageError, library
from .checks import CONTAINERS, check_audio, check_length
from .media_headers import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def read_container(
    audio: Audio,
    name: str,
    limits: Limits,
) -> "tuple[Floats, int]":
    """Return the samples of the first audio stream, with shape (frames, channels), and its sampling rate."""
    import numpy as np

    av = library("av", f"PyAV, which reads the audio of {name} files,", "assay[media]")
    try:
        pieces, rate = _decode_stream(av, audio, limits)
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # FFmpeg's errors, and what PyAV raises for truncated streams.
        reason = getattr(error, "strerror", None) or str(error)
        raise audio.fault(
            f"the {name} cannot be decoded: {reason}", fix="convert it to WAV or FLAC"
        ) from error
    if not pieces:
        raise audio.fault(
            "the audio has no samples", fix="leave the row out, or get the file again"
        )
    return np.concatenate(pieces), rate


def _decode_stream(
    av: ModuleType,
    audio: Audio,
    limits: Limits,
) -> "tuple[list[Floats], int]":
    """Decode the first audio stream of a file. Stop as soon as it exceeds the limit."""
    import numpy as np

    pieces: list[Floats] = []
    count = 0
    with av.open(io.BytesIO(audio.data())) as container:
        if not container.streams.audio:
            raise audio.fault(
                "the file has no audio stream",
                fix="leave the row out, or name the column `video`",
            )
        stream = container.streams.audio[0]
        rate = int(stream.rate)
        as_floats = av.AudioResampler(format="fltp", rate=rate)
        for frame in container.decode(stream):
            for piece in as_floats.resample(frame):
                samples = np.ascontiguousarray(piece.to_ndarray().T, dtype=np.float32)
                pieces.append(samples)
                count += len(samples)
                check_length(audio, count, rate, samples.shape[1], limits)
    return pieces, rate


ZERO_CROSSINGS = 32
"""Number of zero crossings on each side of the filter's centre."""
KAISER_BETA = 9.0
BLOCK_FRAMES = 8192
ROLL_OFF = 0.95
"""Cutoff frequency of the low-pass filter, as a fraction of the lower of the two Nyquist frequencies."""


def resample(
    samples: "Floats",
    rate: int,
    wanted: int,
) -> "Floats":
    """Return audio converted to the sampling rate `wanted`. `samples` has the shape (frames,) or (frames, channels)."""
    import numpy as np

    if rate == wanted or not len(samples):
        return samples
    common = gcd(rate, wanted)
    up = wanted // common
    down = rate // common
    half, phases = _filters(up, down)
    frames = ceil(len(samples) * up / down)
    columns = samples.reshape(len(samples), -1)
    channels = columns.shape[1]
    resampled = np.empty((frames, channels), np.float32)
    for index in range(channels):
        channel = columns[:, index].astype(np.float64)
        padded = np.pad(channel, (half, half + down + 1))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
        # Output n is at n * down / up of the input. The fraction, and with it the filter, repeats every `up` outputs.
        for first in range(min(up, frames)):
            start, phase = divmod(first * down, up)
            output = resampled[first::up, index]
            count = len(output)
            inputs = windows[start::down][:count]
            # In blocks, because a product with overlapping windows copies them first.
            for block in range(0, count, BLOCK_FRAMES):
                end = block + BLOCK_FRAMES
                output[block:end] = inputs[block:end] @ phases[phase]
    shape = (frames, *samples.shape[1:])
    return resampled.reshape(shape)


def _filters(up: int, down: int) -> "tuple[int, NDArray[np.float64]]":
    """Return half the filter length in input samples, and the filters for resampling.

    The position of an output sample between two input samples is 0/up, 1/up, …. There
    is one filter for each of these positions.
    """
    import numpy as np

    ratio = min(1.0, up / down)
    cutoff = ROLL_OFF * ratio
    half = ceil(ZERO_CROSSINGS / ratio)
    positions = np.arange(-half, half + 1)
    fractions = np.arange(up) / up
    offsets = positions[None, :] - fractions[:, None]
    # The Kaiser window, which is 0 outside of the filter.
    scaled = offsets / (half + 1)
    inside = np.clip(1 - scaled**2, 0, None)
    window = np.i0(KAISER_BETA * np.sqrt(inside))
    window /= np.i0(KAISER_BETA)
    sinc = np.sinc(cutoff * offsets)
    taps = cutoff * sinc * window
    totals = taps.sum(axis=1, keepdims=True)
    return half, taps / totals


CANCELLED = 0.1
"""Channels are taken to cancel each other if this ratio is lower: the power of their
sum to the sum of their powers.

For independent channels the ratio is 1. It is also 1 if all channels but one are
silent.
"""
MOST_CANCELLED = 0.05
"""Maximum share of a clip's power that may be lost when its channels are mixed to mono.

If more would be lost, the channels are not mixed.
"""
MOST_CANCELLED_BANDS = 0.25
"""The same limit as `MOST_CANCELLED`, but measured in frequency bands.

It detects that speech cancels out even if a hum in the same clip does not.
"""
BAND = 64
"""Number of neighbouring frequencies per band, about 60 Hz at 16 kHz. Narrower bands would give false alarms."""
MIX_FRAMES = 16384
"""A clip is tested for cancellation in parts of this many frames: 0.3 to 2 seconds, depending on the rate."""


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class DecodedAudio:
    """A decoded audio clip."""

    samples: "Floats"
    """An array with the shape (frames,), or (frames, 2) for stereo.

    Values are from -1 to 1 unless the file has larger ones.
    """
    rate: int
    conversions: tuple[str, ...] = ()
    """The conversions after decoding, in words: `mixed 2 channels to 1`, `resampled 44100 Hz to 16000 Hz`."""

    @property
    def channels(self) -> int:
        """The number of channels, 1 or 2."""
        return 1 if self.samples.ndim == 1 else self.samples.shape[1]

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.samples) / self.rate


def decode_audio(
    audio: Audio,
    *,
    rate: int | None = None,
    channels: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> DecodedAudio:
    """Decode a clip without changes, except that `rate` resamples it and `channels=1` mixes its channels.

    More than two channels are a `DataError` unless they are mixed, because it is
    unknown which one has the speech. The file is decoded in a separate process.
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
    """Decode a clip in this process, as `decode_audio` does in another."""
    import numpy as np

    samples, file_rate = _read(audio, limits)
    if not np.isfinite(samples).all():
        bad = int(np.count_nonzero(~np.isfinite(samples)))
        raise audio.fault(
            f"{bad} of {samples.size} samples are not finite (NaN or infinite)"
        )
    conversions: list[str] = []
    count = samples.shape[1]
    if channels == 1 and count > 1:
        samples, conversion = _one_channel(samples)
        conversions.append(conversion)
    elif count > 2:
        raise audio.fault(
            f"the audio has {count} channels at {file_rate:,} Hz",
            fix="mix it down: channels=1",
        )
    if rate is not None and rate != file_rate:
        samples = resample(samples, file_rate, rate)
        conversions.append(f"resampled {file_rate} Hz to {rate} Hz")
    if samples.shape[1] == 1:
        shaped = samples[:, 0]
    else:
        shaped = samples
    return DecodedAudio(
        np.ascontiguousarray(shaped),
        rate or file_rate,
        tuple(conversions),
    )


def _one_channel(samples: "Floats") -> "tuple[Floats, str]":
    """Mix the channels to one. If they would cancel out, return a single channel, and a note that names it."""
    import numpy as np

    count = samples.shape[1]
    lost = np.zeros(count)  # the power of each channel in bands that cancel
    cancelled = power = 0.0
    for start in range(0, len(samples), MIX_FRAMES):
        part = samples[start : start + MIX_FRAMES].astype(np.float64)
        # A constant offset is not heard.
        spectra = np.fft.rfft(part - part.mean(axis=0), axis=0)
        part_powers = np.square(np.abs(spectra))
        starts = range(0, len(spectra), BAND)
        bands_of_channels = np.add.reduceat(part_powers, starts)
        bands = bands_of_channels.sum(axis=1)
        power_of_sum = np.square(np.abs(spectra.sum(axis=1)))
        bands_of_sum = np.add.reduceat(power_of_sum, starts)
        if bands_of_sum.sum() < CANCELLED * bands.sum():
            cancelled += bands.sum()
        lost += bands_of_channels[bands_of_sum < CANCELLED * bands].sum(axis=0)
        power += bands.sum()
    is_kept = lost.sum() <= MOST_CANCELLED_BANDS * power
    if is_kept and cancelled <= MOST_CANCELLED * power:
        mixed = samples.mean(
            axis=1,
            dtype=np.float32,
            keepdims=True,
        )
        return mixed, f"mixed {count} channels to 1"
    # Take the channel with most of what would be lost: the first of those that are equal but for rounding.
    loudest = int(np.argmax(lost >= 0.99 * lost.max()))
    channel = samples[:, loudest : loudest + 1]
    conversion = f"took channel {loudest + 1} of {count}: mixed, they cancel each other"
    return channel, conversion


def _read(audio: Audio, limits: Limits) -> "tuple[Floats, int]":
    """Return the samples of a clip, with shape (frames, channels), and the sampling rate."""
    import soundfile

    facts = check_audio(audio, limits)
    if facts.format in CONTAINERS:
        return read_container(audio, facts.format, limits)
    try:
        with soundfile.SoundFile(io.BytesIO(audio.data())) as opened:
            if facts.frames is None:
                promised = opened.frames
            else:
                promised = facts.frames
            check_length(audio, promised, opened.samplerate, opened.channels, limits)
            # A codec without seeking has no known length.
            if opened.seekable():
                count = -1
            else:
                count = opened.frames
            samples: Floats = opened.read(count, dtype="float32", always_2d=True)
            rate = int(opened.samplerate)
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # libsndfile's own errors, and anything its wrapper raises for an unusual file.
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
