"""Change the sampling rate with a polyphase low-pass filter, in numpy only.

The usual library for this is LGPL. A windowed sinc of 64 zero crossings keeps aliases inaudible for speech.
"""

from math import ceil, gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

ZERO_CROSSINGS = 32
"""Number of zero crossings on each side of the filter's centre."""
KAISER_BETA = 9.0
BLOCK_FRAMES = 8192
ROLL_OFF = 0.95
"""The frequency at which the filter begins to fall, as a share of the lower of the two Nyquist frequencies."""


def resample(samples: "Floats", rate: int, wanted: int) -> "Floats":
    """Return the same audio at another rate; `samples` are frames, or frames by channels."""
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
    """Return half the length of the filters in input samples, and one filter for each of the `up` fractions."""
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
