"""Media as files for models that take a path."""

import io
from pathlib import Path

from PIL import Image as pillow

from assay.core import Image
from assay.dialects.kits.row_images import media_file


def png(mode: str, colour) -> bytes:
    buffer = io.BytesIO()
    pillow.new(mode, (2, 2), colour).save(buffer, "PNG")
    return buffer.getvalue()


def test_bytes_are_written_once_under_the_name_of_their_hash(tmp_path):
    picture = Image(png("RGB", (1, 2, 3)))

    path = Path(media_file(picture, str(tmp_path / "cache")))

    assert path.read_bytes() == picture.data()
    assert path.stem == picture.digest[:32]
    assert media_file(Image(picture.data()), str(tmp_path / "cache")) == str(path)


def test_other_pixels_get_another_file(tmp_path):
    first, second = (
        media_file(Image(png("RGB", colour)), str(tmp_path))
        for colour in ((1, 2, 3), (9, 9, 9))
    )

    assert first != second


def test_an_image_with_alpha_is_written_as_rgb(tmp_path):
    path = media_file(Image(png("RGBA", (0, 0, 0, 0))), str(tmp_path))

    assert pillow.open(path).mode == "RGB"
    assert pillow.open(path).getpixel((0, 0)) == (255, 255, 255)


def test_an_image_that_is_a_file_keeps_it(tmp_path):
    file = tmp_path / "own.png"
    file.write_bytes(png("RGB", (0, 0, 0)))

    assert media_file(Image(file), str(tmp_path / "cache")) == str(file)
    assert media_file(Image(str(file)), str(tmp_path / "cache")) == str(file)
