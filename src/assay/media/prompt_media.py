"""Convert the media of a prompt to the forms that a model accepts: another sampling rate, PNG or WAV.

Audio clips are converted to the sampling rate and the channels that a model declares.
If a clip already has them, or the model declares nothing, the dataset's own bytes are
sent.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ..core import Abilities, Audio, Image, Media, Part, Prompt
from .audio import decode_audio
from .checks import check_audio
from .encode import image_from, wav_of
from .images import decode_image


def with_parts(
    prompt: Prompt,
    change: Callable[[Part], Part],
) -> Prompt:
    """Return the prompt with each part replaced by `change(part)`."""
    messages = tuple(
        replace(message, parts=tuple(change(part) for part in message.parts))
        if message.parts
        else message
        for message in prompt.messages
    )
    return replace(prompt, messages=messages)


def fitted(prompt: Prompt, abilities: Abilities) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt with clips converted to `audio_rate` and `audio_channels`, and a list of the conversions.

    A converted clip becomes a 16-bit WAV, or a WAV of floats if it exceeds full scale.
    """
    if abilities.audio_rate is None and abilities.audio_channels is None:
        return prompt, ()
    conversions: list[str] = []
    changed = with_parts(
        prompt, lambda part: _fitted_part(part, abilities, conversions)
    )
    if conversions:
        return (changed, tuple(conversions))
    return (prompt, ())


def _fitted_part(
    part: Part,
    abilities: Abilities,
    done: list[str],
) -> Part:
    if not isinstance(part, Audio):
        return part
    facts = check_audio(part)
    rate = abilities.audio_rate
    channels = abilities.audio_channels
    fits = rate is None or facts.rate == rate
    if fits and (channels != 1 or facts.channels == 1):
        return part
    audio = decode_audio(
        part,
        rate=rate,
        channels=1 if channels == 1 else None,
    )
    if not audio.conversions:
        return part
    done.extend(audio.conversions)
    return wav_of(audio, part)


Formats = Mapping[str, Collection[str]]
"""Accepted formats for each kind of medium. Media of kinds that are not listed are not converted."""
WEB_IMAGES = frozenset({"png", "jpeg", "gif", "webp"})
PLAIN_AUDIO = frozenset({"wav", "mp3", "flac", "ogg"})


def needs_change(prompt: Prompt, formats: Formats) -> bool:
    """Return True if a prompt has a medium in a format that is not accepted."""
    return any(not _is_taken(medium, formats) for medium in prompt.media)


def portable(prompt: Prompt, formats: Formats) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt with its media converted to accepted formats, and a note on each conversion."""
    conversions: list[str] = []
    return with_parts(prompt, lambda part: _part(part, formats, conversions)), tuple(
        conversions
    )


def _part(
    part: Part,
    formats: Formats,
    done: list[str],
) -> Part:
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
