"""The engines of the speech recognisers. Each runs in a separate process that imports its library, but not assay.

If native code crashes or runs out of memory, only this process ends, and the run
continues.
"""

from __future__ import annotations

import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..workers.serve import Request


class MoonshineEngine:
    """Moonshine: converts audio as 32-bit floats at 16 kHz to text."""

    def __init__(
        self,
        model_path: str,
        options: dict[str, str],
    ) -> None:
        from moonshine_voice import ModelArch, Transcriber

        self._transcriber = Transcriber(
            model_path=model_path,
            model_arch=ModelArch.TINY,
            options=options,
        )

    def answer(self, request: Request) -> str:
        """Transcribe the request's audio clip."""
        samples = array.array("f", request.media("audio")[0])
        transcript = self._transcriber.transcribe_without_streaming(
            samples.tolist(), 16_000
        )
        return " ".join(line.text.strip() for line in transcript.lines).strip()


class PocketSphinxEngine:
    """PocketSphinx: converts audio as 16-bit integers at 16 kHz to text."""

    def __init__(self) -> None:
        from pocketsphinx import Decoder

        self._decoder = Decoder(samprate=16_000.0, loglevel="FATAL")

    def answer(self, request: Request) -> str:
        """Transcribe the request's audio clip."""
        decoder = self._decoder
        # Reset the loudness estimate of the previous clip, which would affect the answer.
        decoder.reinit_feat()
        decoder.start_utt()
        decoder.process_raw(request.media("audio")[0], full_utt=True)
        decoder.end_utt()
        heard = decoder.hyp()
        return heard.hypstr if heard is not None else ""
