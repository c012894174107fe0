"""Media that a run keeps: whatever their format, they are found again by their digest."""

import pytest

from assay.core import Audio, Media, StoreError
from assay.core.media import FORMATS, SNIFFED_BYTES, sniff
from assay.store.blobs import Blobs

BEGINNINGS = {
    "aiff": b"FORM\0\0\0\0AIFF",
    "svx": b"FORM\0\0\0\x008SVX",
    "m4a": b"\0\0\0\x14ftypM4A \0\0\0\0M4A ",
    "avif": b"\0\0\0\x14ftypavif\0\0\0\0avif",
    "heic": b"\0\0\0\x14ftypheic\0\0\0\0heic",
    "mp4": b"\0\0\0\x10ftypisom",
    "webm": b"\x1aE\xdf\xa3\x84webm",
    "matroska": b"\x1aE\xdf\xa3\x88matroska",
    "aac": b"\xff\xf1\x50",
    "wav": b"RIFF\0\0\0\0WAVE",
    "webp": b"RIFF\0\0\0\0WEBP",
    "avi": b"RIFF\0\0\0\0AVI ",
    "ppm": b"P6 1 1 255 abc",
    "mat4": bytes(20) + b"samplerate\0",
    "htk": b"\0\0\0\x09\0\0\x02\x71\0\2\0\0",
    "mp3": b"\xff\xe3\x18",
    "mp2": b"\xff\xfd\x18",
    "jxl": b"\xff\x0a",
    "jp2": b"\xff\x4f\xff\x51",
    "caf": b"caff\0\1",
    "au": b".snd",
    "amr": b"#!AMR\n",
    "flac": b"fLaC",
    "ogg": b"OggS",
    "png": b"\x89PNG\r\n\x1a\n",
    "jpeg": b"\xff\xd8\xff",
    "gif": b"GIF89a",
    "bmp": b"BM",
    "tiff": b"II*\0",
    "rf64": b"RF64",
    "w64": b"riff\x2e\x91\xcf\x11",
    "sphere": b"NIST_1A",
    "voc": b"Creative Voice File",
    "paf": b" paf",
    "ircam": b"\x64\xa3",
    "pvf": b"PVF1",
    "avr": b"2BIT",
    "wve": b"ALawSoundFile**",
    "xi": b"Extended Instrument: ",
    "mat5": b"MATLAB 5.0 MAT-file",
    "sds": b"\xf0\x7e\x00\x01",
    "mpc2k": b"\x01\x04",
    "asf": b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",
    "ico": b"\x00\x00\x01\x00",
}


def test_every_format_that_is_known_has_a_beginning_here():
    assert {name: sniff(data[:SNIFFED_BYTES]) for name, data in BEGINNINGS.items()} == {
        name: name for name in FORMATS
    }


def test_a_medium_of_any_format_is_kept_and_found_again(tmp_path):
    blobs = Blobs(tmp_path)
    media = [Audio(data + b"rest") for data in (*BEGINNINGS.values(), b"of no format")]

    files = {medium.digest: blobs.put(medium) for medium in media}

    for medium in media:
        found: Media = blobs[medium.digest]
        assert (
            found.data() == medium.data()
            and blobs.path(medium.digest) == files[medium.digest]
        )
        assert blobs.state(medium.digest) == "whole"


def test_a_file_of_another_ending_is_none_of_the_media(tmp_path):
    blobs = Blobs(tmp_path)
    digest = Audio(b"fLaC").digest
    (tmp_path / digest[:2]).mkdir()
    (tmp_path / digest[:2] / f"{digest}.exe").write_bytes(b"fLaC")

    assert blobs.state(digest) == "missing"
    with pytest.raises(StoreError, match="the run has no medium"):
        blobs[digest]


def test_a_folder_of_media_that_is_a_link_is_neither_read_nor_written(tmp_path):
    inside, outside = tmp_path / "media", tmp_path / "outside"
    clip = Audio(b"RIFF\0\0\0\0WAVE")
    digest = clip.digest
    outside.mkdir()
    inside.mkdir()
    (outside / f"{digest}.wav").write_bytes(clip.data())
    (inside / digest[:2]).symlink_to(outside)
    blobs = Blobs(inside)
    other = Audio(clip.data() + b"more")
    (inside / other.digest[:2]).symlink_to(outside)

    assert blobs.path(digest) is None and blobs.state(digest) == "missing"
    with pytest.raises(StoreError, match="is a link"):
        blobs.put(other)
    assert [path.name for path in outside.iterdir()] == [f"{digest}.wav"]


def test_drafts_of_a_killed_writer_are_removed_and_other_files_stay(tmp_path):
    digest = Audio(b"RIFF\0\0\0\0WAVE").digest
    folder = tmp_path / digest[:2]
    folder.mkdir()
    draft = folder / f".{digest}.wav.0123456789abcdef"
    others = [
        folder / f"{digest}.wav",
        folder / ".notes",
        folder / f".{'0' * 64}.wav.0123456789abcdef",
        tmp_path / f".{digest}.wav.0123456789abcdef",
    ]
    for path in (draft, *others):
        path.write_bytes(b"x")

    Blobs(tmp_path).remove_drafts()

    assert not draft.exists() and all(path.exists() for path in others)


@pytest.mark.parametrize("linked", ["media", "media/folder"])
def test_drafts_behind_a_linked_folder_are_not_removed(tmp_path, linked):
    digest = Audio(b"RIFF\0\0\0\0WAVE").digest
    outside = tmp_path / "outside"
    inside = tmp_path / "media"
    if linked == "media":
        folder = outside / digest[:2]
        folder.mkdir(parents=True)
        inside.symlink_to(outside)
    else:
        folder = outside
        folder.mkdir()
        inside.mkdir()
        (inside / digest[:2]).symlink_to(outside)
    draft = folder / f".{digest}.wav.0123456789abcdef"
    draft.write_bytes(b"x")

    Blobs(inside).remove_drafts()

    assert draft.exists()
