"""Decode frames of videos to 8-bit RGB, upright as players show them."""

import io
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core import DataError, Video, library
from .checks import check_media, check_size
from .media_headers import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from av import VideoFrame
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

MOST_BYTES = 2 * 1024**3
"""Maximum size of the decoded frames of one video."""


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """Number of frames, frame rate, width and height of a video."""

    frames: int
    rate: float
    """Frames per second."""
    width: int
    height: int

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.frames / self.rate


def inspect_video(
    video: Video,
    limits: Limits = DEFAULT_LIMITS,
) -> VideoFacts:
    """Return the number of frames, the frame rate, the width and the height of a video.

    The file is read in a separate process.
    """
    from .bounded import decode

    check_media(video, limits)
    reply, _ = decode(video, limits, {"frames": None})
    return VideoFacts(**reply["facts"])


def decode_frames(
    video: Video,
    numbers: Sequence[int],
    limits: Limits = DEFAULT_LIMITS,
) -> "Pixels":
    """Return the frames with these indexes as an array with the shape (frames, height, width, 3).

    The file is decoded in a separate process.
    """
    import numpy as np

    from .bounded import decode

    check_media(video, limits)
    reply, body = decode(video, limits, {"frames": [int(number) for number in numbers]})
    return np.frombuffer(body, np.uint8).reshape(reply["shape"])


def inspect_video_here(video: Video) -> VideoFacts:
    """Inspect a video in this process, as `inspect_video` does in another."""
    with _opened(video) as (container, stream):
        rate = stream.average_rate or stream.guessed_rate
        count = stream.frames
        if not count:
            # Matroska and GIF do not store the number of frames.
            packets = container.demux(stream)
            count = sum(packet.size > 0 for packet in packets)
        if not count or not rate:
            raise video.fault(
                "the video has no frames", fix="leave the row out, or get it again"
            )
        return VideoFacts(
            frames=count,
            rate=float(rate),
            width=stream.width,
            height=stream.height,
        )


def decode_frames_here(
    video: Video,
    numbers: Sequence[int],
    limits: Limits = DEFAULT_LIMITS,
) -> "list[Pixels]":
    """Decode frames in this process, as `decode_frames` does in another."""
    _check_bytes(video, len(numbers), limits)
    unique_numbers = set(numbers)
    last_number = max(unique_numbers)
    frames: dict[int, Pixels] = {}
    decoded = 0
    with _opened(video) as (container, stream):
        for number, frame in enumerate(container.decode(stream)):
            decoded = number + 1
            if number in unique_numbers:
                frames[number] = _pixels(frame)
            if number == last_number:
                break
    missing = [number for number in unique_numbers if number not in frames]
    if missing and not _may_be_missing(last_number + 1, decoded):
        raise video.fault(
            f"the video is cut off: frame {last_number} is missing, {decoded} can be decoded",
            fix="get the file again",
        )
    # The headers of some files count a few frames more than there are.
    for number in missing:
        frames[number] = frames[max(frames)]
    return [frames[number] for number in numbers]


def _may_be_missing(
    count: int,
    decoded: int,
) -> bool:
    """Return True if the difference between declared and decoded frames is small enough
    to be normal.

    A larger difference means that the file is truncated.
    """
    return decoded > 0 and count - decoded <= 2 + count // 100


def _check_bytes(
    video: Video,
    count: int,
    limits: Limits,
) -> None:
    """Raise if `count` decoded frames of a video would need too much memory, or if one frame is too large."""
    facts = inspect_video_here(video)
    check_size(video, facts.width, facts.height, limits)
    size = 3 * facts.width * facts.height * count
    if size > MOST_BYTES:
        raise video.fault(
            f"{count} frames of {facts.width} x {facts.height} pixels take {size / 1024**3:.1f} GiB",
            fix=f"take fewer frames: at most {MOST_BYTES // 1024**3} GiB",
        )


def _pixels(frame: "VideoFrame") -> "Pixels":
    """Return a frame as an array with the shape (height, width, 3), rotated as the file specifies."""
    import numpy as np

    pixels = frame.to_ndarray(format="rgb24")
    quarter_turns = round(frame.rotation / 90) % 4
    return np.ascontiguousarray(np.rot90(pixels, quarter_turns))


@contextmanager
def _opened(video: Video) -> "Iterator[tuple[Any, Any]]":
    """Open a file and return it with its first video stream.

    Errors of the decoder become `DataError`s with the video's location.
    """
    av = library("av", "PyAV, which reads videos,", "assay[media]")
    try:
        with av.open(io.BytesIO(video.data())) as container:
            if not container.streams.video:
                raise video.fault(
                    "the file has no video stream", fix="name the column `audio`"
                )
            yield container, container.streams.video[0]
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # FFmpeg's errors, and what PyAV raises for truncated streams.
        reason = getattr(error, "strerror", None) or str(error)
        raise video.fault(
            f"the video cannot be decoded: {reason}", fix="convert it to MP4"
        ) from error
