"""The process that decodes media: it takes bytes, returns pixels or samples, and can do little else.

`assay.media.bounded` starts it. A request is one line of JSON and the medium's bytes; a
reply is one line of JSON and the decoded bytes. Memory and processor time are limited
for each request, and writing files is disabled. A file that exploits a decoder can
crash this process, but not the run.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import IO, Any

from ..core import Audio, DataError, Image, MissingExtra, Video
from .audio import decode_audio_here
from .images import decode_image_here
from .media_headers import Limits
from .video import decode_frames_here, inspect_video_here

Reply = tuple[dict[str, Any], Iterable[Any]]
"""The description of the decoded medium, such as its shape, and its bytes in pieces."""


def main() -> None:
    """Reply to requests on standard input and output. Output that libraries print is redirected to standard error."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, replies)


def serve(
    requests: IO[bytes],
    replies: IO[bytes],
) -> None:
    """Decode the medium of each request and write the reply, until there are no more requests."""
    _limit_for_good()
    while line := requests.readline():
        request = json.loads(line)
        data = requests.read(request["bytes"])
        _limit(request["memory"], request["seconds"])
        reply, pieces = _answer(request, data)

        head = json.dumps(reply).encode()
        replies.write(head + b"\n")
        for piece in pieces:
            replies.write(piece)
        replies.flush()


def _answer(
    request: Mapping[str, Any],
    data: bytes,
) -> Reply:
    try:
        return _DECODERS[request["kind"]](
            data,
            Limits(**request["limits"]),
            request["options"],
        )
    except DataError as error:
        return {"fault": error.what, "fix": error.fix}, ()
    except MissingExtra as error:
        return {
            "missing": error.what.removesuffix(" is not installed"),
            "pip": error.pip,
        }, ()
    except MemoryError:
        return {"memory": True}, ()
    except Exception as error:  # noqa: BLE001 - a decoder's own fault is this medium's
        return {
            "fault": f"the {request['kind']} cannot be decoded: {type(error).__name__}: {error}",
            "fix": None,
        }, ()


def _image(
    data: bytes,
    limits: Limits,
    options: Mapping[str, Any],
) -> Reply:
    image = decode_image_here(Image(data), limits=limits)
    pixels = image.tobytes()
    return {"size": image.size, "bytes": len(pixels)}, (pixels,)


def _audio(
    data: bytes,
    limits: Limits,
    options: Mapping[str, Any],
) -> Reply:
    audio = decode_audio_here(
        Audio(data),
        rate=options["rate"],
        channels=options["channels"],
        limits=limits,
    )
    reply = {
        "shape": audio.samples.shape,
        "bytes": audio.samples.nbytes,
        "rate": audio.rate,
        "conversions": audio.conversions,
    }
    return reply, (audio.samples.data.cast("B"),)


def _video(
    data: bytes,
    limits: Limits,
    options: Mapping[str, Any],
) -> Reply:
    """Return the properties of a video, or the frames requested in `options`."""
    video = Video(data)
    if options["frames"] is None:
        return {"facts": asdict(inspect_video_here(video))}, ()
    frames = decode_frames_here(video, options["frames"], limits)
    reply = {
        "shape": (len(frames), *frames[0].shape),
        "bytes": sum(frame.nbytes for frame in frames),
    }
    return reply, [frame.data.cast("B") for frame in frames]


_DECODERS: dict[str, Callable[[bytes, Limits, Mapping[str, Any]], Reply]] = {
    "image": _image,
    "audio": _audio,
    "video": _video,
}


def _limit_for_good() -> None:
    try:
        import resource
    except (
        ImportError
    ):  # This system has no such limits; the caller's deadline remains.
        return
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))


def _limit(memory: int, seconds: float) -> None:
    """Limit the address space of the process, and its processor time from now on."""
    try:
        import resource
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(
        resource.RLIMIT_AS,
        (memory if hard == resource.RLIM_INFINITY else min(memory, hard), hard),
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(
        resource.RLIMIT_CPU,
        (until if hard == resource.RLIM_INFINITY else min(until, hard), hard),
    )
