"""Videos as sampled pictures."""

import io
import sys

import numpy as np
import pytest
from made_media import gradient, saved

from assay.core import DataError, MissingExtra, UsageError, Video
from assay.media import Limits, decode_frames

LEVELS = 20


@pytest.fixture(scope="module")
def film():
    """Twenty frames that grow brighter."""
    av = pytest.importorskip("av", reason="PyAV is not installed")
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for level in range(LEVELS):
            picture = np.full((48, 64, 3), 12 * level, np.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return buffer.getvalue()


def brightness(pictures):
    return [float(np.asarray(picture).mean()) for picture in pictures]


@pytest.mark.parametrize(("count", "levels"), [(1, [10]), (2, [5, 15]), (4, [2, 7, 12, 17])])
def test_frames_come_from_the_middle_of_equal_stretches(film, count, levels):
    taken = decode_frames(Video(film), count)

    assert brightness(taken) == pytest.approx([12 * level for level in levels], abs=4)
    assert {(picture.mode, picture.size) for picture in taken} == {("RGB", (64, 48))}


def test_a_video_with_fewer_frames_gives_all_it_has(film):
    assert len(decode_frames(Video(film), 100)) == LEVELS


def test_a_video_cut_short_of_its_index_is_one_located_line(film, tmp_path):
    path = tmp_path / "film.mp4"
    path.write_bytes(film[: len(film) // 2])

    with pytest.raises(DataError, match=r"film\.mp4: the MP4 is cut off: "):
        decode_frames(Video(path), 2)


def test_an_image_is_no_video():
    pytest.importorskip("av", reason="PyAV is not installed")

    with pytest.raises(DataError, match="not a video"):
        decode_frames(Video(saved(gradient(), "PNG")), 1)


def test_the_size_of_the_frames_is_limited(film):
    with pytest.raises(DataError, match="64 x 48 pixels"):
        decode_frames(Video(film), 1, limits=Limits(side=50))


@pytest.mark.parametrize("count", [0, 5000])
def test_a_number_of_frames_that_makes_no_sense_is_refused(count):
    with pytest.raises(UsageError, match=f"cannot take {count} frames"):
        decode_frames(Video(b""), count)


def test_a_missing_library_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)

    with pytest.raises(MissingExtra, match=r"fix: pip install 'assay\[video\]'"):
        decode_frames(Video(b""), 1)
