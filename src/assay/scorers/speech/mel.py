"""Mel spectrogram in numpy: the one of Slaney's toolbox, as the quality models were trained on."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LINEAR_STEP = 200.0 / 3
_BEND_HERTZ = 1000.0
_LOG_STEP = 6.4 ** (1 / 27)
"""Below 1 kHz a mel is 66.7 Hz; above, 27 mels make a factor of 6.4."""


def mel_spectrogram(
    samples: "Floats", rate: int, *, window: int, hop: int, bands: int
) -> "Floats":
    """Power in each band (rows) of each frame (columns); frames are centred, the ends padded with silence."""
    import numpy as np

    half = window // 2
    padded = np.pad(np.asarray(samples, np.float64), (half, half))
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    power = np.abs(np.fft.rfft(frames * hann, axis=1)) ** 2
    return np.asarray(_bank(rate, window, bands) @ power.T, np.float64)


def power_to_db(
    power: "Floats", *, floor: float = 1e-10, range_db: float = 80.0
) -> "Floats":
    """Decibels below the loudest value, at most `range_db` of them."""
    import numpy as np

    loudest = max(floor, float(power.max()))
    return np.asarray(
        np.maximum(10 * np.log10(np.maximum(power, floor) / loudest), -range_db),
        np.float64,
    )


@cache
def _bank(rate: int, window: int, bands: int) -> "Floats":
    """Triangular filters of equal area, one row for each band."""
    import numpy as np

    edges = _hertz(np.linspace(0.0, _mel(rate / 2), bands + 2))
    frequencies = np.arange(window // 2 + 1) * rate / window
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return np.asarray(triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None], np.float64)


def _mel(hertz: float) -> float:
    import math

    if hertz < _BEND_HERTZ:
        return hertz / _LINEAR_STEP
    return _BEND_HERTZ / _LINEAR_STEP + math.log(hertz / _BEND_HERTZ) / math.log(
        _LOG_STEP
    )


def _hertz(mels: "Floats") -> "Floats":
    import numpy as np

    bend = _BEND_HERTZ / _LINEAR_STEP
    return np.where(
        mels < bend, mels * _LINEAR_STEP, _BEND_HERTZ * _LOG_STEP ** (mels - bend)
    )
