"""Media for made-up rows of lmms-eval tasks: small images, clips and video files."""

import io
import re
import wave
from functools import cache
from typing import Any

IMAGE_WORDS = re.compile(
    r"(image|img|picture|photo|screenshot|figure|diagram|visual|frame)"
)
NOT_IMAGES = re.compile(
    r"(path|id|name|url|width|height|size|type|count|num|caption|desc|text|token|"
    r"context|category|source|file|index|idx|tags?|caption|prompt|question|ratio)"
)
LISTS_OF_IMAGES = re.compile(r"(images|imgs|pictures|frames|image_list|figures)$")
AUDIO = re.compile(r"^(audio|wav|speech|sound|context_audio|question_audio|audio_\d)$")
VIDEO = re.compile(
    r"^(video|video_?(path|name|file|id|idx|uid)|videoid|videopath|vid|clip|youtube_id|"
    r"video_filename|file_?name|path)$"
)
NUMBERS = re.compile(
    r"(^id$|_id$|width|height|duration|seconds|time|start|end|fps|count|num_|_num$|index|score|year)"
)
BOXES = re.compile(r"(bbox|box|polygon|coordinates)$")
OPTIONS = re.compile(r"^(options|choices|candidates|answer_choices)$")


def written_columns(column: str, number: int, strategy: str) -> Any:
    """Return the value of a column whose kind its name says: media, numbers, boxes. None for other columns."""
    name = column.lower()
    if AUDIO.match(name):
        return {"bytes": clip(number), "path": f"clip{number}.wav"}
    if VIDEO.match(name):
        return f"clip{number}" if strategy == "texts" else f"clip{number}.mp4"
    if IMAGE_WORDS.search(name) and not NOT_IMAGES.search(name):
        is_list = LISTS_OF_IMAGES.search(name) is not None
        if is_list or strategy == "images in lists":
            return [picture(number), picture(number + 1)]
        return picture(number)
    if strategy == "options by letter" and OPTIONS.match(name):
        return {letter: f"option {letter} {number}" for letter in "ABCD"}
    if strategy == "options as text" and OPTIONS.match(name):
        return "\n".join(f"{letter}. option {number}" for letter in "ABCD")
    if BOXES.search(name):
        return [1.0, 2.0, 3.0, 4.0]
    if NUMBERS.search(name) and strategy not in ("texts", "lists as text"):
        return number + 1
    return None


def picture(number: int) -> Any:
    """Return a small image."""
    from PIL import Image

    return Image.new("RGB", (8, 6), (number * 20 % 256, 40, 90))


def clip(number: int) -> bytes:
    """Return a short clip as a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        frames = [(number * 700 + place * 90) % 20000 for place in range(400)]
        file.writeframes(b"".join(frame.to_bytes(2, "little") for frame in frames))
    return buffer.getvalue()


@cache
def video(number: int) -> bytes:
    """Return a video of some frames as an MP4 file."""
    import av
    import numpy

    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=4)
        stream.width, stream.height = 32, 32
        for place in range(4):
            shade = (number * 30 + place * 20) % 256
            pixels = numpy.full((32, 32, 3), shade, dtype="uint8")
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return buffer.getvalue()


def media_value(suffix: str, number: int) -> bytes:
    """Return the contents of a media file."""
    if suffix in (".jpg", ".jpeg", ".png"):
        buffer = io.BytesIO()
        picture(number % 12).save(buffer, "PNG" if suffix == ".png" else "JPEG")
        return buffer.getvalue()
    if suffix in (".wav", ".mp3", ".flac"):
        return clip(number % 12)
    return video(number % 4)
