"""Mel spectrogram in numpy, like that of Slaney's toolbox, with which the quality models were trained."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LINEAR_STEP = 200.0 / 3
_BEND_HERTZ = 1000.0
_LOG_STEP = 6.4 ** (1 / 27)
"""Below 1 kHz a mel is 66.7 Hz; above, 27 mels are a factor of 6.4."""


def mel_spectrogram(
    samples: "Floats",
    rate: int,
    *,
    window: int,
    hop: int,
    bands: int,
) -> "Floats":
    """Return the power in each band (rows) of each frame (columns).

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


def power_to_db(
    power: "Floats",
    *,
    floor: float = 1e-10,
    range_db: float = 80.0,
) -> "Floats":
    """Return decibels below the loudest value, at most `range_db` of them."""
    import numpy as np

    loudest = max(floor, float(power.max()))
    return np.asarray(
        np.maximum(10 * np.log10(np.maximum(power, floor) / loudest), -range_db),
        np.float64,
    )


@cache
def _filter_bank(rate: int, window: int, bands: int) -> "Floats":
    """Return triangular filters of equal area, one row for each band."""
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
    """Return a frequency on the mel scale."""
    import math

    if hertz < _BEND_HERTZ:
        return hertz / _LINEAR_STEP
    bend = _BEND_HERTZ / _LINEAR_STEP
    return bend + math.log(hertz / _BEND_HERTZ) / math.log(_LOG_STEP)


def _hertz(mels: "Floats") -> "Floats":
    """Return the frequencies of values on the mel scale."""
    import numpy as np

    bend = _BEND_HERTZ / _LINEAR_STEP
    linear = mels * _LINEAR_STEP
    logarithmic = _BEND_HERTZ * _LOG_STEP ** (mels - bend)
    return np.where(mels < bend, linear, logarithmic)
