"""Split long recordings at pauses, so that a recogniser hears all of it without cutting a word.

A piece is at most as long as the recogniser declares. The cut is at the quietest point in the second half of what
still fits. If even that point is not a pause, a word would be cut, and the recording is refused.
"""

from typing import TYPE_CHECKING

from ...core import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FRAME_SECONDS = 0.02
PAUSE_SECONDS = 0.16
"""Length of a pause in seconds, over which loudness is averaged."""
PAUSE_LEVEL = 0.2
"""The highest loudness of a pause, relative to the loudness of the speech."""
SILENCE_LEVEL = 0.002
SILENCE_PART = 0.02
"""A piece is silent if it is below this level and below this share of the recording's speech level.

A recogniser would hear words in silence. A recording that is faint throughout is not silent.
"""


def in_pieces(samples: "Floats", rate: int, longest_seconds: float) -> "list[Floats]":
    """Return the pieces of a recording in order, without silent ones; a short recording is returned unchanged."""
    import numpy as np

    longest = int(longest_seconds * rate)
    if len(samples) <= longest:
        return [samples]
    power = _power(samples, rate)
    loudness = np.sqrt(_averaged(power, PAUSE_SECONDS))
    # Use the loudest second: most of a recording may be silence, which would dominate a percentile.
    speech = float(np.sqrt(_averaged(power, 1.0).max()))
    faintest = min(SILENCE_LEVEL, SILENCE_PART * speech)
    frame = int(FRAME_SECONDS * rate)
    spans = _places(samples, rate, longest, loudness, speech)
    loudest = [
        loudness[start // frame : end // frame + 1].max(initial=0)
        for start, end in spans
    ]
    return [
        samples[start:end]
        for (start, end), level in zip(spans, loudest, strict=True)
        if level > faintest
    ]


def _places(
    samples: "Floats",
    rate: int,
    longest: int,
    loudness: "Floats",
    speech: float,
) -> list[tuple[int, int]]:
    import numpy as np

    frame = int(FRAME_SECONDS * rate)
    spans: list[tuple[int, int]] = []
    start = 0
    while len(samples) - start > longest:
        first, last = (start + longest // 2) // frame, (start + longest) // frame
        window = loudness[first:last]
        # Of several equally quiet points, take the last: fewer pieces, fewer cuts.
        quietest = last - 1 - int(np.argmin(window[::-1]))
        if loudness[quietest] > PAUSE_LEVEL * speech:
            raise ModelError(
                f"cannot hear {len(samples) / rate:.0f} s at once, and finds no pause to cut at between"
                f" {first * FRAME_SECONDS:.0f} and {last * FRAME_SECONDS:.0f} s",
                fix=f"cut the recording into clips of at most {longest / rate:g} s",
            )
        end = min(quietest * frame + frame // 2, start + longest)
        spans.append((start, end))
        start = end
    spans.append((start, len(samples)))
    return spans


def _power(samples: "Floats", rate: int) -> "Floats":
    """Return the mean square of each frame.

    The mean of the recording is subtracted first, because it may have an offset.
    """
    import numpy as np

    frame = int(FRAME_SECONDS * rate)
    frames = samples[: len(samples) // frame * frame].reshape(-1, frame)
    shift = samples.mean(dtype=np.float64)
    # Expanded, so that hours of audio are not copied.
    power = (
        np.einsum("ij,ij->i", frames, frames) / frame
        - 2 * shift * frames.mean(axis=1)
        + shift**2
    )
    positive: Floats = np.maximum(power, 0).astype(np.float32)
    return positive


def _averaged(power: "Floats", seconds: float) -> "Floats":
    import numpy as np

    width = max(1, round(seconds / FRAME_SECONDS))
    averaged: Floats = np.convolve(power, np.ones(width) / width, mode="same").astype(
        np.float32
    )
    return averaged
