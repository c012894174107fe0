"""Media as files: for models that take a path, and expect plain RGB behind that of a picture.

A file is named by the hash of the medium's bytes: a changed dataset never meets the pixels of an older one, and rows
that share a picture share its file.
"""

import io
import os
import tempfile
from pathlib import Path

from ..core import Image, Media
from .base64_images import needs_rgb
from .images import decode_image

_SUFFIXES = {"jpeg": "jpg", "tiff": "tif"}


def media_file(medium: Media, folder: Path) -> Path:
    """The medium's own file; else one in `folder` with its bytes, a picture with a palette or alpha as RGB."""
    source = medium.source
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_file(source)):
        return Path(source)
    name = medium.digest[:32]
    if isinstance(medium, Image) and needs_rgb(medium):
        path = folder / f"{name}-rgb.png"
        if not path.exists():
            buffer = io.BytesIO()
            decode_image(medium).save(buffer, format="PNG")
            _write(path, buffer.getvalue())
        return path
    found = medium.format or "bin"
    path = folder / f"{name}.{_SUFFIXES.get(found, found)}"
    if not path.exists():
        _write(path, medium.data())
    return path


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as part:
        part.write(data)
    os.replace(part.name, path)


def _is_file(source: str) -> bool:
    return len(source) <= 4096 and not source.startswith(("data:", "http:", "https:")) and os.path.isfile(source)
