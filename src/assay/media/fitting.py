"""Fitting: the audio clips of a prompt at the rate and with the channels that a model declares it wants.

A model that declares nothing gets the dataset's own bytes; so does one whose wishes an audio clip already meets.
"""

from ..core import Abilities, Audio, Part, Prompt
from .audio import decode_audio
from .changing import with_parts
from .checks import check_audio
from .encode import wav_of


def fitted(prompt: Prompt, abilities: Abilities) -> tuple[Prompt, tuple[str, ...]]:
    """The prompt with its clips as `audio_rate` and `audio_channels` ask, and what was done to them, for the record.

    An audio clip that is changed becomes a WAV of 16 bits, or of floats where it goes beyond full scale.
    """
    if abilities.audio_rate is None and abilities.audio_channels is None:
        return prompt, ()
    done: list[str] = []
    changed = with_parts(prompt, lambda part: _fitted_part(part, abilities, done))
    return (changed, tuple(done)) if done else (prompt, ())


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
