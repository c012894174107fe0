"""Moonshine tiny-en: 27 million parameters that turn English speech into text. Their wheel is 0.1.0, none later."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import MissingExtra
from ..weights import weights_digest
from .recogniser import RATE, Recogniser

if TYPE_CHECKING:
    from .pieces import Floats

MODEL = "tiny-en"
PIP = "moonshine-voice==0.1.0"


@dataclass
class Moonshine(Recogniser):
    """A recogniser of English speech; words beside the audio are not read.

    It was trained on clips of up to 30 s: beyond a minute it repeats itself, and its memory grows with the square.
    """

    label: ClassVar[str] = "moonshine"
    engine: ClassVar[str] = "MoonshineEngine"
    vad_threshold: float = 0.0
    """Above 0, a detector of speech cuts the clip first, and short pieces come out as words nobody said."""
    silence_seconds: float = 0.5
    """Added at both ends: a clip of a word or two is otherwise misheard. Longer clips are heard the same without."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("silence_seconds", 0, 10)

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
            "longest_seconds": self.longest_seconds,
        }

    def _engine_options(self) -> Mapping[str, Any]:
        return {"model_path": str(_folder()), "options": {"vad_threshold": str(self.vad_threshold)}}

    def _encoded(self, piece: "Floats") -> bytes:
        import numpy as np

        return np.pad(piece, int(self.silence_seconds * RATE)).astype("<f4").tobytes()

    @property
    def _additions(self) -> list[str]:
        return [f"added {self.silence_seconds:g} s of silence at both ends"] if self.silence_seconds else []


def _folder() -> Path:
    """Where the weights lie; later wheels come without them and would fetch them from the network."""
    from moonshine_voice import get_model_path

    folder = Path(get_model_path(MODEL))
    if not any(folder.glob("*.ort")):
        raise MissingExtra(f"the wheel that holds the weights of Moonshine {MODEL}", PIP)
    return folder
