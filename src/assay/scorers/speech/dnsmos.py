"""DNSMOS: the quality of speech as rated by a neural network, and the mel spectrogram that the network takes.

The networks are in the `speechmos` wheel, and onnxruntime runs them. assay splits the
audio into windows itself: the code in the package needs librosa with an LGPL resampler,
never ends on an empty file, and reads stereo as noise.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Audio, Output, Requirement, Sample, Score
from ...media import decode_audio
from ...registry import scorers
from ..answers import named
from ..scorer_options import package_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    from onnxruntime import InferenceSession

_LINEAR_STEP = 200.0 / 3
_BEND_HERTZ = 1000.0
_LOG_STEP = 6.4 ** (1 / 27)
"""The ratio of the frequencies of two neighbouring mels above 1 kHz. Below 1 kHz a mel is a step of 66.7 Hz."""


def mel_spectrogram(
    samples: "Floats",
    rate: int,
    *,
    window: int,
    hop: int,
    bands: int,
) -> "Floats":
    """Return the mel spectrogram of samples: the power in each band (rows) of each frame (columns).

    Frames are centred, and both ends are padded with silence.
    """
    import numpy as np

    half = window // 2
    padded = np.pad(np.asarray(samples, np.float64), (half, half))
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    angles = 2 * np.pi * np.arange(window) / window
    hann = 0.5 - 0.5 * np.cos(angles)
    spectrum = np.fft.rfft(frames * hann, axis=1)
    power = np.abs(spectrum) ** 2
    filters = _filter_bank(rate, window, bands)
    return np.asarray(filters @ power.T, np.float64)


def power_to_db(power: "Floats") -> "Floats":
    """Convert power to decibels relative to the highest value, at least -80."""
    import numpy as np

    audible = np.maximum(power, 1e-10)
    decibels = 10 * np.log10(audible / audible.max())
    return np.asarray(np.maximum(decibels, -80.0), np.float64)


@cache
def _filter_bank(
    rate: int,
    window: int,
    bands: int,
) -> "Floats":
    """Return the triangular mel filters of equal area, one row for each band."""
    import numpy as np

    highest = _mel(rate / 2)
    edges = _hertz(np.linspace(0.0, highest, bands + 2))
    frequencies = np.arange(window // 2 + 1) * rate / window
    widths = np.diff(edges)
    # Columns, so that they are combined with the row of frequencies.
    lower = edges[:-2, None]
    upper = edges[2:, None]
    lower_width = widths[:-1, None]
    upper_width = widths[1:, None]
    rising = (frequencies - lower) / lower_width
    falling = (upper - frequencies) / upper_width
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    heights = 2.0 / (upper - lower)
    return np.asarray(triangles * heights, np.float64)


def _mel(hertz: float) -> float:
    """Convert a frequency in hertz to mels."""
    import math

    if hertz < _BEND_HERTZ:
        return hertz / _LINEAR_STEP
    bend = _BEND_HERTZ / _LINEAR_STEP
    return bend + math.log(hertz / _BEND_HERTZ) / math.log(_LOG_STEP)


def _hertz(mels: "Floats") -> "Floats":
    """Convert values in mels to frequencies in hertz."""
    import numpy as np

    bend = _BEND_HERTZ / _LINEAR_STEP
    linear = mels * _LINEAR_STEP
    logarithmic = _BEND_HERTZ * _LOG_STEP ** (mels - bend)
    return np.where(mels < bend, linear, logarithmic)


RATE = 16_000
WINDOW = int(9.01 * RATE)
HOP = RATE
SILENT_PEAK = 1e-3
"""Peak below which audio is treated as silence (-60 dB).

It gets no rating, because the network rates silence above noise.
"""
NAMES = ("ovrl", "sig", "bak", "p808")

_SPEECHMOS = Requirement(
    "speechmos",
    "speechmos, which holds the DNSMOS networks,",
    "assay[speech]",
)
_ONNXRUNTIME = Requirement("onnxruntime", "onnxruntime", "assay[speech]")
_CALIBRATION = {
    "sig": (-0.08397278, 1.22083953, 0.0052439),
    "bak": (-0.13166888, 1.60915514, -0.39604546),
    "ovrl": (-0.06766283, 1.11546468, 0.04602535),
}
"""Coefficients of polynomials, highest power first. They map the network's ratings to the scale of human listeners."""


@scorers.register("dnsmos")
@dataclass(frozen=True)
class Dnsmos:
    """Four DNSMOS ratings of the output's audio: overall, signal, background, and overall by the P.808 network.

    Stereo is mixed to one channel and resampled to 16 kHz, which `details` records. An
    output without audio, or with only silence, is `unparsed`.
    """

    reads: ClassVar[tuple[str, ...]] = ("audio",)
    bounds: ClassVar[tuple[float, float] | None] = None
    """None: for audio without speech, the calibrated rating can be outside of the scale of 1 to 5."""
    requires: ClassVar[tuple[Requirement, ...]] = (_SPEECHMOS, _ONNXRUNTIME)
    blocking: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        import numpy as np

        audio = next(
            (medium for medium in output.media if isinstance(medium, Audio)), None
        )
        if audio is None:
            return named(Score.unparsed(reason="no audio in the output"), *NAMES)
        waveform = decode_audio(audio, rate=RATE, channels=1)
        if float(np.abs(waveform.samples).max()) < SILENT_PEAK:
            return named(Score.unparsed(reason="the audio is silent"), *NAMES)
        beyond = float(np.mean(np.abs(waveform.samples) > 1))
        details: dict[str, Any] = {
            "seconds": round(waveform.seconds, 3),
            "conversions": list(waveform.conversions),
        }
        if beyond:
            details["clipped"] = beyond
        return Score(rate_speech(np.clip(waveform.samples, -1.0, 1.0)), details=details)


def rate_speech(samples: "NDArray[np.floating[Any]]") -> dict[str, float]:
    """Return the four ratings of audio at 16 kHz, samples from -1 to 1: the means over windows of 9 s.

    A shorter clip is repeated until it fills a window.
    """
    import numpy as np

    if samples.ndim != 1 or not len(samples):
        raise ValueError(
            f"DNSMOS rates one channel with samples in it, not an array of shape {samples.shape}"
        )
    if not np.isfinite(samples).all() or np.abs(samples).max() > 1:
        raise ValueError("DNSMOS rates samples from -1 to 1")
    # The published scores double a short clip until it is long enough, which is not the same as repeating it to the
    # exact length.
    while len(samples) < WINDOW:
        samples = np.concatenate([samples, samples])
    ratings: dict[str, list[float]] = {name: [] for name in NAMES}
    windows = max(1, int(len(samples) // RATE - 9.01) + 1)
    for start in range(0, windows * HOP, HOP):
        piece = samples[start : start + WINDOW].astype(np.float32)
        if len(piece) < WINDOW:
            break
        for name, rating in _rate_window(piece).items():
            ratings[name].append(rating)
    return {name: float(np.mean(values)) for name, values in ratings.items()}


def _rate_window(piece: "NDArray[np.float32]") -> dict[str, float]:
    """Return the four ratings of one window of 9 s."""
    import numpy as np

    primary, p808 = _networks()
    ratings = {}
    raw_ratings = primary.run(None, {"input_1": piece[None, :]})[0][0]
    for name, raw in zip(("sig", "bak", "ovrl"), raw_ratings, strict=True):
        ratings[name] = calibrate(name, float(raw))
    mel = mel_spectrogram(
        piece[:-160].astype(np.float64),
        RATE,
        window=321,
        hop=160,
        bands=120,
    )
    scaled = (power_to_db(mel) + 40) / 40
    features = scaled.T.astype(np.float32)
    outputs = p808.run(None, {"input_1": features[None]})
    ratings["p808"] = float(outputs[0][0][0])
    return ratings


def calibrate(name: str, raw: float) -> float:
    """Convert the network's rating to the scale of human listeners."""
    square, linear, constant = _CALIBRATION[name]
    return (square * raw + linear) * raw + constant


@cache
def _networks() -> tuple[Any, Any]:
    folder = package_folder(_SPEECHMOS, "scorer 'dnsmos'") / "dnsmos_models"
    onnxruntime = _ONNXRUNTIME.library("onnxruntime", "scorer 'dnsmos'")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1

    def load(name: str) -> "InferenceSession":
        return onnxruntime.InferenceSession(
            str(folder / name),
            options,
            providers=["CPUExecutionProvider"],
        )

    return load("sig_bak_ovr.onnx"), load("model_v8.onnx")
