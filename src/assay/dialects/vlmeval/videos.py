"""Extract frames of a video as image files, evenly spaced or at a fixed rate, at the same positions as VLMEvalKit."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import DataError, UsageError, library
from ...store.file_ledger import FileLedger

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


@dataclass(frozen=True, slots=True)
class Spacing:
    """Chooses which frames of a video to extract.

    `nframe` gives evenly spaced frames, without the first and the last one. `fps` gives
    a fixed rate from the beginning.
    """

    nframe: int
    fps: float

    def places(self, total: int, rate: float) -> list[int]:
        """Return the indices of the frames to extract. The video has `total` frames at `rate` frames per second."""
        if self.nframe > 0:
            return [
                min(int(part * total / (self.nframe + 1)), total - 1)
                for part in range(1, self.nframe + 1)
            ]
        if self.fps > 0:
            return [
                int(part * rate / self.fps)
                for part in range(int(total / rate * self.fps))
            ]
        raise UsageError(
            "neither nframe nor fps says which frames of a video",
            fix="give nframe=8, or fps=1",
        )

    def name(self, number: int, count: int) -> str:
        """Return the file name of frame `number` (from 1) of `count`."""
        if self.nframe > 0:
            rate = ""
        else:
            rate = f"-{self.fps}fps"
        return f"frame-{number}-of-{count}{rate}.jpg"


def video_frames(
    video: Path,
    folder: Path,
    spacing: Spacing,
) -> list[str]:
    """Write the selected frames of a video below `folder`, and return their paths.

    Existing files are reused unless they are older than the video.
    """
    if not video.is_file():
        raise DataError(
            "no such video",
            file=str(video),
            fix="put it there, or let `prepare_dataset` say where it is",
        )
    total, rate = _measured(video)
    frame_numbers = spacing.places(total, rate)
    if not frame_numbers:
        raise DataError(
            "the video is too short for a frame",
            file=str(video),
            fix="give nframe, or a higher fps",
        )
    files = [
        folder / spacing.name(number, len(frame_numbers))
        for number in range(1, len(frame_numbers) + 1)
    ]
    of_video = video.stat().st_mtime_ns
    stale = {
        file: frame_number
        for file, frame_number in zip(files, frame_numbers, strict=True)
        if not (file.exists() and file.stat().st_mtime_ns >= of_video)
    }
    if stale:
        ledger = FileLedger(folder)
        _write(
            video,
            {ledger.claim(file): frame_number for file, frame_number in stale.items()},
        )
    return [str(file) for file in files]


def _measured(video: Path) -> tuple[int, float]:
    """Return a video's number of frames and its frames per second.

    The frames are counted, because the number in a video file's header is often wrong.
    """
    with _opened(video) as container:
        stream = container.streams.video[0]
        total = 0
        for packet in container.demux(stream):
            if packet.pts is not None:
                total += 1
        rate = float(stream.average_rate or stream.guessed_rate or 1)
    if total == 0:
        raise DataError("the video has no frames", file=str(video))
    return total, rate


def _write(
    video: Path,
    wanted: dict[Path, int],
) -> None:
    """Write frames of a video as image files. `wanted` gives the frame number for each file."""
    files_of: dict[int, list[Path]] = {}
    for file, number in wanted.items():
        files_of.setdefault(number, []).append(file)
    image: Any = None
    with _opened(video) as container:
        stream = container.streams.video[0]
        for number, frame in enumerate(container.decode(stream)):
            if number in files_of:
                image = frame.to_image()
                _save(image, files_of.pop(number))
            if not files_of:
                return
    if image is None:
        raise DataError("no frame of the video can be decoded", file=str(video))
    # The remaining packets have no image: use the last image.
    for files in files_of.values():
        _save(image, files)


def _save(
    image: "PilImage",
    files: Sequence[Path],
) -> None:
    for file in files:
        image.convert("RGB").save(file, quality=95)


def _opened(video: Path) -> Any:
    av = library("av", "PyAV, which reads videos,", "assay[video]")
    try:
        container = av.open(str(video))
    except av.FFmpegError as error:
        raise DataError(
            f"the video cannot be read: {error.strerror}", file=str(video)
        ) from error
    if not container.streams.video:
        container.close()
        raise DataError("the file has no video stream", file=str(video))
    return container
