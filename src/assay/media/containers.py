"""Audio that libsndfile cannot read, decoded by PyAV: MP4, M4A, WebM, Matroska, AAC, AMR, WMA."""

import io
from types import ModuleType
from typing import TYPE_CHECKING

from ..core import Audio, DataError, library
from .checks import check_length
from .facts import Limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


def read_container(audio: Audio, name: str, limits: Limits) -> "tuple[Floats, int]":
    """Return frames by channels of the first audio stream, and the rate it declares."""
    import numpy as np

    av = library("av", f"PyAV, which reads the audio of {name} files,", "assay[media]")
    try:
        pieces, rate = _decoded(av, audio, limits)
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


def _decoded(
    av: ModuleType, audio: Audio, limits: Limits
) -> "tuple[list[Floats], int]":
    """Decode the first audio stream of a file, and stop as soon as it is too long."""
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
