"""Convert media that an endpoint does not accept to PNG or WAV, which every endpoint accepts."""

from collections.abc import Collection, Mapping

from ..core import Audio, Image, Media, Part, Prompt
from .audio import decode_audio
from .changing import with_parts
from .encode import image_from, wav_of
from .images import decode_image

Formats = Mapping[str, Collection[str]]
"""Accepted formats by kind. A kind that is not listed is passed on unchanged."""
WEB_IMAGES = frozenset({"png", "jpeg", "gif", "webp"})
PLAIN_AUDIO = frozenset({"wav", "mp3", "flac", "ogg"})


def needs_change(prompt: Prompt, formats: Formats) -> bool:
    """Return True if a prompt has a medium in a format that is not accepted."""
    return any(not _is_taken(medium, formats) for medium in prompt.media)


def portable(prompt: Prompt, formats: Formats) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt with its media in accepted formats, and the conversions."""
    conversions: list[str] = []
    return with_parts(prompt, lambda part: _part(part, formats, conversions)), tuple(
        conversions
    )


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
