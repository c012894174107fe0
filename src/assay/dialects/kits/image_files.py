"""Media as files: for models that take a path, and expect plain RGB behind that of an image.

A file is named by the hash of the medium's bytes: a changed dataset never meets the pixels of an older one, and rows
that share an image share its file.
"""

import os

from ...core import Image, Media
from ...core.media import is_inline
from .base64_images import needs_rgb
from .row_images import plain_bytes, write_file

CONVERTED = "-rgb.png"
"""How names of images end whose file is not their own bytes."""
_SUFFIXES = {"jpeg": "jpg", "tiff": "tif"}


def media_file(medium: Media, folder: str) -> str:
    """The medium's own file, or the one it is named after; else one in `folder` with its bytes.

    An image with a palette or alpha becomes RGB there.
    """
    file = file_path(medium)
    if file is not None:
        return file
    is_converted = isinstance(medium, Image) and needs_rgb(medium)
    kind = medium.format or "bin"
    suffix = CONVERTED if is_converted else f".{_SUFFIXES.get(kind, kind)}"
    path = f"{folder}{os.sep}{medium.digest[:32]}{suffix}"
    if not os.path.exists(path):
        write_file(
            path, plain_bytes(medium) if isinstance(medium, Image) else medium.data()
        )
    return path


def file_path(medium: Media) -> str | None:
    """The file a medium comes from, or is named after; `None` if there is none yet."""
    source = medium.source
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and _is_file(source)
    ):
        return os.fspath(source)
    name = medium.name
    return (
        name
        if name is not None and name[:1] == os.sep and os.path.isfile(name)
        else None
    )


def _is_file(source: str) -> bool:
    # Base64 is not looked for on the disk: for every row that would cost more than the rest of the way.
    if (
        len(source) > 4096
        or source.startswith(("http:", "https:"))
        or is_inline(source)
    ):
        return False
    return os.path.isfile(source)
