"""Media: named by their content, opened late, read strictly."""

import base64
import hashlib
import os

import pytest

from assay.core import Audio, DataError, Image
from assay.core.media import sniff

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2


def test_a_medium_is_named_by_the_hash_of_its_bytes(tmp_path):
    path = tmp_path / "p.png"
    path.write_bytes(PNG)

    assert (
        Image(path).digest
        == Image(str(path)).digest
        == Image(PNG).digest
        == hashlib.sha256(PNG).hexdigest()
    )


def test_media_are_equal_when_kind_and_bytes_are():
    assert Image(PNG, name="a") == Image(bytearray(PNG), name="b")
    assert hash(Image(PNG)) == hash(Image(memoryview(PNG)))
    assert Image(PNG) != Image(PNG + b"x")
    assert Image(PNG) != Audio(PNG)


def test_base64_and_data_urls_carry_the_bytes_themselves():
    text = base64.b64encode(PNG).decode()

    assert Image(text).data() == PNG
    assert Image(f"data:image/png;base64,{text}").data() == PNG
    assert Image(Image(PNG).data_url()).data() == PNG


@pytest.mark.parametrize(
    "spoil",
    [lambda t: t[:9] + " " + t[9:], lambda t: t[:-1], lambda t: t[:20] + "!" + t[21:]],
)
def test_base64_with_a_stray_character_is_refused(spoil):
    text = spoil(base64.b64encode(PNG).decode())

    with pytest.raises(DataError, match="not valid base64"):
        Image(text).data()


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0", "jpeg"),
        (b"GIF89a", "gif"),
        (b"RIFF\0\0\0\0WAVEfmt ", "wav"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "webp"),
        (b"fLaC", "flac"),
        (b"OggS", "ogg"),
        (b"ID3\x04", "mp3"),
        (b"\0\0\0\x18ftypmp42", "mp4"),
        (b"<html>", None),
        (b"", None),
        (b"RIFF\0\0\0\0????", None),
    ],
)
def test_the_format_is_what_the_bytes_say(first, name):
    assert sniff(first) == name


def test_a_file_that_is_not_there_is_a_located_error(tmp_path):
    with pytest.raises(DataError, match=r"gone\.png: cannot open image: No such file"):
        Image(tmp_path / "gone.png").data()


@pytest.mark.parametrize("path", ["/dev/zero", "a\0b.png", "."])
def test_what_is_not_a_regular_file_is_refused_and_not_read(path):
    with pytest.raises(DataError, match="cannot open image"):
        Image(path).data()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.wav")

    with pytest.raises(DataError, match="not a regular file"):
        Audio(tmp_path / "pipe.wav").data()


def test_a_url_is_not_fetched():
    with pytest.raises(DataError, match="was not fetched"):
        Image("https://example.org/p.png").data()


def test_an_image_that_cannot_be_saved_is_an_error_that_says_what_to_do():
    class Odd:
        size = (1, 1)

        def save(self, file, format):
            raise OSError("cannot write mode CMYK as PNG")

    with pytest.raises(DataError, match=r"CMYK.*convert it to RGB"):
        Image(Odd()).data()


def test_what_is_held_is_named_by_the_bytes_it_was_held_with(tmp_path):
    file = tmp_path / "out.png"
    file.write_bytes(b"first")
    picture = Image(file)
    early = picture.digest
    file.write_bytes(b"second")

    picture.hold()
    file.write_bytes(b"third")

    assert picture.data() == b"second"
    assert picture == Image(b"second") and picture.digest != early


def test_bytes_that_are_not_a_medium_are_not_made_ready_to_send():
    with pytest.raises(
        DataError,
        match="the image is not sent: its bytes are not those of an image, audio or video",
    ):
        Image(b"root:x:0:0").data_url()
