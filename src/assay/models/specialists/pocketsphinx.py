"""PocketSphinx: a small recogniser of English speech of the generation before neural ones; its model lies in the wheel.

Honestly weaker than Moonshine, which makes it a good second system to rank.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, ClassVar

from .recogniser import Recogniser

if TYPE_CHECKING:
    from .pieces import Floats

LOUDEST = 32_767


@dataclass
class PocketSphinx(Recogniser):
    """A recogniser of English speech; words beside the audio are not read."""

    label: ClassVar[str] = "pocketsphinx"
    engine: ClassVar[str] = "PocketSphinxEngine"
    longest_seconds: float = 120.0

    @property
    def identity(self) -> Mapping[str, Any]:
        """The wheel holds engine and model alike."""
        return {
            "pocketsphinx": "en-us",
            "engine": f"pocketsphinx {metadata.version('pocketsphinx')}",
            "longest_seconds": self.longest_seconds,
        }

    def _engine_options(self) -> Mapping[str, Any]:
        return {}

    def _encoded(self, piece: "Floats") -> bytes:
        import numpy as np

        return np.round(np.clip(piece, -1.0, 1.0) * LOUDEST).astype("<i2").tobytes()
