"""Images as base64 text and back."""

import base64
import io
import sys
from pathlib import Path

import pytest
from PIL import Image as pillow

from assay.core import DataError, Image
from assay.dialects.kits.base64_images import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
    needs_rgb,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "media"))
from made_media import bomb


@pytest.fixture
def glass() -> pillow.Image:
    picture = pillow.new("RGBA", (5, 3), (10, 20, 30, 0))
    picture.putpixel((1, 1), (200, 100, 50, 128))
    return picture


def test_an_image_with_alpha_comes_back_pixel_by_pixel(glass):
    back = decode_base64_to_image(encode_image_to_base64(glass))

    assert back.mode == "RGBA"
    assert back.tobytes() == glass.tobytes()


def test_a_file_with_alpha_comes_back_byte_by_byte(glass, tmp_path):
    glass.save(tmp_path / "a.png")

    decode_base64_to_image_file(
        encode_image_file_to_base64(tmp_path / "a.png"), tmp_path / "new" / "b.png"
    )

    assert (tmp_path / "new" / "b.png").read_bytes() == (
        tmp_path / "a.png"
    ).read_bytes()


def test_a_jpeg_lays_alpha_over_white(glass, tmp_path):
    decode_base64_to_image_file(encode_image_to_base64(glass), tmp_path / "b.jpg")

    assert pillow.open(tmp_path / "b.jpg").format == "JPEG"
    assert min(pillow.open(tmp_path / "b.jpg").getpixel((4, 2))) > 200


def test_target_size_bounds_the_longer_side(glass):
    assert decode_base64_to_image(
        encode_image_to_base64(glass), target_size=2
    ).size == (2, 1)
    assert decode_base64_to_image(
        encode_image_to_base64(glass, target_size=2)
    ).size == (2, 1)


def test_a_data_url_is_understood(glass):
    assert decode_base64_to_image(
        "data:image/png;base64," + encode_image_to_base64(glass)
    ).size == (5, 3)


@pytest.mark.parametrize(
    "text", ["not base64!", base64.b64encode(b"no picture").decode()]
)
def test_what_is_no_image_says_so(text):
    with pytest.raises(DataError):
        decode_base64_to_image(text)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("RGB", False), ("L", False), ("P", True), ("LA", True), ("RGBA", True)],
)
def test_the_header_tells_whether_rgb_must_be_made(mode, wanted):
    buffer = io.BytesIO()
    pillow.new(mode, (2, 2)).save(buffer, "PNG")

    assert needs_rgb(Image(buffer.getvalue())) is wanted


def test_an_image_that_unpacks_to_too_much_is_refused_by_its_header():
    with pytest.raises(DataError, match="too large: 14,000 x 14,000 pixels"):
        decode_base64_to_image(base64.b64encode(bomb()).decode())
