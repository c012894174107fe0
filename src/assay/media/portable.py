"""Portable media: what an endpoint does not take, as PNG or WAV, which every one takes; said for the record."""

from collections.abc import Collection, Mapping

from ..core import Audio, Image, Media, Part, Prompt
from .audio import decode_audio
from .changing import with_parts
from .encode import image_from, wav_of
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
    return with_parts(prompt, lambda part: _part(part, formats, done)), tuple(done)


def _part(part: Part, formats: Formats, done: list[str]) -> Part:
    if not isinstance(part, (Image, Audio)) or _is_taken(part, formats):
        return part
    if isinstance(part, Audio):
        medium: Image | Audio = wav_of(decode_audio(part), part)
    else:
        medium = image_from(decode_image(part), name=part.name)
        medium.place = part.place
    done.append(f"converted {part.format} to {medium.format}")
    return medium


def _is_taken(medium: Media, formats: Formats) -> bool:
    return (
        medium.kind not in formats
        or medium.format in formats[medium.kind]
        or medium.format is None
    )
