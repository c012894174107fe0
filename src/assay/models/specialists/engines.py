"""The engines of the recognisers, each run in a process of its own: needs its library, and nothing of assay.

Native code that outgrows its memory or crashes takes this process down, not the run.
"""

from __future__ import annotations

import array
from typing import Any


class MoonshineEngine:
    """Turns 32-bit floats at 16 kHz into text."""

    def __init__(self, model_path: str, options: dict[str, str]) -> None:
        from moonshine_voice import ModelArch, Transcriber

        self._transcriber = Transcriber(
            model_path=model_path, model_arch=ModelArch.TINY, options=options
        )

    def answer(self, request: Any) -> str:
        """What is said in the one audio."""
        samples = array.array("f", request.media("audio")[0])
        transcript = self._transcriber.transcribe_without_streaming(
            samples.tolist(), 16_000
        )
        return " ".join(line.text.strip() for line in transcript.lines).strip()


class PocketSphinxEngine:
    """Turns 16-bit integers at 16 kHz into text."""

    def __init__(self) -> None:
        from pocketsphinx import Decoder

        self._decoder = Decoder(samprate=16_000.0, loglevel="FATAL")

    def answer(self, request: Any) -> str:
        """What is said in the one audio."""
        decoder = self._decoder
        # Forgets the loudness of the clip before, on which the answer would otherwise depend.
        decoder.reinit_feat()
        decoder.start_utt()
        decoder.process_raw(request.media("audio")[0], full_utt=True)
        decoder.end_utt()
        heard = decoder.hyp()
        return heard.hypstr if heard is not None else ""
