"""Checks without decoding: facts from headers, faults with their place."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_media import gradient, saved, sound, tone
from PIL import Image as pillow

from assay.core import Audio, DataError, Image, Video
from assay.media import Facts, check_media

IMAGES = Path(__file__).parents[2].parent / "shared" / "data" / "images_vqa"


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_the_size_of_an_image_is_read_from_its_header(format):
    facts = check_media(Image(saved(gradient((48, 32)), format)))

    assert (facts.format, facts.width, facts.height) == (format.lower(), 48, 32)


@pytest.mark.parametrize(
    "options",
    [{"lossless": True}, {"lossless": True, "exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0"}],
)
def test_the_size_of_other_kinds_of_webp(options):
    facts = check_media(Image(saved(gradient((300, 7)), "WEBP", **options)))

    assert (facts.width, facts.height, facts.frames) == (300, 7, 1)


def test_a_progressive_jpeg_with_a_thumbnail_ends_at_its_own_marker():
    thumbnail = saved(gradient((16, 16)), "JPEG")
    whole = saved(
        gradient((200, 100)), "JPEG", progressive=True, exif=b"Exif\0\0" + thumbnail
    )

    assert check_media(Image(whole)) == Facts("jpeg", 200, 100, 1)
    with pytest.raises(DataError, match="the JPEG is cut off"):
        check_media(Image(whole[:-2]))


def test_bytes_after_the_end_of_an_image_do_no_harm():
    assert check_media(Image(saved(gradient(), "JPEG") + b"\0" * 20)).width == 48
    assert check_media(Image(saved(gradient(), "PNG") + b"more")).width == 48


def test_the_length_of_a_sound_is_read_from_its_header():
    wav = check_media(Audio(sound(tone(22_050, 2, channels=2), 22_050)))
    flac = check_media(Audio(sound(tone(), format="FLAC")))

    assert (wav.seconds, wav.rate, wav.channels) == (2.0, 22_050, 2)
    assert (flac.seconds, flac.rate, flac.channels) == (1.0, 16_000, 1)


def test_an_image_given_as_sound_or_video_is_refused():
    data = saved(gradient(), "PNG")

    with pytest.raises(
        DataError, match="not an audio: the bytes are those of a png file"
    ):
        check_media(Audio(data))
    with pytest.raises(
        DataError, match="not a video: the bytes are those of a png file"
    ):
        check_media(Video(data))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_an_image_cut_anywhere_is_noticed(format):
    whole = saved(gradient((40, 30)), format)

    for length in range(0, len(whole) - 1, 7):
        with pytest.raises(DataError):
            check_media(Image(whole[:length]))


def test_a_wav_cut_anywhere_is_noticed():
    whole = sound(tone(seconds=0.05))

    for length in range(0, len(whole) - 1, 11):
        with pytest.raises(DataError):
            check_media(Audio(whole[:length]))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        [
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff",
            b"GIF89a",
            b"BM",
            b"II*\0",
            b"MM\0*",
            b"RIFF\0\0\0\0WEBP",
        ]
    ),
    st.binary(max_size=200),
)
def test_no_bytes_raise_anything_but_a_located_fault(magic, rest):
    try:
        check_media(Image(magic + rest, name="x"))
    except DataError as error:
        assert str(error).startswith("x: ")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEfmt ", b"fLaC", b"OggS"]),
    st.binary(max_size=200),
)
def test_no_bytes_of_a_sound_raise_anything_but_a_located_fault(magic, rest):
    try:
        check_media(Audio(magic + rest, name="x"))
    except DataError as error:
        assert str(error).startswith("x: ")


def test_a_fault_is_placed_at_the_row_that_names_the_file(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"")
    medium = Image(path)
    medium.place = ("data.jsonl", 7, "image")

    with pytest.raises(DataError) as caught:
        check_media(medium)

    assert (
        str(caught.value) == f"data.jsonl:7:image: the image is empty: 0 bytes ({path})"
    )


@pytest.mark.parametrize(
    ("medium", "place"),
    [
        (Image(Path("a/b.png")), "a/b.png"),
        (Image("b.png"), "b.png"),
        (Image(b"x", name="row 3"), "row 3"),
        (Image(b"x"), None),
        (Image("data:image/png;base64,AAAA"), None),
    ],
)
def test_the_place_of_a_medium(medium, place):
    assert medium.fault("broken").file == place


def test_an_empty_image_has_no_area():
    data = bytearray(saved(pillow.new("L", (1, 1)), "PNG"))
    data[16:20] = bytes(4)

    with pytest.raises(DataError, match="no area: 0 x 1"):
        check_media(Image(bytes(data)))


@pytest.mark.skipif(not IMAGES.exists(), reason="shared/data/images_vqa is not here")
def test_real_images_have_the_size_that_pillow_sees():
    for path in sorted([*IMAGES.glob("*.png"), *IMAGES.glob("*.jpg")]):
        facts = check_media(Image(path))
        with pillow.open(path) as opened:
            assert (facts.width, facts.height) == opened.size
            assert np.asarray(opened).size
