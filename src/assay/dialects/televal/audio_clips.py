"""Audio clips as files: those in the rows of a table, and those converted for a model."""

import hashlib
import json
import re
import shutil
import tempfile
import threading
import weakref
from pathlib import Path

from ...core import Audio
from ...media import check_media
from ...store.layout import write_whole

RATE = 16_000
INDEX = ".sounds.jsonl"
"""Name of a file inside a folder of audio clips.

It has the fingerprint of the clip that each WAV file was made from.
"""
_FIT = re.compile(r"[^\W]?[\w.+=@ -]{0,99}")


def file_stem(key: str) -> str:
    """Return a key for use in a file name; its hash if it is not a valid one."""
    if _FIT.fullmatch(key) and key.strip(". ") == key and key:
        return key
    return hashlib.sha256(key.encode()).hexdigest()[:24]


class AudioFolder:
    """A folder of decoded audio clips. A temporary folder is removed when it is closed or garbage-collected."""

    def __init__(self, folder: Path | None = None) -> None:
        self._removal: weakref.finalize[[str, bool], AudioFolder] | None = None
        self._folder = folder
        self._fingerprints: dict[str, str] | None = None
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """The folder of the files, created on first use."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="assay_audio_"))
            self._removal = weakref.finalize(
                self,
                shutil.rmtree,
                str(self._folder),
                True,
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def place(self, folder: Path) -> None:
        """Write files to another folder from now on."""
        self._folder = folder
        self._fingerprints = None

    def put(
        self,
        audio: Audio,
        name: str,
        *,
        rate: int = RATE,
        mono: bool = True,
    ) -> tuple[Path, tuple[str, ...]]:
        """Write the audio at `rate`, with one channel if `mono`.

        Return the path and the conversions that were needed.
        """
        fingerprint = f"{audio.digest}/{rate}/{mono}"
        with self._lock:
            fingerprints = self._index()
            # Another clip of the same name keeps its file.
            for stem in (name, f"{name}-{audio.digest[:8]}"):
                path = self.folder / f"{stem}.wav"
                if not path.exists():
                    break
                if fingerprints.get(path.name, fingerprint) == fingerprint:
                    return path, ()
            data, changes = as_wav(audio, rate=rate, mono=mono)
            write_whole(path, data)
            fingerprints[path.name] = fingerprint
            with (self.folder / INDEX).open("a", encoding="utf-8") as index:
                index.write(json.dumps([path.name, fingerprint]) + "\n")
            return path, changes

    def close(self) -> None:
        """Remove a temporary folder with its contents."""
        if self._removal is not None:
            self._removal()
            self._removal = None
            self._folder = None
            self._fingerprints = None

    def _index(self) -> dict[str, str]:
        """Return, for each file name in the folder, the fingerprint of the clip that the file was made from."""
        if self._fingerprints is None:
            self._fingerprints = {}
            index = self.folder / INDEX
            if index.exists():
                lines = index.read_text(encoding="utf-8").splitlines()
                # A kill may have cut the last line.
                whole_lines = [line for line in lines if line.endswith("]")]
                self._fingerprints.update(map(json.loads, whole_lines))
        return self._fingerprints


def as_wav(
    audio: Audio,
    *,
    rate: int = RATE,
    mono: bool = True,
) -> tuple[bytes, tuple[str, ...]]:
    """Return an audio clip as 16-bit WAV, and the conversions that were needed, such as resampling."""
    import numpy as np

    from ...media import audio_from, decode_audio

    waveform = decode_audio(
        audio,
        rate=rate,
        channels=1 if mono else None,
    )
    # A filter may exceed full scale slightly.
    clip = audio_from(np.clip(waveform.samples, -1.0, 1.0), waveform.rate)
    return clip.data(), waveform.conversions


def audio_bytes(cell: object) -> bytes | None:
    """Return the bytes of a Parquet cell with an audio clip: plain bytes, or the struct that Hugging Face writes."""
    if isinstance(cell, dict):
        cell = cell.get("bytes")
    if isinstance(cell, (bytes, bytearray, memoryview)) and cell:
        return bytes(cell)
    return None


def audio_form(model: object) -> tuple[int, bool]:
    """Return the sampling rate that a model's class declares for its audio, and whether it takes only one channel."""
    rate = int(getattr(model, "inputs_sr", RATE))
    return rate, bool(getattr(model, "mono_only", True))


def fitted(
    audio: Audio,
    model: object,
    folder: AudioFolder,
) -> tuple[Path, tuple[str, ...]]:
    """Return an audio file with the rate and channels that a model declares, and the conversions that were needed.

    A clip that has to be converted is written to `folder`.
    """
    rate, mono = audio_form(model)
    facts = check_media(audio)
    if facts.rate == rate and (facts.channels == 1 or not mono):
        return Path(str(audio.source)), ()
    return folder.put(audio, audio.digest[:24], rate=rate, mono=mono)
