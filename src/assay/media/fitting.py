"""Convert the audio clips of a prompt to the sampling rate and channels that a model declares.

A model that declares nothing gets the dataset's own bytes, and so does one whose declaration a clip already meets.
"""

from ..core import Abilities, Audio, Part, Prompt
from .audio import decode_audio
from .changing import with_parts
from .checks import check_audio
from .encode import wav_of


def fitted(prompt: Prompt, abilities: Abilities) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt with clips converted to `audio_rate` and `audio_channels`, and the conversions for the record.

    A converted clip becomes a WAV of 16 bits, or of floats if it exceeds full scale.
    """
    if abilities.audio_rate is None and abilities.audio_channels is None:
        return prompt, ()
    conversions: list[str] = []
    changed = with_parts(
        prompt, lambda part: _fitted_part(part, abilities, conversions)
    )
    return (changed, tuple(conversions)) if conversions else (prompt, ())


def _fitted_part(part: Part, abilities: Abilities, done: list[str]) -> Part:
    if not isinstance(part, Audio):
        return part
    facts = check_audio(part)
    rate, channels = abilities.audio_rate, abilities.audio_channels
    fits = rate is None or facts.rate == rate
    if fits and (channels != 1 or facts.channels == 1):
        return part
    audio = decode_audio(part, rate=rate, channels=1 if channels == 1 else None)
    if not audio.conversions:
        return part
    done.extend(audio.conversions)
    return wav_of(audio, part)
