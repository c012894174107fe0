"""Write the images of rows to files with the toolkits' names: `<index>.png`, or the row's `image_path`.

A file of that name with other pixels is never overwritten.
"""

import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core import Image, Media
from ...core.media import is_inline
from ...datasets.faults import RowFault
from ...media.images import decode_image, to_rgb
from .base64_images import FORMATS_BY_SUFFIX, needs_rgb

_files: dict[str, str] = {}
"""For each absolute path, the digest of the image that this process has written to it or read from it."""
_paths: dict[tuple[str, str, str], str] = {}
"""Existing image files by folder, suffix and digest. Later images with the same bytes are written as links to them."""


def file_names(
    index: object,
    count: int,
    named: Sequence[str],
    single: str,
) -> list[str]:
    """Return file names for `count` images of a row. They are in `image_path`, or are made from the row's index.

    Made from the index, a single image has the suffix `single`; several are named
    `<index>_<number>.png`.
    """
    if named:
        return list(named)
    if count == 1:
        return [f"{index}{single}"]
    return [f"{index}_{number}.png" for number in range(count)]


def image_file_path(
    image: Image,
    folder: str,
    name: str,
    *,
    encodes: bool = False,
) -> str:
    """Write an image to `folder/name` unless the file exists, and return the path.

    If the name belongs to a different image, a digest is added to it. With `encodes`,
    the pixels are encoded in the format of the suffix, as in the toolkits. Otherwise
    the bytes are written unchanged, and an image with a palette or alpha becomes RGB.
    """
    path = os.path.join(folder, name)
    if is_written(path, image):
        return path
    if not os.path.abspath(path).startswith(os.path.abspath(folder) + os.sep):
        raise RowFault(
            "the image file is outside the data folder",
            column="image_path",
            got=name,
        )
    if encodes:
        data = _encoded(image, name)
    else:
        data = plain_bytes(image)
    if os.path.lexists(path) and not _holds(path, data):
        stem, suffix = os.path.splitext(path)
        path = f"{stem}-{image.digest[:8]}{suffix}"
    if not os.path.exists(path):
        _put(
            path,
            data,
            (os.path.abspath(folder), os.path.splitext(name)[1], image.digest),
        )
    _files[os.path.abspath(path)] = image.digest
    return path


def is_written(path: str, image: Media) -> bool:
    """Return True if this process has already written or checked this image at this path."""
    if path[:1] == os.sep:
        whole = path
    else:
        whole = os.path.abspath(path)
    return _files.get(whole) == image.digest and os.path.exists(whole)


def plain_bytes(image: Image) -> bytes:
    """Return the bytes of an image file. An image with a palette or alpha becomes an RGB PNG."""
    if not needs_rgb(image):
        return image.data()
    buffer = io.BytesIO()
    decode_image(image).save(buffer, format="PNG")
    return buffer.getvalue()


def _encoded(image: Image, name: str) -> bytes:
    from PIL import Image as pillow

    picture: Any = pillow.open(io.BytesIO(image.data()))
    if picture.mode in ("RGBA", "P", "LA"):
        picture = picture.convert("RGB")
    suffix = os.path.splitext(name)[1]
    fmt = FORMATS_BY_SUFFIX.get(suffix.lower(), "PNG")
    if fmt == "JPEG" and picture.mode not in ("RGB", "L", "CMYK"):
        picture = to_rgb(picture)
    buffer = io.BytesIO()
    picture.save(buffer, format=fmt)
    return buffer.getvalue()


def _holds(path: str, data: bytes) -> bool:
    try:
        return os.path.getsize(path) == len(data) and Path(path).read_bytes() == data
    except OSError:
        return False


def _put(
    path: str,
    data: bytes,
    key: tuple[str, str, str],
) -> None:
    same = _paths.get(key)
    if same is not None and _holds(same, data):
        try:
            os.link(same, path)
            return
        except OSError:
            pass  # The disk has no links, the folder is missing, or another process was faster.
    write_file(path, data)
    _paths[key] = os.path.abspath(path)


def write_file(path: str, data: bytes) -> None:
    """Write a file atomically, and create its folder."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=folder,
        prefix=".part-",
        delete=False,
    ) as part:
        part.write(data)
    os.chmod(part.name, 0o644)
    os.replace(part.name, path)


CONVERTED = "-rgb.png"
"""Suffix of files with images that were converted to RGB."""
_SUFFIXES = {"jpeg": "jpg", "tiff": "tif"}


def media_file(medium: Media, folder: str) -> str:
    """Return the file of an image, audio clip or video. If it has no file, write one in `folder`.

    In a new file, an image with a palette or transparency becomes RGB.
    """
    file = file_path(medium)
    if file is not None:
        return file
    if isinstance(medium, Image) and needs_rgb(medium):
        suffix = CONVERTED
    else:
        kind = medium.format or "bin"
        suffix = f".{_SUFFIXES.get(kind, kind)}"
    path = f"{folder}{os.sep}{medium.digest[:32]}{suffix}"
    if not os.path.exists(path):
        if isinstance(medium, Image):
            data = plain_bytes(medium)
        else:
            data = medium.data()
        write_file(path, data)
    return path


def file_path(medium: Media) -> str | None:
    """Return the path of the existing file that a medium was read from or is named after, otherwise `None`."""
    source = medium.source
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and _is_file(source)
    ):
        return os.fspath(source)
    name = medium.name
    if name is not None and name[:1] == os.sep and os.path.isfile(name):
        return name
    return None


def _is_file(source: str) -> bool:
    # Do not check if base64 is a path: that would take longer than everything else in a row.
    if (
        len(source) > 4096
        or source.startswith(("http:", "https:"))
        or is_inline(source)
    ):
        return False
    return os.path.isfile(source)
