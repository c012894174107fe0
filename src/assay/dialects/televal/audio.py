"""Audio as a guest model takes it: files with one channel at its rate, written once and reused.

A file keeps the name the guest expects (`<key>.wav`) where the key is fit for one; another clip under the same name
gets a name of its own, so that nothing is ever overwritten.
"""

import hashlib
import json
import re
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

from ...core import Audio
from ...store.layout import write_whole

RATE = 16_000
INDEX = ".sounds.jsonl"
_FIT = re.compile(r"[^\W]?[\w.+=@ -]{0,99}")


def file_stem(key: str) -> str:
    """A key as part of a file name; one that is not fit for it is replaced by its hash."""
    if _FIT.fullmatch(key) and key.strip(". ") == key and key:
        return key
    return hashlib.sha256(key.encode()).hexdigest()[:24]


class AudioFolder:
    """A folder of decoded audio clips: a kept one, or a temporary one that goes when it is closed or forgotten."""

    def __init__(self, folder: Path | None = None) -> None:
        self._removal: weakref.finalize[[str, bool], AudioFolder] | None = None
        self._folder = folder
        self._known: dict[str, str] | None = None
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """Where the files lie; made when first asked for."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="assay_audio_"))
            self._removal = weakref.finalize(
                self, shutil.rmtree, str(self._folder), True
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def place(self, folder: Path) -> None:
        """Puts the files into another folder from now on."""
        self._folder, self._known = folder, None

    def put(
        self, audio: Audio, name: str, *, rate: int = RATE, mono: bool = True
    ) -> tuple[Path, tuple[str, ...]]:
        """A file with the audio, one channel at `rate`, and what was changed for it."""
        with self._lock:
            digests = self._index()
            wanted = f"{audio.digest}/{rate}/{mono}"
            path = self.folder / f"{name}.wav"
            if path.exists() and digests.get(path.name, wanted) != wanted:
                path = self.folder / f"{name}-{audio.digest[:8]}.wav"
            if path.exists() and digests.get(path.name, wanted) == wanted:
                return path, ()
            data, changes = as_wav(audio, rate=rate, mono=mono)
            write_whole(path, data)
            digests[path.name] = wanted
            with (self.folder / INDEX).open("a", encoding="utf-8") as index:
                index.write(json.dumps([path.name, wanted]) + "\n")
            return path, changes

    def close(self) -> None:
        """Removes a temporary folder with all that is in it."""
        if self._removal is not None:
            self._removal()
            self._removal, self._folder, self._known = None, None, None

    def _index(self) -> dict[str, str]:
        if self._known is None:
            index = self.folder / INDEX
            lines = (
                index.read_text(encoding="utf-8").splitlines() if index.exists() else []
            )
            self._known = dict(json.loads(line) for line in lines if line.endswith("]"))
        return self._known


def as_wav(
    audio: Audio, *, rate: int = RATE, mono: bool = True
) -> tuple[bytes, tuple[str, ...]]:
    """An audio clip as 16-bit WAV, and what was changed for it."""
    import numpy as np

    from ...media import audio_from, decode_audio

    waveform = decode_audio(audio, rate=rate, channels=1 if mono else None)
    # A filter may overshoot full scale by a hair.
    clip = audio_from(np.clip(waveform.samples, -1.0, 1.0), waveform.rate)
    return clip.data(), waveform.conversions


def audio_bytes(cell: Any) -> bytes | None:
    """The bytes of a Parquet cell with an audio clip: as they are, or in the struct that Hugging Face writes."""
    if isinstance(cell, dict):
        cell = cell.get("bytes")
    return (
        bytes(cell)
        if isinstance(cell, (bytes, bytearray, memoryview)) and cell
        else None
    )
