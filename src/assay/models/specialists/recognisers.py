"""Speech recognisers, and the splitting of recordings that are too long for them.

Each recogniser declares the longest clip that it accepts. A longer recording is cut at
the quietest point in the second half of the longest possible piece. If even this point
is not a pause, the cut would split a word, so the recording is rejected.

The memory of the engine is limited. If memory runs out or native code crashes, only
this sample fails, and the next one gets a new engine.
"""

import base64
import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Abilities, Audio, MissingExtra, ModelError, Output, Request
from ...media import decode_audio
from ..weights import weights_digest
from ..workers.process import WorkerProcess
from .base import Ranges, Specialist, ignored_text, only_medium

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

FRAME_SECONDS = 0.02
PAUSE_SECONDS = 0.16
"""Minimum length in seconds of a pause at which a recording may be cut. Loudness is averaged over this time."""
PAUSE_LEVEL = 0.2
"""Highest loudness of a pause, as a fraction of the loudness of speech in the recording."""
SILENCE_LEVEL = 0.002
SILENCE_PART = 0.02
"""Loudness below which a piece is silent, as a fraction of the recording's speech loudness.

The piece must also be below `SILENCE_LEVEL`. Recognisers invent words in silence. A
recording that is faint throughout is not silent.
"""


def split_recording(
    samples: "Floats",
    rate: int,
    longest_seconds: float,
) -> "list[Floats]":
    """Return the pieces of a recording in order, without silent ones. A short recording is returned unchanged."""
    import numpy as np

    longest = int(longest_seconds * rate)
    if len(samples) <= longest:
        return [samples]
    power = _power(samples, rate)
    loudness = np.sqrt(_averaged(power, PAUSE_SECONDS))
    # Use the loudest second: most of a recording may be silence, which would dominate a percentile.
    speech = float(np.sqrt(_averaged(power, 1.0).max()))
    faintest = min(SILENCE_LEVEL, SILENCE_PART * speech)
    frame = int(FRAME_SECONDS * rate)
    spans = _places(samples, rate, longest, loudness, speech)
    loudest = [
        loudness[start // frame : end // frame + 1].max(initial=0)
        for start, end in spans
    ]
    return [
        samples[start:end]
        for (start, end), level in zip(spans, loudest, strict=True)
        if level > faintest
    ]


def _places(
    samples: "Floats",
    rate: int,
    longest: int,
    loudness: "Floats",
    speech: float,
) -> list[tuple[int, int]]:
    import numpy as np

    frame = int(FRAME_SECONDS * rate)
    spans: list[tuple[int, int]] = []
    start = 0
    while len(samples) - start > longest:
        first = (start + longest // 2) // frame
        last = (start + longest) // frame
        window = loudness[first:last]
        # Of several equally quiet points, take the last: fewer pieces, fewer cuts.
        quietest = last - 1 - int(np.argmin(window[::-1]))
        if loudness[quietest] > PAUSE_LEVEL * speech:
            raise ModelError(
                f"cannot hear {len(samples) / rate:.0f} s at once, and finds no pause to cut at between"
                f" {first * FRAME_SECONDS:.0f} and {last * FRAME_SECONDS:.0f} s",
                fix=f"cut the recording into clips of at most {longest / rate:g} s",
            )
        end = min(quietest * frame + frame // 2, start + longest)
        spans.append((start, end))
        start = end
    spans.append((start, len(samples)))
    return spans


def _power(
    samples: "Floats",
    rate: int,
) -> "Floats":
    """Return the mean square of each frame.

    The mean of the recording is subtracted first, because it may have an offset.
    """
    import numpy as np

    frame = int(FRAME_SECONDS * rate)
    frames = samples[: len(samples) // frame * frame].reshape(-1, frame)
    shift = samples.mean(dtype=np.float64)
    # Expand the formula to avoid copying hours of audio.
    power = (
        np.einsum("ij,ij->i", frames, frames) / frame
        - 2 * shift * frames.mean(axis=1)
        + shift**2
    )
    positive: Floats = np.maximum(power, 0).astype(np.float32)
    return positive


def _averaged(
    power: "Floats",
    seconds: float,
) -> "Floats":
    import numpy as np

    width = max(1, round(seconds / FRAME_SECONDS))
    averaged: Floats = np.convolve(power, np.ones(width) / width, mode="same").astype(
        np.float32
    )
    return averaged


RATE = 16_000
ENGINES = Path(__file__).with_name("engines.py")
START_SECONDS = 300.0
SECONDS_A_SECOND = 20.0
"""Time limit of the engine in seconds, per second of audio. It is generous, because the machine may be busy."""
LEAST_SECONDS = 120.0
GIBIBYTE = 1024**3
MOONSHINE, MOONSHINE_PIP = "tiny-en", "moonshine-voice==0.1.0"
LOUDEST = 32_767
"""The largest value of a 16-bit sample, the input format of PocketSphinx."""


@dataclass
class Recogniser(Specialist):
    """A model that converts speech to text. Any text in the prompt is ignored."""

    ranges: ClassVar[Ranges] = {"longest_seconds": (1, 3600), "memory_gib": (0.5, 1024)}
    engine: ClassVar[str]
    """Name of the engine's class in `engines.py`."""
    longest_seconds: float = 30.0
    """Length in seconds of the longest clip that the engine accepts. Longer recordings are split at pauses."""
    memory_gib: float = 4.0
    """Limit of the address space of the engine's process, in GiB."""

    @property
    def abilities(self) -> Abilities:
        """Abilities: audio in, text out."""
        return Abilities(
            accepts=frozenset({"text", "audio"}),
            audio_rate=RATE,
            audio_channels=1,
        )

    def close(self) -> None:
        """Close the engine by ending its process."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        process = self._engine
        self._engine = None
        if process is not None:
            process.end()

    def _start(self) -> WorkerProcess:
        # The engine's library is installed in the same environment as assay.
        if "PYTHONPATH" in os.environ:
            paths = {"PYTHONPATH": os.environ["PYTHONPATH"]}
        else:
            paths = {}
        process = WorkerProcess(self.label, env={**paths, "OMP_NUM_THREADS": "1"})
        process.start(
            ENGINES,
            self.engine,
            self._engine_options(),
            START_SECONDS,
            int(self.memory_gib * GIBIBYTE),
        )
        return process

    def _answer(
        self,
        request: Request,
        index: int,
    ) -> Output:
        audio = only_medium(request, Audio)
        waveform = decode_audio(audio, rate=RATE, channels=1)
        longest = self.longest_seconds
        pieces = split_recording(waveform.samples, RATE, longest)
        words = []
        for piece in pieces:
            text = self._transcribe(piece)
            if text:
                words.append(text)
        conversions = [*waveform.conversions, *self._additions]
        if len(waveform.samples) > longest * RATE:
            conversions.append(f"heard in {len(pieces)} pieces cut at pauses")
        output = Output.of(" ".join(words))
        details = {"audio": conversions, **ignored_text(request)}
        return replace(output, details=details)

    def _transcribe(self, piece: "Floats") -> str:
        if self._engine is None:  # ended with the previous sample
            self._engine = self._start()
        audio = {
            "type": "audio",
            "base64": base64.b64encode(self._encoded(piece)).decode("ascii"),
        }
        message = {"id": 1, "messages": [{"role": "user", "content": [audio]}]}
        seconds = LEAST_SECONDS + SECONDS_A_SECOND * len(piece) / RATE
        fix = f"memory_gib: more than its {self.memory_gib:g} GiB, or longest_seconds: shorter pieces"
        try:
            reply = self._engine.ask(message, seconds)
        except ModelError as error:
            self._end()
            raise ModelError(
                f"{error.what} over {len(piece) / RATE:.0f} s of audio", fix=fix
            ) from error
        if "error" in reply:
            self._end()  # its state after an error is unknown
            raise ModelError(
                f"{self.label} failed over {len(piece) / RATE:.0f} s of audio: {reply['error']}",
                fix=fix,
            )
        return str(reply["answer"])

    @property
    def _additions(self) -> list[str]:
        """Return notes on audio that was added before recognition, such as silence."""
        return []

    @abstractmethod
    def _engine_options(self) -> Mapping[str, Any]:
        """Return the options of the engine's class."""

    @abstractmethod
    def _encoded(self, piece: "Floats") -> bytes:
        """Encode a piece in the engine's input format."""


@dataclass
class Moonshine(Recogniser):
    """Moonshine tiny-en: 27 million parameters that convert English speech to text. Only wheel 0.1.0 has the weights.

    It was trained on clips of up to 30 s. Beyond a minute it repeats itself, and memory grows with the square of the
    length.
    """

    label: ClassVar[str] = "moonshine"
    engine: ClassVar[str] = "MoonshineEngine"
    ranges: ClassVar[Ranges] = {**Recogniser.ranges, "silence_seconds": (0, 10)}
    vad_threshold: float = 0.0
    """Minimum score at which Moonshine's speech detector treats audio as speech. 0: do not use the detector.

    The detector splits the clip, and words that were not spoken appear in short pieces.
    """
    silence_seconds: float = 0.5
    """Seconds of silence to add at both ends, because clips of one or two words are misrecognised otherwise.

    Longer clips are not affected.
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the digest of the weights, and the version of the engine."""
        files = sorted(_folder().glob("*.ort"))
        return {
            "moonshine": MOONSHINE,
            "sha256": [weights_digest(file) for file in files],
            "engine": f"moonshine-voice {metadata.version('moonshine-voice')}",
            "vad_threshold": self.vad_threshold,
            "silence_seconds": self.silence_seconds,
            "longest_seconds": self.longest_seconds,
        }

    def _engine_options(self) -> Mapping[str, Any]:
        return {
            "model_path": str(_folder()),
            "options": {"vad_threshold": str(self.vad_threshold)},
        }

    def _encoded(self, piece: "Floats") -> bytes:
        import numpy as np

        return np.pad(piece, int(self.silence_seconds * RATE)).astype("<f4").tobytes()

    @property
    def _additions(self) -> list[str]:
        if self.silence_seconds:
            return [f"added {self.silence_seconds:g} s of silence at both ends"]
        return []


@dataclass
class PocketSphinx(Recogniser):
    """PocketSphinx: older and weaker than neural recognisers, useful as a second system to compare with Moonshine."""

    label: ClassVar[str] = "pocketsphinx"
    engine: ClassVar[str] = "PocketSphinxEngine"
    longest_seconds: float = 120.0

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the version of the wheel, which contains engine and weights."""
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


def _folder() -> Path:
    """Return the folder with Moonshine's weights. Raise for later wheels, which lack them and would download them."""
    from moonshine_voice import get_model_path

    folder = Path(get_model_path(MOONSHINE))
    if not any(folder.glob("*.ort")):
        raise MissingExtra(
            f"the wheel that holds the weights of Moonshine {MOONSHINE}", MOONSHINE_PIP
        )
    return folder
