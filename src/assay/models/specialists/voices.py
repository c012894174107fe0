"""Speech synthesisers: eSpeak NG from its wheel, and Flite and Festival where they are installed.

eSpeak NG is rule-based, fast and robotic, and speaks many languages. The library in the
wheel `espeakng-loader` is under GPL-3: users install it themselves as an extra, and
assay does not contain it. Its voice has a flutter that continues from sentence to
sentence and cannot be reset. So that sentences do not influence each other, the library
is opened again for each one (15 ms), one at a time in the whole process.

Flite and Festival are packaged by Debian, and used if they are installed. Both read the
text from a file, so that no text can be taken for an option.
"""

import ctypes
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

from ...core import Audio, ModelError, Output, Request, UsageError
from ...media import audio_from
from .base import SPEAKS, Ranges, Specialist, call, find_program, only_text, version_of

# Names and numbers of speak_lib.h.
AUDIO_OUTPUT_SYNCHRONOUS = 2
INITIALIZE_DONT_EXIT = 0x8000
POS_CHARACTER = 1
CHARS_UTF8 = 1
RATE, PITCH = 1, 3
CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_short),
    ctypes.c_int,
    ctypes.c_void_p,
)

_ONE_AT_A_TIME = threading.Lock()


@dataclass
class Espeak(Specialist):
    """A speech synthesiser that speaks the text of the last turn."""

    abilities = SPEAKS
    label: ClassVar[str] = "espeak"
    ranges: ClassVar[Ranges] = {"words_per_minute": (80, 450), "pitch": (0, 100)}
    voice: str = "en-us"
    """A language, optionally with a variant, such as `en-us+f3`."""
    words_per_minute: int = 160
    pitch: int = 50
    """Pitch of the voice, from 0 to 100."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the version of the library's wheel, and the settings of the voice."""
        return {
            "espeak": self.voice,
            "engine": f"espeakng-loader {metadata.version('espeakng-loader')}",
            "words_per_minute": self.words_per_minute,
            "pitch": self.pitch,
        }

    def _start(self) -> bool:
        with _ONE_AT_A_TIME, _opened() as (library, _):
            self._choose_voice(library)
        return True

    def _choose_voice(self, library: ctypes.CDLL) -> None:
        if library.espeak_SetVoiceByName(self.voice.encode()) != 0:
            raise UsageError(
                f"espeak has no voice {self.voice!r}",
                fix="a language as en-us, de or fr-fr",
            )
        library.espeak_SetParameter(RATE, self.words_per_minute, 0)
        library.espeak_SetParameter(PITCH, self.pitch, 0)

    def _answer(self, request: Request, index: int) -> Output:
        import numpy as np

        text = only_text(request).replace("\0", " ").encode("utf-8", "replace")
        pieces: list[bytes] = []

        def keep(
            samples: int | None,
            count: int,
            events: object,
        ) -> int:
            if samples and count > 0:
                pieces.append(ctypes.string_at(samples, count * 2))
            return 0

        callback = CALLBACK(keep)
        with _ONE_AT_A_TIME, _opened() as (library, rate):
            self._choose_voice(library)
            library.espeak_SetSynthCallback(callback)
            status = library.espeak_Synth(
                text,
                len(text) + 1,
                0,
                POS_CHARACTER,
                0,
                CHARS_UTF8,
                None,
                None,
            )
        if status != 0 or not pieces:
            raise ModelError(f"espeak made no audio clip (status {status})")
        return Output.of(
            audio_from(np.frombuffer(b"".join(pieces), dtype=np.int16), rate)
        )


@contextmanager
def _opened() -> Iterator[tuple[Any, int]]:
    """Load the library in the state of a new process, and yield it with its sampling rate."""
    import _ctypes

    import espeakng_loader

    library = ctypes.CDLL(espeakng_loader.get_library_path())
    library.espeak_Synth.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_uint,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_uint,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    library.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
    library.espeak_SetSynthCallback.argtypes = [CALLBACK]
    library.espeak_SetSynthCallback.restype = None
    data = espeakng_loader.get_data_path().encode()
    try:
        rate = library.espeak_Initialize(
            AUDIO_OUTPUT_SYNCHRONOUS,
            0,
            ctypes.c_char_p(data),
            INITIALIZE_DONT_EXIT,
        )
        if rate <= 0:
            raise ModelError(
                "espeak could not be started",
                fix="pip install --force-reinstall espeakng-loader",
            )
        yield library, int(rate)
        library.espeak_Terminate()
    finally:
        _ctypes.dlclose(library._handle)


VOICE = re.compile(r"[A-Za-z0-9_]+")
TEXT, SPEECH = "text.txt", "speech.wav"


@dataclass
class Program(Specialist):
    """A speech synthesiser that runs as an external program. It reads a text file and writes an audio file."""

    abilities = SPEAKS
    program: ClassVar[str]
    apt: ClassVar[str]
    named_by: ClassVar[str]
    """The program whose `--version` output gives the version."""
    arguments: ClassVar[tuple[str, ...]]
    """The program's command-line arguments: the voice as `{}`, the text file to read and the audio file to write."""
    voice: str

    def __post_init__(self) -> None:
        """Raise if the voice is not a plain name."""
        # Festival evaluates its input, so a voice must be a plain name.
        if not VOICE.fullmatch(self.voice):
            raise UsageError(
                f"{self.voice!r} is not the name of a voice",
                where=f"model {self.label!r}",
            )

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the program's name and version, and its voice."""
        return {
            self.label: self.voice,
            "engine": version_of(find_program(self.named_by, self.apt)),
        }

    def _start(self) -> str:
        return find_program(self.program, self.apt)

    def _answer(self, request: Request, index: int) -> Output:
        """Write the text to a file, run the program on it, and read the audio clip that the program wrote."""
        with tempfile.TemporaryDirectory(prefix="assay-voice-") as name:
            folder = Path(name)
            (folder / TEXT).write_text(only_text(request) + "\n", "utf-8")
            call(
                [self._engine, *(word.format(self.voice) for word in self.arguments)],
                folder=folder,
            )
            try:
                speech = (folder / SPEECH).read_bytes()
            except OSError as error:
                raise ModelError(f"{self.program} wrote no audio clip") from error
        return Output.of(Audio(speech))


@dataclass
class Flite(Program):
    """Speaks the text of the last turn with one of the voices included in Flite."""

    label: ClassVar[str] = "flite"
    program: ClassVar[str] = "flite"
    apt: ClassVar[str] = "flite"
    named_by: ClassVar[str] = "flite"
    arguments: ClassVar[tuple[str, ...]] = ("-voice", "{}", "-f", TEXT, "-o", SPEECH)
    voice: str = "slt"
    """One of Flite's voices: slt, rms, awb, kal or kal16."""


@dataclass
class Festival(Program):
    """Speaks the text of the last turn with an installed voice of Festival."""

    label: ClassVar[str] = "festival"
    program: ClassVar[str] = "text2wave"
    apt: ClassVar[str] = "festival festvox-us-slt-hts"
    named_by: ClassVar[str] = "festival"
    arguments: ClassVar[tuple[str, ...]] = ("-eval", "(voice_{})", "-o", SPEECH, TEXT)
    voice: str = "cmu_us_slt_arctic_hts"
