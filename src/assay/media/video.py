"""Videos as images: frames sampled evenly over the whole length, for models that see only stills."""

import io
from typing import TYPE_CHECKING, Any

from ..core import MissingExtra, UsageError, Video
from .checks import check_media, check_size
from .facts import DEFAULT_LIMITS, Limits
from .faults import fault
from .images import to_rgb

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


def decode_frames(video: Video, count: int, *, limits: Limits = DEFAULT_LIMITS) -> list["PilImage"]:
    """`count` frames as RGB, from the middle of as many equal stretches; all frames of a video that has fewer.

    The work is done in a process of its own.
    """
    from PIL import Image as pillow

    from .bounded import decode

    if not 1 <= count <= limits.frames:
        raise UsageError(f"cannot take {count} frames of a video", fix=f"1 to {limits.frames}")
    _library()
    check_media(video, limits)
    said, body = decode(video, limits, {"count": count})
    frames, at = [], 0
    for width, height in said["sizes"]:
        after = at + 3 * width * height
        frames.append(pillow.frombytes("RGB", (width, height), bytes(body[at:after])))
        at = after
    return frames


def decode_frames_here(video: Video, count: int, *, limits: Limits = DEFAULT_LIMITS) -> list["PilImage"]:
    """`decode_frames` in this process.

    The video is read twice, to count and to pick: what containers say of their number of frames is often wrong.
    """
    av = _library()
    facts = check_media(video, limits)
    try:
        total = _count(av, video, limits)
        if total == 0:
            raise fault(video, "the video has no frames")
        wanted = {(2 * part + 1) * total // (2 * count) for part in range(count)}
        return _pick(av, video, wanted)
    except av.FFmpegError as error:
        raise fault(
            video, f"the {facts.format} cannot be decoded: {error.strerror}", fix="get the file again"
        ) from error


def _count(av: Any, video: Video, limits: Limits) -> int:
    with av.open(io.BytesIO(video.data())) as container:
        if not container.streams.video:
            raise fault(video, "the file has no video stream")
        stream = container.streams.video[0]
        check_size(video, stream.width, stream.height, limits)
        return sum(1 for _ in container.decode(stream))


def _pick(av: Any, video: Video, wanted: set[int]) -> list["PilImage"]:
    last = max(wanted)
    taken: list[PilImage] = []
    with av.open(io.BytesIO(video.data())) as container:
        for index, frame in enumerate(container.decode(container.streams.video[0])):
            if index in wanted:
                taken.append(to_rgb(frame.to_image()))
            if index == last:
                break
    return taken


def _library() -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingExtra("PyAV, which reads videos,", "assay[video]") from error
    return av
