"""Media for made-up rows of lmms-eval tasks: small images, clips and video files."""

import base64
import io
import json
import re
import wave
from collections.abc import Callable
from functools import cache
from typing import Any

from column_uses import ELEMENT, PIECE, Use
from made_up_rows import value_of

IMAGE_WORDS = re.compile(
    r"(image|img|picture|photo|screenshot|figure|diagram|visual|frame|mask$)"
)
NOT_IMAGES = re.compile(
    r"(path|id|name|url|width|height|size|type|count|num|caption|desc|text|token|"
    r"context|category|source|file|index|idx|tags?|caption|prompt|question|ratio|relation|level|label|class|style|answer)"
)
LISTS_OF_IMAGES = re.compile(r"(images|imgs|pictures|frames|image_list|figures)$")
AUDIO = re.compile(r"^(audio|wav|speech|sound|\w+_(audio|wav)|audio_\d)$")
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
    if name.endswith(("width", "height")):
        return 64 if name.endswith("width") else 48
    if NUMBERS.search(name) and strategy not in ("texts", "lists as text"):
        return number + 1
    return None


AS_USED = "as used"
"""The strategy whose values are of the kinds that helper functions need."""
ELEMENTS = 4
CODES = ("json", "literal", "base64")


def value_as_used(column: str, use: Use, number: int) -> Any:
    """Return the value of a column as the functions of its task use it."""
    if use.form:
        return FORMS[use.form](column, use, number)
    if use.literals:
        labels = list(use.literals)
        return labels[number % len(labels)]
    for code in ("json", "literal"):
        if code in use.kinds:
            inner = value_as_used(column, use.part(code), number)
            return json.dumps(inner) if code == "json" else repr(inner)
    if "base64" in use.kinds:
        return base64.b64encode(media_value(".png", number)).decode()
    if "bytes" in use.kinds:
        return media_value(".png", number)
    names = [key for key in use.parts if key not in (ELEMENT, PIECE, *CODES)]
    if "mapping" in use.kinds and names and "image" not in use.kinds:
        return {key: value_as_used(key, use.part(key), number) for key in names}
    if "image" in use.kinds or ("visual" in use.kinds and not VIDEO.match(column)):
        return picture(number)
    if "audio" in use.kinds:
        return {"bytes": clip(number), "path": f"clip{number}.wav"}
    if "path" in use.kinds:
        folder = "videos/art/" if "/" in use.separators else ""
        return f"{folder}{file_name(column, number)}"
    if "text" in use.kinds:
        return text_as_used(column, use, number)
    if "mapping" in use.kinds:
        return {key: value_as_used(key, Use(), number) for key in "ABCD"}
    if "list" in use.kinds or "slice" in use.kinds:
        return list_as_used(column, use, number)
    if "number" in use.kinds:
        return number + 1
    written = written_columns(column, number, "by name")
    return value_of(column, number, "by name", "") if written is None else written


def list_as_used(column: str, use: Use, number: int) -> Any:
    """Return a list whose elements are as the functions of its task use them."""
    written = written_columns(column, number, "by name")
    element = use.part(ELEMENT)
    if isinstance(written, list) and not element.kinds:
        return written
    is_plain = not element.kinds and not element.literals and not element.parts
    if is_plain and written is None and "list" not in use.kinds:
        return value_of(column, number, "texts", "")
    numbers = range(number, number + ELEMENTS)
    return [value_as_used(f"{column} item", element, index) for index in numbers]


def text_as_used(column: str, use: Use, number: int) -> str:
    """Return a text that can be split as the functions of its task split it."""
    if column == "id":
        return f"validation_Art_{number}"
    if use.separators:
        piece = use.part(PIECE)
        element = piece.part(ELEMENT)
        inner = value_as_used(f"{column} piece", element, number)
        separator = next(iter(use.separators))
        return separator.join([str(inner), str(inner)])
    value = value_of(column, number, "by name", "")
    return value if isinstance(value, str) else f"text {column} {number}"


def file_name(column: str, number: int) -> str:
    """Return the name of a media file; the name of its column says of which kind."""
    name = column.lower()
    if IMAGE_WORDS.search(name):
        return f"picture{number}.png"
    return f"clip{number}.wav" if "audio" in name else f"clip{number}.mp4"


def picture(number: int) -> Any:
    """Return a small image."""
    from PIL import Image

    return Image.new("RGB", (64, 48), (number * 20 % 256, 40, 90))


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


LETTERS = "ABCD"


def _parts(use: Use, number: int) -> dict[str, Any]:
    """Return a mapping with the parts that are known, or with the letters of options."""
    steps = (ELEMENT, PIECE, *CODES)
    names = [name for name in use.parts if name not in steps]
    if not names:
        return {letter: f"option {letter} {number}" for letter in LETTERS}
    return {name: value_as_used(name, use.part(name), number) for name in names}


def _mappings(column: str, use: Use, number: int) -> list[Any]:
    element = use.part(ELEMENT)
    return [_parts(element, number + offset) for offset in range(ELEMENTS)]


def _texts(column: str, number: int) -> list[str]:
    return [f"{column} {number} {letter}" for letter in LETTERS]


FORMS: dict[str, Callable[[str, Use, int], Any]] = {
    "text": lambda column, use, number: f"text {column} {number}",
    "words": lambda column, use, number: "alpha beta",
    "number": lambda column, use, number: number + 1,
    "digits": lambda column, use, number: str(number % 4 + 1),
    "letter": lambda column, use, number: LETTERS[number % 4],
    "yes or no": lambda column, use, number: ("yes", "no")[number % 2],
    "boolean": lambda column, use, number: number % 2 == 0,
    "empty list": lambda column, use, number: [],
    "empty text": lambda column, use, number: "",
    "nothing": lambda column, use, number: None,
    "list of texts": lambda column, use, number: _texts(column, number),
    "list of digits": lambda column, use, number: ["1", "2", "3", "4"],
    "list of numbers": lambda column, use, number: [0.1, 0.2, 0.3, 0.4],
    "pair of numbers": lambda column, use, number: [0.5, 2.5],
    "one text in a list": lambda column, use, number: _texts(column, number)[:1],
    "list of lists": lambda column, use, number: [[0.1, 0.2], [0.3, 0.4]],
    "mapping": lambda column, use, number: _parts(use, number),
    "mapping of lists": lambda column, use, number: {
        name: [value] for name, value in _parts(use, number).items()
    },
    "list of mappings": _mappings,
    "json list": lambda column, use, number: json.dumps(_texts(column, number)),
    "json mapping": lambda column, use, number: json.dumps(
        {name: str(value) for name, value in _parts(use, number).items()}
    ),
    "number list as text": lambda column, use, number: "[0.1, 0.2, 0.3, 0.4]",
    "time span": lambda column, use, number: "00:01-00:04",
    "lettered lines": lambda column, use, number: "\n".join(
        f"({letter}) option {number}" for letter in LETTERS
    ),
    "image": lambda column, use, number: picture(number),
    "list of images": lambda column, use, number: [
        picture(number),
        picture(number + 1),
    ],
    "audio": lambda column, use, number: {
        "bytes": clip(number),
        "path": f"clip{number}.wav",
    },
    "base64 image": lambda column, use, number: base64.b64encode(
        media_value(".png", number)
    ).decode(),
    "video path": lambda column, use, number: f"clip{number}.mp4",
    "image path": lambda column, use, number: f"picture{number}.png",
    "list of video paths": lambda column, use, number: [f"clip{number}.mp4"],
    "image paths as text": lambda column, use, number: f'["picture{number}.png"]',
    "lists of image paths as text": lambda column, use, number: (
        f'[["picture{number}.png"], ["picture{number + 1}.png"]]'
    ),
    "list of image paths": lambda column, use, number: [f"picture{number}.png"],
}
"""Kinds of values that `row_search` tries."""
