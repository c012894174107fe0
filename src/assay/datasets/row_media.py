"""Media columns: cells that contain or name an image, an audio clip or a video.

A cell may be a path (relative to the data file's folder), base64, a data URL, a URL if
allowed, bytes, a Pillow image, an array, Hugging Face's `{"bytes": …, "path": …}` or
`{"array": …, "sampling_rate": …}`, or a list of these. Nothing is opened here: a
`Media` reads its bytes when they are needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import (
    EMPTY,
    Audio,
    DataError,
    Image,
    Media,
    Message,
    Sample,
    TemplateError,
    Text,
    UsageError,
    Video,
    shorten,
)
from ..core.media import is_inline
from ..core.message import Part
from ..media.audio import decode_audio
from ..media.checks import check_audio
from ..media.encode import READERS, audio_from, image_from, wav_of
from .faults import RowFault
from .reach import Reach
from .undecoded import RATE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from PIL.Image import Image as PillowImage

KINDS: dict[str, type[Media]] = {"image": Image, "audio": Audio, "video": Video}
URLS = ("http://", "https://")
FILE_NAME = "file_name"
"""The column of `metadata` files in Hugging Face's image and audio folders. A file's suffix determines its kind."""
_ENDINGS: dict[type[Media], str] = {
    Image: "png jpg jpeg gif webp bmp tif tiff avif heic jxl jp2 ppm",
    Audio: "wav flac mp3 ogg opus m4a aac aiff aif au amr wma mka",
    Video: "mp4 mkv mov avi webm m4v mpg mpeg",
}
SUFFIXES = {
    suffix: medium
    for medium, suffixes in _ENDINGS.items()
    for suffix in suffixes.split()
}


def media_columns(
    columns: Sequence[str],
    settings: Mapping[str, str] = EMPTY,
    unclaimed: Sequence[str] | None = None,
) -> tuple[tuple[tuple[str, type[Media]], ...], list[str]]:
    """Return the columns with media, and the requested columns that do not exist.

    Settings name columns: `image: photo`, or `image: first,second`, or an empty name
    for none. Without a setting, `unclaimed` columns are matched by name, ignoring case,
    one for each kind of medium: `image` before `image_path`. If none matches,
    `file_name` may name files of any kind.
    """
    free = columns if unclaimed is None else unclaimed
    folded = {name.lower(): name for name in reversed(free)}
    media: list[tuple[str, type[Media]]] = []
    absent: list[str] = []
    for kind, medium_type in KINDS.items():
        if kind in settings:
            requested = column_list(settings[kind], columns)
            absent += [name for name in requested if name not in columns]
            media += [(name, medium_type) for name in requested]
            continue
        names = (kind, f"{kind}s", f"{kind}_path", f"{kind}_paths")
        column = next(
            (
                name if name in free else folded[name]
                for name in names
                if name in folded
            ),
            None,
        )
        if column is not None:
            media.append((column, medium_type))
    if not media and FILE_NAME in free and not KINDS.keys() & settings.keys():
        media.append((FILE_NAME, Media))
    return tuple(media), absent


def column_list(
    setting: str,
    columns: Sequence[str],
) -> list[str]:
    """Return the columns named in a setting: a single one, which may contain a comma,
    or several separated by commas.
    """
    if setting in columns:
        return [setting]
    return [name.strip() for name in setting.split(",") if name.strip()]


def media_of(
    row: Mapping[str, Any],
    columns: Sequence[tuple[str, type[Media]]],
    reach: Reach | Path | None,
) -> tuple[Media, ...]:
    """Return the media of a row in the order of the columns, skipping empty cells."""
    if not isinstance(reach, Reach):
        reach = Reach(reach)
    media: list[Media] = []
    for column, medium_type in columns:
        cell = row.get(column)
        if cell is None or (isinstance(cell, (str, list)) and not cell):
            continue
        if medium_type is Media:
            if isinstance(cell, str):
                suffix = cell.rpartition(".")[2].lower()
            else:
                suffix = ""
            if suffix not in SUFFIXES:
                continue  # The cell names something else.
            medium_type = SUFFIXES[suffix]
        for piece in cell if isinstance(cell, (list, tuple)) else (cell,):
            medium = medium_of(piece, medium_type, column, reach)
            if medium.place is None:
                medium.place = (None, None, column)
            media.append(medium)
    return tuple(media)


def medium_of(
    cell: object,
    medium_type: type[Media],
    column: str,
    reach: Reach,
) -> Media:
    """Convert a cell to a medium. The cell may contain the medium, or a file name or URL."""
    if isinstance(cell, Media):
        return cell
    if isinstance(cell, Mapping):
        return _from_struct(cell, medium_type, column, reach)
    if isinstance(cell, str):
        if cell.startswith(URLS):
            return reach.medium(cell, medium_type, column)
        if is_inline(cell):
            return medium_type(cell, read=READERS[medium_type.kind])
        return medium_type(reach.file(cell, medium_type.kind, column), name=cell)
    if isinstance(cell, Path):
        return medium_type(reach.file(str(cell), medium_type.kind, column))
    if medium_type is Image and (
        hasattr(cell, "save") or hasattr(cell, "__array_interface__")
    ):
        return medium_type(cell, read=_png)
    if isinstance(cell, (bytes, bytearray, memoryview)) or callable(
        getattr(cell, "read", None)
    ):
        return medium_type(cell)
    raise RowFault(
        f"cannot read {medium_type.kind} from a {type(cell).__name__}",
        column=column,
        got=cell,
        fix="give a path, bytes or base64"
        + (', or {"array", "sampling_rate"}' if medium_type is Audio else ""),
    )


def within_reach(
    messages: tuple[Message, ...],
    column: str,
    reach: Reach,
) -> tuple[Message, ...]:
    """Return the messages of a row after checking their media by the same rules as media columns."""

    def held(part: Part) -> Any:
        if not isinstance(part, Media) or part.place is not None:
            return part
        medium = medium_of(part.source, type(part), column, reach)
        medium.place = (None, None, column)
        return medium

    return tuple(
        replace(message, parts=tuple(held(part) for part in message.parts))
        if message.parts and any(isinstance(part, Media) for part in message.parts)
        else message
        for message in messages
    )


def holder(reach: Reach, where: str) -> Callable[[Media], Media]:
    """Return a function that opens media files named in a template, with the same
    restrictions as for rows.

    If the rows have no folder and the template comes from data, its media must be in
    the working folder.
    """
    has_folder = reach.folder is not None or reach.root is not None

    def hold(medium: Media) -> Media:
        try:
            if has_folder or medium.place is None:
                bound = reach
            else:
                bound = reach.beside(Path.cwd())
            return medium_of(medium.source, type(medium), "", bound)
        except RowFault as fault:
            raise TemplateError(
                f"{fault.what}: {shorten(str(medium.source))}",
                where=where,
                fix=fault.fix,
            ) from fault

    return hold


def with_made_media(sample: Sample) -> Sample:
    """Return a sample that was built in Python, with its media converted to a tuple of
    `Media`.

    Single media and Pillow images are accepted. Raise `RowFault` for any other value.
    """
    media: Any = sample.media
    if type(media) is tuple and not media:
        return sample
    if type(media) is tuple and all(isinstance(medium, Media) for medium in media):
        return sample
    if isinstance(media, (list, tuple)):
        entries = media
    else:
        entries = (media,)
    items: list[Media] = []
    for number, entry in enumerate(entries, 1):
        if hasattr(entry, "save") and hasattr(entry, "size"):
            entry = Image(entry)
        if not isinstance(entry, Media):
            raise RowFault(
                f"entry {number} of media is of type {type(entry).__name__}",
                column="media",
                got=entry,
                fix="write Image(…), Audio(…) or Video(…) of assay around a path or bytes",
            )
        items.append(entry)
    return replace(sample, media=tuple(items))


def set_place(
    sample: Sample,
    file: str,
    row: int,
) -> None:
    """Record the file and row of a sample in its media, for error messages."""
    media = list(sample.media)
    if not isinstance(sample.input, str):
        for message in sample.input:
            for part in message.parts or ():
                if type(part) is not Text and isinstance(
                    part, Media
                ):  # fast path: nearly all parts are texts
                    media.append(part)
    for medium in media:
        if medium.place is None or medium.place[0] is None:
            medium.place = (file, row, medium.place[2] if medium.place else None)


def _from_struct(
    cell: Mapping[str, Any],
    medium_type: type[Media],
    column: str,
    reach: Reach,
) -> Media:
    if cell.get("array") is not None and medium_type is Audio:
        return medium_type(cell, read=_wav)
    data = cell.get("bytes")
    path = cell.get("path")
    medium: Media | None = None
    if isinstance(data, (bytes, bytearray, memoryview)):
        if isinstance(path, str) and path:
            name = path
        else:
            name = None
        medium = medium_type(bytes(data), name=name)
    elif isinstance(path, str) and path:
        medium = medium_of(path, medium_type, column, reach)
    if medium is not None:
        rate = cell.get(RATE)
        if isinstance(medium, Audio) and isinstance(rate, int):
            return _at_rate(medium, rate)
        return medium
    raise RowFault(
        f"the {medium_type.kind} has neither bytes nor path",
        column=column,
        got=cell,
    )


def _at_rate(clip: Audio, rate: int) -> Audio:
    """Return a clip that is resampled to `rate` when it is first read.

    A clip that already has this rate, or that is broken, is returned unchanged.
    """

    def resampled(_: object) -> bytes:
        data = clip.data()
        try:
            if check_audio(clip).rate == rate:
                return data
        except DataError:
            return data  # the fault is reported with its row when the clip is checked
        return wav_of(decode_audio(clip, rate=rate), clip).data()

    is_bytes = isinstance(clip.source, bytes)
    if is_bytes:
        source = {"path": clip.name, RATE: rate}
    else:
        source = clip.source
    return Audio(
        source,
        name=clip.name,
        read=resampled,
    )


def _png(image: "PillowImage | ArrayLike") -> bytes:
    try:
        return image_from(image).data()
    except UsageError as error:
        raise DataError(error.what, fix=error.fix) from error


def _wav(cell: Mapping[str, Any]) -> bytes:
    """Return an audio clip from an array and a rate, as a WAV file of floats without rounding."""
    import numpy as np

    rate = cell.get("sampling_rate")
    if not isinstance(rate, int):
        raise DataError(
            "the audio has no sampling_rate",
            fix='give {"array": …, "sampling_rate": 16000}',
        )
    samples = np.asarray(cell["array"])
    if samples.ndim == 2 and samples.shape[0] < samples.shape[1]:
        samples = samples.T  # decoders return channels by frames
    try:
        return audio_from(samples, rate, subtype="FLOAT").data()
    except UsageError as error:
        raise DataError(error.what, fix=error.fix) from error
