"""Change of sampling rate by a polyphase low-pass filter, in numpy alone.

The usual library for this is LGPL; a windowed sinc of 64 zero crossings keeps aliases below hearing for speech.
"""

from math import ceil, gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

ZERO_CROSSINGS = 32
"""On each side of the filter's centre."""
KAISER_BETA = 9.0
BLOCK_FRAMES = 8192
ROLL_OFF = 0.95
"""Where the filter begins to fall, as a share of the lower of the two Nyquist frequencies."""


def resample(samples: "Floats", rate: int, wanted: int) -> "Floats":
    """The same audio at another rate; `samples` are frames, or frames by channels."""
    import numpy as np

    if rate == wanted or not len(samples):
        return samples
    common = gcd(rate, wanted)
    up, down = wanted // common, rate // common
    half, phases = _filters(up, down)
    frames = ceil(len(samples) * up / down)
    columns = samples.reshape(len(samples), -1)
    resampled = np.empty((frames, columns.shape[1]), np.float32)
    for index in range(columns.shape[1]):
        padded = np.pad(columns[:, index].astype(np.float64), (half, half + down + 1))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
        # Output n lies at n * down / up of the input; every `up` outputs the fraction, and with it the filter, recurs.
        for first in range(min(up, frames)):
            start, phase = divmod(first * down, up)
            count = len(range(first, frames, up))
            row = windows[start::down][:count]
            # In blocks: a product with overlapping windows copies them first.
            for block in range(0, count, BLOCK_FRAMES):
                part = row[block : block + BLOCK_FRAMES] @ phases[phase]
                resampled[
                    first + block * up : first + (block + len(part)) * up : up, index
                ] = part
    return resampled.reshape((frames, *samples.shape[1:]))


def _filters(up: int, down: int) -> "tuple[int, NDArray[np.float64]]":
    """Half the length of the filters in input samples, and one filter for each of the `up` fractions."""
    import numpy as np

    cutoff = ROLL_OFF * min(1.0, up / down)
    half = ceil(ZERO_CROSSINGS / min(1.0, up / down))
    offsets = np.arange(-half, half + 1)[None, :] - np.arange(up)[:, None] / up
    inside = np.clip(1 - (offsets / (half + 1)) ** 2, 0, None)
    window = np.i0(KAISER_BETA * np.sqrt(inside)) / np.i0(KAISER_BETA)
    taps = cutoff * np.sinc(cutoff * offsets) * window
    return half, taps / taps.sum(axis=1, keepdims=True)
