"""eSpeak NG: rule-based speech through the library in the wheel `espeakng-loader`. Robotic, fast, many languages.

The library is under GPL-3: users install it themselves as an extra, and assay ships nothing of it. Its voice has a
flutter that continues from sentence to sentence and cannot be reset. So that a sentence does not depend on earlier
ones, the library is opened anew for each one (15 ms), one at a time in the whole process.
"""

import ctypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any, ClassVar

from ...core import ModelError, Output, Request, UsageError
from ...media import audio_from
from .base import SPEAKS, Ranges, Specialist, asked_text

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
    """A speech synthesiser: speaks the text of the last turn."""

    abilities = SPEAKS
    label: ClassVar[str] = "espeak"
    ranges: ClassVar[Ranges] = {"words_per_minute": (80, 450), "pitch": (0, 100)}
    voice: str = "en-us"
    """A language, optionally with a variant, such as `en-us+f3`."""
    words_per_minute: int = 160
    pitch: int = 50
    """0 to 100."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """The version of the library's wheel, and the settings of the voice."""
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

        text = asked_text(request).replace("\0", " ").encode("utf-8", "replace")
        pieces: list[bytes] = []

        def keep(samples: int | None, count: int, events: object) -> int:
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
    """Open the library in the state of a new process, and yield it with its sampling rate."""
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
