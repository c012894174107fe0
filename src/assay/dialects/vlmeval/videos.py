"""Videos as image files: the frames VLMEvalKit takes of them, by number or by rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import DataError, UsageError, library
from ...store.file_ledger import FileLedger


@dataclass(frozen=True, slots=True)
class Spacing:
    """Which frames: `nframe` at equal distances, none at either end, else `fps` for each second from the start."""

    nframe: int
    fps: float

    def places(self, total: int, rate: float) -> list[int]:
        """The numbers of the frames, of a video of `total` frames at `rate` a second."""
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
        """The file of one frame, counted from 1."""
        rate = "" if self.nframe > 0 else f"-{self.fps}fps"
        return f"frame-{number}-of-{count}{rate}.jpg"


def video_frames(video: Path, folder: Path, spacing: Spacing) -> list[str]:
    """The frames as files under `folder`; those that are there and not older than the video are used again."""
    if not video.is_file():
        raise DataError(
            "no such video",
            file=str(video),
            fix="put it there, or let `prepare_dataset` say where it is",
        )
    total, rate = _measured(video)
    places = spacing.places(total, rate)
    if not places:
        raise DataError(
            "the video is too short for a frame",
            file=str(video),
            fix="give nframe, or a higher fps",
        )
    files = [
        folder / spacing.name(number, len(places))
        for number in range(1, len(places) + 1)
    ]
    of_video = video.stat().st_mtime_ns
    stale = {
        file: place
        for file, place in zip(files, places, strict=True)
        if not (file.exists() and file.stat().st_mtime_ns >= of_video)
    }
    if stale:
        ledger = FileLedger(folder)
        _write(video, {ledger.claim(file): place for file, place in stale.items()})
    return [str(file) for file in files]


def _measured(video: Path) -> tuple[int, float]:
    """The number of frames, counted, since containers are often wrong about it; and their rate."""
    with _opened(video) as container:
        stream = container.streams.video[0]
        total = sum(1 for packet in container.demux(stream) if packet.pts is not None)
        rate = float(stream.average_rate or stream.guessed_rate or 1)
    if total == 0:
        raise DataError("the video has no frames", file=str(video))
    return total, rate


def _write(video: Path, wanted: dict[Path, int]) -> None:
    by_place: dict[int, list[Path]] = {}
    for file, place in wanted.items():
        by_place.setdefault(place, []).append(file)
    image: Any = None
    with _opened(video) as container:
        for place, frame in enumerate(container.decode(container.streams.video[0])):
            if place in by_place:
                image = frame.to_image()
                _save(image, by_place.pop(place))
            if not by_place:
                return
    if image is None:
        raise DataError("no frame of the video can be decoded", file=str(video))
    for files in (
        by_place.values()
    ):  # packets that gave no image: the last that did stands for them
        _save(image, files)


def _save(image: Any, files: Sequence[Path]) -> None:
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
