"""Portable media: what an endpoint does not take, as PNG or WAV, which every one takes; said for the record."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..core import Audio, Image, Media, Message, Part, Prompt
from .audio import decode_audio
from .encode import audio_from, image_from
from .images import decode_image

Formats = Mapping[str, Collection[str]]
"""By kind, the formats that are taken; a kind that is not named is passed on as it is."""
WEB_IMAGES = frozenset({"png", "jpeg", "gif", "webp"})
PLAIN_AUDIO = frozenset({"wav", "mp3", "flac", "ogg"})


def needs_change(prompt: Prompt, formats: Formats) -> bool:
    """Whether a prompt has a medium that is not taken as it is; mostly it has none at all."""
    return any(not _is_taken(medium, formats) for medium in prompt.media)


def portable(prompt: Prompt, formats: Formats) -> tuple[Prompt, tuple[str, ...]]:
    """The prompt with its media in formats that are taken, and what was done to them."""
    done: list[str] = []
    messages = tuple(_message(message, formats, done) for message in prompt.messages)
    return replace(prompt, messages=messages), tuple(done)


def _message(message: Message, formats: Formats, done: list[str]) -> Message:
    if not message.parts or not any(isinstance(part, Media) for part in message.parts):
        return message
    return replace(message, parts=tuple(_part(part, formats, done) for part in message.parts))


def _part(part: Part, formats: Formats, done: list[str]) -> Part:
    if not isinstance(part, (Image, Audio)) or _is_taken(part, formats):
        return part
    if isinstance(part, Image):
        made: Image | Audio = image_from(decode_image(part), name=part.name)
    else:
        audio = decode_audio(part)
        is_loud = float(abs(audio.samples).max(initial=0.0)) > 1.0
        made = audio_from(audio.samples, audio.rate, subtype="FLOAT" if is_loud else "PCM_16", name=part.name)
    made.place = part.place
    done.append(f"converted {part.format} to {made.format}")
    return made


def _is_taken(medium: Media, formats: Formats) -> bool:
    return medium.kind not in formats or medium.format in formats[medium.kind] or medium.format is None
