"""Moonshine tiny-en: 27 million parameters that turn English speech into text. Their wheel is 0.1.0, none later."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

from ...core import Abilities, Audio, MissingExtra, Output, Request, UsageError
from ...media import decode_audio
from ..weights import weights_digest
from .base import Specialist, only_medium, passed_over

MODEL = "tiny-en"
PIP = "moonshine-voice==0.1.0"
RATE = 16_000


@dataclass
class Moonshine(Specialist):
    """A recogniser of English speech; words beside the sound are not read."""

    label: ClassVar[str] = "moonshine"
    vad_threshold: float = 0.0
    """Above 0, a detector of speech cuts the clip first, and short pieces come out as words nobody said."""
    silence_seconds: float = 0.5
    """Added at both ends: a clip of a word or two is otherwise misheard. Longer clips are heard the same without."""

    def __post_init__(self) -> None:
        if not 0 <= self.silence_seconds <= 10:
            raise UsageError(f"silence_seconds is {self.silence_seconds}", where="model 'moonshine'", fix="0 to 10")

    @property
    def abilities(self) -> Abilities:
        """Speech in, text out."""
        return Abilities(accepts=frozenset({"text", "audio"}), audio_rate=RATE, audio_channels=1)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The weights by digest, the engine by version."""
        files = sorted(_folder().glob("*.ort"))
        return {
            "moonshine": MODEL,
            "sha256": [weights_digest(file) for file in files],
            "engine": f"moonshine-voice {metadata.version('moonshine-voice')}",
            "vad_threshold": self.vad_threshold,
            "silence_seconds": self.silence_seconds,
        }

    def close(self) -> None:
        """Frees the weights."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
            self._engine = None

    def _start(self) -> Any:
        from moonshine_voice import ModelArch, Transcriber

        options = {"vad_threshold": str(self.vad_threshold)}
        return Transcriber(model_path=str(_folder()), model_arch=ModelArch.TINY, options=options)

    def _answer(self, request: Request, index: int) -> Output:
        sound = decode_audio(only_medium(request, Audio), rate=RATE, channels=1)
        silence = [0.0] * int(self.silence_seconds * RATE)
        transcript = self._engine.transcribe_without_streaming([*silence, *sound.samples.tolist(), *silence], RATE)
        text = " ".join(line.text.strip() for line in transcript.lines).strip()
        added = [f"added {self.silence_seconds:g} s of silence at both ends"] if silence else []
        return replace(Output.of(text), details={"audio": [*sound.conversions, *added], **passed_over(request)})


def _folder() -> Path:
    """Where the weights lie; later wheels come without them and would fetch them from the network."""
    from moonshine_voice import get_model_path

    folder = Path(get_model_path(MODEL))
    if not any(folder.glob("*.ort")):
        raise MissingExtra(f"the wheel that holds the weights of Moonshine {MODEL}", PIP)
    return folder
