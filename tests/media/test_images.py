"""Images: what must work works, what is broken is one located line."""

import contextlib
import random
import warnings

import numpy as np
import pytest
from made_media import GREEN, RED, animation, bomb, gradient, saved
from PIL import Image as pillow

from assay.core import DataError, Image
from assay.media import Limits, decode_image, to_rgb


def decoded(data, **options):
    return decode_image(Image(data), **options)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "GIF"])
def test_lossless_formats_decode_to_the_same_pixels(format):
    picture = pillow.new("RGB", (8, 4), RED)

    assert list(decoded(saved(picture, format)).get_flattened_data()) == [RED] * 32


@pytest.mark.parametrize("format", ["JPEG", "WEBP"])
def test_lossy_formats_decode_to_nearly_the_same_pixels(format):
    made = decoded(saved(gradient(), format, quality=95))

    assert np.abs(np.asarray(made, int) - np.asarray(gradient(), int)).mean() < 8


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_is_turned_upright_by_its_exif(orientation):
    turns = {1: None, 2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    upright = gradient()
    exif = pillow.Exif()
    exif[0x0112] = orientation
    turn = turns[orientation]
    stored = upright if turn is None else upright.transpose(pillow.Transpose(turn))

    made = decoded(saved(stored, "PNG", exif=exif))

    assert made.size == upright.size
    assert np.array_equal(np.asarray(made), np.asarray(upright))


def test_a_cmyk_jpeg_keeps_its_colours():
    made = decoded(
        saved(pillow.new("RGB", (16, 16), RED).convert("CMYK"), "JPEG", quality=100)
    )

    assert made.mode == "RGB"
    assert np.abs(np.asarray(made, int) - RED).max() <= 12


def test_sixteen_bit_grey_is_scaled_and_not_clipped():
    ramp = np.array([[0, 1000, 40_000, 65_535]], np.uint16)

    made = decoded(saved(pillow.fromarray(ramp), "PNG"))

    assert np.asarray(made)[0, :, 0].tolist() == [0, 3, 155, 255]


def test_transparency_is_laid_over_white():
    image = pillow.new("RGBA", (1, 1), (255, 0, 0, 0))

    assert decoded(saved(image, "PNG")).getpixel((0, 0)) == (255, 255, 255)


def test_half_transparent_pixels_are_mixed():
    made = decoded(saved(pillow.new("LA", (1, 1), (0, 51)), "PNG"))

    assert made.getpixel((0, 0)) == (204, 204, 204)


def test_a_palette_becomes_its_colours_with_its_transparent_one_on_the_ground():
    picture = pillow.new("P", (2, 1))
    picture.putpalette([*GREEN, *RED])
    picture.putpixel((1, 0), 1)

    assert list(decoded(saved(picture, "PNG")).get_flattened_data()) == [GREEN, RED]
    see_through = saved(picture, "PNG", transparency=1)
    assert list(decoded(see_through).get_flattened_data()) == [GREEN, (255, 255, 255)]


@pytest.mark.parametrize(
    ("values", "expected"), [([[0.0, 1.0]], [0, 255]), ([[0.0, 200.0]], [0, 200])]
)
def test_floating_point_pixels_are_scaled_by_their_range(values, expected):
    made = to_rgb(pillow.fromarray(np.array(values, np.float32)))

    assert np.asarray(made)[0, :, 0].tolist() == expected


def test_bilevel_images_become_black_and_white():
    assert decoded(saved(pillow.new("1", (1, 1), 1), "PNG")).getpixel((0, 0)) == (
        255,
        255,
        255,
    )


BROKEN = {
    "truncated JPEG": (
        lambda: saved(gradient((400, 300)), "JPEG")[:-2000],
        "the JPEG is cut off",
    ),
    "half a JPEG": (
        lambda: (d := saved(gradient((400, 300)), "JPEG"))[: len(d) // 2],
        "the JPEG is cut off",
    ),
    "PNG without IEND": (lambda: saved(gradient(), "PNG")[:-12], "the PNG is cut off"),
    "PNG cut by 20 bytes": (
        lambda: saved(gradient(), "PNG")[:-20],
        "the PNG is cut off",
    ),
    "GIF without trailer": (
        lambda: saved(gradient(), "GIF")[:-1],
        "the GIF is cut off",
    ),
    "truncated WebP": (lambda: saved(gradient(), "WEBP")[:-9], "the WebP is cut off"),
    "truncated BMP": (lambda: saved(gradient(), "BMP")[:-9], "the BMP is cut off"),
    "truncated TIFF": (lambda: saved(gradient(), "TIFF")[:-200], "the (TIFF|tiff)"),
    "web page": (
        lambda: b"<!DOCTYPE html><html>404</html>",
        "not an image: the bytes are those of a web page",
    ),
    "sound": (
        lambda: b"fLaC" + b"\0" * 40,
        "not an image: the bytes are those of a flac file",
    ),
    "0 bytes": (lambda: b"", "the image is empty: 0 bytes"),
    "bomb": (bomb, "too large: 14,000 x 14,000 pixels; fix: at most 64 megapixels"),
    "animated GIF": (lambda: animation("GIF"), "the gif has 3 frames"),
    "animated WebP": (lambda: animation("WEBP"), "the webp has 3 frames"),
    "animated PNG": (lambda: animation("PNG"), "the png has 3 frames"),
    "TIFF of several pages": (lambda: animation("TIFF"), "the tiff has 3 pages"),
    "wrong checksum": (
        lambda: (
            d := bytearray(saved(gradient(), "PNG")),
            d.__setitem__(60, d[60] ^ 255),
        )[0],
        "the png cannot be decoded",
    ),
    "PNG with nothing inside": (
        lambda: b"\x89PNG\r\n\x1a\n",
        "the PNG has no header chunk",
    ),
    "JPEG with nothing inside": (lambda: b"\xff\xd8\xff\xd9", "the JPEG has no image"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_image_is_one_located_line(name, tmp_path):
    make, match = BROKEN[name]
    path = tmp_path / "picture.png"
    path.write_bytes(make())

    with warnings.catch_warnings(), pytest.raises(DataError, match=match) as caught:
        warnings.simplefilter("error")
        decode_image(Image(path))

    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:Tag data larger than file")
@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_flipped_bytes_give_an_image_or_a_located_fault(format):
    whole, dice = saved(gradient(), format), random.Random(3)

    for _ in range(100):
        flipped = bytearray(whole)
        for _ in range(4):
            flipped[dice.randrange(len(flipped))] = dice.randrange(256)
        with contextlib.suppress(DataError):
            assert decoded(bytes(flipped)).mode == "RGB"


def test_bad_base64_is_a_fault_and_not_skipped():
    with pytest.raises(DataError, match="not valid base64"):
        decode_image(Image("data:image/png;base64,iVBOR*w0K"))


def test_limits_may_be_set():
    data = saved(pillow.new("RGB", (30, 5)), "PNG")

    with pytest.raises(DataError, match="30 x 5 pixels"):
        decoded(data, limits=Limits(side=20))
    with pytest.raises(DataError, match="30 x 5 pixels"):
        decoded(data, limits=Limits(pixels=149))
    assert decoded(data, limits=Limits(pixels=150)).size == (30, 5)


def test_the_name_of_the_file_plays_no_part(tmp_path):
    path = tmp_path / "picture.gif"
    path.write_bytes(saved(pillow.new("RGB", (2, 2), RED), "PNG"))

    assert decode_image(Image(path)).getpixel((0, 0)) == RED


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone.png: cannot open image: No such file"):
        decode_image(Image(tmp_path / "gone.png"))
