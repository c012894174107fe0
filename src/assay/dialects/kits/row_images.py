"""Images of rows as files, under the names the kits give them: `<index>.png`, or what `image_path` says.

A file is written when somebody asks for its path. Where another image lies under that name already, as after an edit
of the table, the new one gets a name of its own beside it: nobody is ever shown the pixels of another row or another
table. Rows that share an image share its bytes on the disk.
"""

import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...core import Image
from ...datasets.faults import RowFault
from ...media.images import decode_image, to_rgb
from .base64_images import needs_rgb

_FORMATS = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".gif": "GIF",
    ".bmp": "BMP",
    ".webp": "WEBP",
    ".tif": "TIFF",
}
_files: dict[str, str] = {}
"""By whole path: the digest of the image that this process wrote there, or found there."""
_paths: dict[tuple[str, str, str], str] = {}
"""By folder, suffix and digest: a file with the same bytes, to link to."""


def file_names(
    index: object, count: int, named: Sequence[str], single: str
) -> list[str]:
    """The names of a row's images: those that `image_path` gives, else after the row's index.

    `single` is the suffix of a row's only image; one of several is `<index>_<place>.png`.
    """
    if named:
        return list(named)
    return (
        [f"{index}{single}"]
        if count == 1
        else [f"{index}_{place}.png" for place in range(count)]
    )


def image_file_path(
    image: Image, folder: str, name: str, *, encodes: bool = False
) -> str:
    """The path of a file with this image: `folder/name`, unless another image has that name.

    `encodes` writes what upstream writes, the pixels in the format of the suffix; else an image's own bytes are kept,
    and one with a palette or alpha becomes RGB.
    """
    path = os.path.join(folder, name)
    if is_written(path, image):
        return path
    if not os.path.abspath(path).startswith(os.path.abspath(folder) + os.sep):
        raise RowFault(
            "the image file lies outside the data folder", column="image_path", got=name
        )
    data = _encoded(image, name) if encodes else plain_bytes(image)
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


def is_written(path: str, image: Image) -> bool:
    """Whether this process knows a file to hold an image."""
    whole = path if path[:1] == os.sep else os.path.abspath(path)
    return _files.get(whole) == image.digest and os.path.exists(whole)


def plain_bytes(image: Image) -> bytes:
    """The bytes of an image; a PNG in RGB of one with a palette or alpha."""
    if not needs_rgb(image):
        return image.data()
    buffer = io.BytesIO()
    decode_image(image).save(buffer, format="PNG")
    return buffer.getvalue()


def _encoded(image: Image, name: str) -> bytes:
    from PIL import Image as pillow

    opened = pillow.open(io.BytesIO(image.data()))
    fmt = _FORMATS.get(os.path.splitext(name)[1].lower(), "PNG")
    plain = opened.convert("RGB") if opened.mode in ("RGBA", "P", "LA") else opened
    buffer = io.BytesIO()
    (
        to_rgb(plain)
        if fmt == "JPEG" and plain.mode not in ("RGB", "L", "CMYK")
        else plain
    ).save(buffer, format=fmt)
    return buffer.getvalue()


def _holds(path: str, data: bytes) -> bool:
    try:
        return os.path.getsize(path) == len(data) and Path(path).read_bytes() == data
    except OSError:
        return False


def _put(path: str, data: bytes, key: tuple[str, str, str]) -> None:
    same = _paths.get(key)
    if same is not None and _holds(same, data):
        try:
            os.link(same, path)
            return
        except OSError:
            pass  # a disk without links, no folder yet, or another process was first
    write_file(path, data)
    _paths[key] = os.path.abspath(path)


def write_file(path: str, data: bytes) -> None:
    """Writes a file that is whole as soon as it is there; the folder is made."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=os.path.dirname(path), prefix=".part-", delete=False
    ) as part:
        part.write(data)
    os.chmod(part.name, 0o644)
    os.replace(part.name, path)
