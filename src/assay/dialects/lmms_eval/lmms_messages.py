"""Convert messages of lmms-eval to those of assay. The parts of a message keep their order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import Audio, DataError, Image, Message, Part, Text, Video, shorten
from ..harness.questions import medium_of, with_media
from ..harness.task_yaml import as_list

AUDIO_SUFFIXES = frozenset(
    {".wav", ".mp3", ".m4a", ".aac", ".flac", ".ogg", ".opus", ".webm"}
)
IMAGE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tiff", ".tif", ".webp"}
)
KINDS: Mapping[str, type[Image] | type[Audio] | type[Video]] = {
    "image": Image,
    "audio": Audio,
    "video": Video,
}
CUT_KEYS = ("video_start", "video_end", "start_time", "end_time")


def messages_of(turns: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Convert the turns that a task's `doc_to_messages` returns to messages of assay."""
    messages = []
    for turn in turns:
        content = turn["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        parts = tuple(_parts_of(content))
        message = Message(str(turn["role"]), parts)
        messages.append(message)
    return tuple(messages)


def plain_messages(
    context: str,
    visuals: object,
    role: str,
) -> tuple[Message, ...]:
    """Return one message with a text and its media.

    Media replace their placeholders in the text. Without placeholders, they come first,
    as in lmms-eval's simple models.
    """
    media = [part_of(visual) for visual in as_list(visuals)]
    message = Message(role, (Text(context),))
    if media:
        return with_media((message,), media)
    return (message,)


def visual_content(
    visual: object,
    upstream: Callable[[object], object],
) -> object:
    """Return the message part for an image, audio clip or video from `doc_to_visual`.

    lmms-eval's own function, `upstream`, would declare an audio clip as a video and
    keep only its file name.
    """
    is_clip = isinstance(visual, Mapping) and "array" in visual
    if is_clip or (isinstance(visual, str) and _suffix(visual) in AUDIO_SUFFIXES):
        return {"type": "audio", "url": visual}
    return upstream(visual)


def part_of(visual: object, kind: str = "") -> Part:
    """Make an image, clip or video from an image object, a file, bytes, or a dictionary of audio samples or a file."""
    if isinstance(visual, Mapping):
        return _part_of_dictionary(visual, kind)
    if isinstance(visual, (str, Path)):
        return _part_of_file(str(visual), kind)
    if isinstance(visual, (bytes, bytearray)):
        return KINDS[kind or "image"](bytes(visual))
    if hasattr(visual, "save"):
        return Image(visual)
    raise DataError(f"a medium that is not an image, clip or video: {shorten(visual)}")


def _parts_of(content: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    for entry in content:
        kind = entry["type"]
        if kind == "text":
            yield Text(entry["text"])
            continue
        if kind not in KINDS:
            raise DataError(
                f"a message contains {shorten(kind)}, which is not a medium"
            )
        _check_whole(entry)
        if "url" in entry:
            url = entry["url"]
        else:
            url = entry.get(kind)
        yield part_of(url, kind)


def _part_of_dictionary(
    visual: Mapping[str, Any],
    kind: str,
) -> Part:
    _check_whole(visual)
    if visual.get("array") is not None or kind == "audio":
        clip: Part = medium_of(Audio, visual)
        return clip
    data = visual.get("bytes")
    if data:
        return KINDS[kind or "image"](data)
    for key in ("url", "path", "video"):
        if visual.get(key):
            own_kind = visual.get("type") or kind or "video"
            return part_of(visual[key], str(own_kind))
    raise DataError(f"a medium without bytes or path: {shorten(dict(visual))}")


def _part_of_file(name: str, kind: str) -> Part:
    is_inline = name.startswith(("data:", "http://", "https://"))
    if not kind or kind == "video":
        suffix = _suffix(name)
        if suffix in IMAGE_SUFFIXES:
            kind = "image"
        elif suffix in AUDIO_SUFFIXES - {".webm"}:
            kind = "audio"
    if not is_inline and not Path(name).is_file():
        raise DataError(
            f"no such file: {name}",
            fix="put the media of the task there; HF_HOME is its cache",
        )
    return KINDS[kind or "video"](name if is_inline else Path(name))


def _check_whole(entry: Mapping[str, Any]) -> None:
    """Raise if a message uses only a section of a video. Models of assay always get the whole file."""
    cut = {key: entry[key] for key in CUT_KEYS if entry.get(key) is not None}
    if cut:
        raise DataError(
            f"a part of a video ({shorten(cut)}), but models get whole files"
        )


def _suffix(name: str) -> str:
    return Path(name.partition("?")[0]).suffix.lower()
