"""PocketSphinx: a small recogniser of English speech of the generation before neural ones; its model lies in the wheel.

Honestly weaker than Moonshine, which makes it a good second system to rank.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, ClassVar

from ...core import Abilities, Audio, Output, Request
from ...media import decode_audio
from .base import Specialist, only_medium, passed_over

RATE = 16_000
LOUDEST = 32_767


@dataclass
class PocketSphinx(Specialist):
    """A recogniser of English speech; words beside the sound are not read."""

    label: ClassVar[str] = "pocketsphinx"

    @property
    def abilities(self) -> Abilities:
        """Speech in, text out."""
        return Abilities(accepts=frozenset({"text", "audio"}), audio_rate=RATE, audio_channels=1)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The wheel holds engine and model alike."""
        return {"pocketsphinx": "en-us", "engine": f"pocketsphinx {metadata.version('pocketsphinx')}"}

    def _start(self) -> Any:
        from pocketsphinx import Decoder

        return Decoder(samprate=float(RATE), loglevel="FATAL")

    def _answer(self, request: Request, index: int) -> Output:
        import numpy as np

        sound = decode_audio(only_medium(request, Audio), rate=RATE, channels=1)
        samples = np.round(np.clip(sound.samples, -1.0, 1.0) * LOUDEST).astype("<i2")
        decoder = self._engine
        # Forgets the loudness of the clip before, on which the answer would otherwise depend.
        decoder.reinit_feat()
        decoder.start_utt()
        decoder.process_raw(samples.tobytes(), full_utt=True)
        decoder.end_utt()
        heard = decoder.hyp()
        text = heard.hypstr if heard is not None else ""
        return replace(Output.of(text), details={"audio": list(sound.conversions), **passed_over(request)})
