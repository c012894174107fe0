"""Frames of videos: which ones, upright, and what is refused."""

import io
import struct

import numpy as np
import pytest

from assay.core import DataError, Video
from assay.media import decode_frames, inspect_video
from assay.media import video as module

av = pytest.importorskip("av")


def film(count=12, rate=6, size=(64, 48), format="mp4", codec="mpeg4"):
    """A video whose frame n has the red value 6 n, and whose left half is blue."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=format) as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for number in range(count):
            pixels = np.zeros((size[1], size[0], 3), np.uint8)
            pixels[..., 0] = 6 * number
            pixels[:, : size[0] // 2, 2] = 200
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return buffer.getvalue()


def decoded_by_hand(data):
    with av.open(io.BytesIO(data)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.mark.parametrize(
    ("format", "codec"), [("mp4", "mpeg4"), ("matroska", "mpeg4"), ("avi", "mpeg4")]
)
def test_facts_and_frames_are_those_of_the_file(format, codec):
    data = film(format=format, codec=codec)

    facts = inspect_video(Video(data))
    frames = decode_frames(Video(data), [0, 5, 11])

    assert (facts.frames, facts.rate, facts.seconds) == (12, 6.0, 2.0)
    assert (facts.width, facts.height) == (64, 48)
    by_hand = decoded_by_hand(data)
    assert frames.shape == (3, 48, 64, 3)
    assert np.array_equal(frames, np.stack([by_hand[number] for number in (0, 5, 11)]))


def test_frames_come_in_the_order_asked_for_and_may_repeat():
    data = film()

    frames = decode_frames(Video(data), [7, 2, 7])

    by_hand = decoded_by_hand(data)
    assert np.array_equal(frames, np.stack([by_hand[number] for number in (7, 2, 7)]))


def test_a_video_that_was_filmed_upright_is_turned():
    data = bytearray(film(size=(64, 48)))
    # The matrix of the track header: 90 degrees clockwise, as phones write it.
    matrix = data.index(b"tkhd") + 4 + 40
    turned = (0, 0x10000, 0, -0x10000, 0, 0, 48 << 16, 0, 0x40000000)
    data[matrix : matrix + 36] = struct.pack(">9i", *turned)

    [frame] = decode_frames(Video(bytes(data)), [0])

    assert frame.shape == (64, 48, 3)
    assert frame[:24, :, 2].mean() > 150
    assert frame[40:, :, 2].mean() < 50


def test_a_video_that_is_cut_off_is_a_fault():
    data = film(count=40, format="matroska")

    with pytest.raises(DataError, match="is cut off"):
        decode_frames(Video(data[: len(data) // 2]), [39])


def test_a_few_missing_frames_at_the_end_are_repeated():
    data = film(count=12)

    frames = decode_frames(Video(data), [11, 13])

    assert np.array_equal(frames[0], frames[1])
    with pytest.raises(
        DataError, match="cut off: frame 30 is missing, 12 can be decoded"
    ):
        decode_frames(Video(data), [30])


def test_too_many_frames_are_refused_before_they_are_decoded(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 3 * 64 * 48 * 4)

    with pytest.raises(DataError, match="5 frames of 64 x 48 pixels take"):
        module.decode_frames_here(Video(film()), range(5))


def test_a_file_without_pictures_is_a_fault():
    with pytest.raises(DataError, match="not a video: the bytes are those of"):
        inspect_video(Video(b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40)))
