"""Long recordings in pieces: cut where nobody speaks, so that a recogniser hears all of it, each piece whole.

A piece is at most as long as the recogniser declares. The cut is the quietest place of the second half of what would
still fit; where even that is no pause, a word would be cut in two, and the recording cannot be heard whole.
"""

from typing import TYPE_CHECKING

from ...core import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FRAME_SECONDS = 0.02
PAUSE_SECONDS = 0.16
"""The length of a place that counts as a pause, and over which loudness is averaged."""
PAUSE_LEVEL = 0.2
"""How loud a pause may be, as a part of the loudness of the speech itself."""
SILENCE_LEVEL = 0.002
"""Below it a whole piece is silence, in which a recogniser would hear words that nobody said."""


def in_pieces(samples: "Floats", rate: int, longest_seconds: float) -> "list[Floats]":
    """The pieces of a recording in order, without those that are silent; one that is short enough is left as it is."""
    longest = int(longest_seconds * rate)
    if len(samples) <= longest:
        return [samples]
    pieces = [samples[start:end] for start, end in _places(samples, rate, longest)]
    return [piece for piece in pieces if _loudness(piece, rate).max() > SILENCE_LEVEL]


def _places(samples: "Floats", rate: int, longest: int) -> list[tuple[int, int]]:
    import numpy as np

    frame = int(FRAME_SECONDS * rate)
    loudness = _loudness(samples, rate)
    speech = float(np.percentile(loudness, 90))
    places: list[tuple[int, int]] = []
    start = 0
    while len(samples) - start > longest:
        first, last = (start + longest // 2) // frame, (start + longest) // frame
        window = loudness[first:last]
        # Of several equally quiet places the last: fewer pieces, fewer cuts.
        quietest = last - 1 - int(np.argmin(window[::-1]))
        if loudness[quietest] > PAUSE_LEVEL * speech:
            raise ModelError(
                f"cannot hear {len(samples) / rate:.0f} s at once, and finds no pause to cut at between"
                f" {first * FRAME_SECONDS:.0f} and {last * FRAME_SECONDS:.0f} s",
                fix=f"cut the recording into clips of at most {longest / rate:g} s",
            )
        end = min(quietest * frame + frame // 2, start + longest)
        places.append((start, end))
        start = end
    places.append((start, len(samples)))
    return places


def _loudness(samples: "Floats", rate: int) -> "Floats":
    """Root mean square around each frame."""
    import numpy as np

    frame = int(FRAME_SECONDS * rate)
    whole = samples[: len(samples) // frame * frame].reshape(-1, frame)
    power = np.mean(np.square(whole, dtype=np.float64), axis=1) if len(whole) else np.zeros(1)
    width = max(1, round(PAUSE_SECONDS / FRAME_SECONDS))
    loudness: Floats = np.sqrt(np.convolve(power, np.ones(width) / width, mode="same")).astype(np.float32)
    return loudness
