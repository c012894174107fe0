"""Films as picture files: the frames VLMEvalKit takes of them, by number or by rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import DataError, MissingExtra, UsageError
from ...store.file_ledger import FileLedger


@dataclass(frozen=True, slots=True)
class Spacing:
    """Which frames: `nframe` at equal distances, none at either end, else `fps` for each second from the start."""

    nframe: int
    fps: float

    def places(self, total: int, rate: float) -> list[int]:
        """The numbers of the frames, of a film of `total` frames at `rate` a second."""
        if self.nframe > 0:
            return [min(int(part * total / (self.nframe + 1)), total - 1) for part in range(1, self.nframe + 1)]
        if self.fps > 0:
            return [int(part * rate / self.fps) for part in range(int(total / rate * self.fps))]
        raise UsageError("neither nframe nor fps says which frames of a film", fix="give nframe=8, or fps=1")

    def name(self, number: int, count: int) -> str:
        """The file of one frame, counted from 1."""
        rate = "" if self.nframe > 0 else f"-{self.fps}fps"
        return f"frame-{number}-of-{count}{rate}.jpg"


def film_frames(film: Path, folder: Path, spacing: Spacing) -> list[str]:
    """The frames as files under `folder`; those that are there and not older than the film are used again."""
    if not film.is_file():
        raise DataError("no such film", file=str(film), fix="put it there, or let `prepare_dataset` say where it is")
    total, rate = _measured(film)
    places = spacing.places(total, rate)
    if not places:
        raise DataError("the film is too short for a frame", file=str(film), fix="give nframe, or a higher fps")
    files = [folder / spacing.name(number, len(places)) for number in range(1, len(places) + 1)]
    filmed = film.stat().st_mtime_ns
    stale = {
        file: place
        for file, place in zip(files, places, strict=True)
        if not (file.exists() and file.stat().st_mtime_ns >= filmed)
    }
    if stale:
        ledger = FileLedger(folder)
        _write(film, {ledger.claim(file): place for file, place in stale.items()})
    return [str(file) for file in files]


def _measured(film: Path) -> tuple[int, float]:
    """The number of frames, counted, since containers are often wrong about it; and their rate."""
    with _opened(film) as container:
        stream = container.streams.video[0]
        total = sum(1 for packet in container.demux(stream) if packet.pts is not None)
        rate = float(stream.average_rate or stream.guessed_rate or 1)
    if total == 0:
        raise DataError("the film has no frames", file=str(film))
    return total, rate


def _write(film: Path, wanted: dict[Path, int]) -> None:
    by_place: dict[int, list[Path]] = {}
    for file, place in wanted.items():
        by_place.setdefault(place, []).append(file)
    picture: Any = None
    with _opened(film) as container:
        for place, frame in enumerate(container.decode(container.streams.video[0])):
            if place in by_place:
                picture = frame.to_image()
                _save(picture, by_place.pop(place))
            if not by_place:
                return
    if picture is None:
        raise DataError("no frame of the film can be decoded", file=str(film))
    for files in by_place.values():  # packets that gave no picture: the last that did stands for them
        _save(picture, files)


def _save(picture: Any, files: Sequence[Path]) -> None:
    for file in files:
        picture.convert("RGB").save(file, quality=95)


def _opened(film: Path) -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingExtra("PyAV, which reads films,", "assay[video]") from error
    try:
        container = av.open(str(film))
    except av.FFmpegError as error:
        raise DataError(f"the film cannot be read: {error.strerror}", file=str(film)) from error
    if not container.streams.video:
        container.close()
        raise DataError("the file has no video stream", file=str(film))
    return container
