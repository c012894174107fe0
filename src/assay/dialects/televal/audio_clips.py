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
"""Name of a file in each folder of audio clips.

For each WAV file it contains the fingerprint of the original clip.
"""
_FIT = re.compile(r"[^\W]?[\w.+=@ -]{0,99}")


def file_stem(key: str) -> str:
    """Return a file name without suffix for a row's key. A key that is not a valid file name becomes a hash."""
    if _FIT.fullmatch(key) and key.strip(". ") == key and key:
        return key
    return hashlib.sha256(key.encode()).hexdigest()[:24]


class AudioFolder:
    """A folder of decoded audio clips. If it is temporary, it is removed when it is closed or garbage-collected."""

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
        """Use another folder for files that are written later."""
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
        """Write an audio clip with the sampling rate `rate`, and with one channel if `mono`.

        Return the path and the conversions that were needed.
        """
        fingerprint = f"{audio.digest}/{rate}/{mono}"
        with self._lock:
            path = self.folder / f"{name}.wav"
            if path.exists() and not self._has_clip(path, fingerprint):
                # A different clip of the same name is not overwritten.
                path = self.folder / f"{name}-{audio.digest[:8]}.wav"
            if path.exists() and self._has_clip(path, fingerprint):
                return path, ()
            data, changes = as_wav(audio, rate=rate, mono=mono)
            write_whole(path, data)
            self._index()[path.name] = fingerprint
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

    def _has_clip(self, path: Path, fingerprint: str) -> bool:
        """Return False if the index shows that a file was made from another audio clip."""
        return self._index().get(path.name, fingerprint) == fingerprint

    def _index(self) -> dict[str, str]:
        """Return the fingerprint of the original clip for each file in the folder, by file name."""
        if self._fingerprints is None:
            self._fingerprints = {}
            index = self.folder / INDEX
            if index.exists():
                lines = index.read_text(encoding="utf-8").splitlines()
                # The last line is incomplete if the process was killed.
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
    # Resampling may exceed the full scale slightly.
    clip = audio_from(np.clip(waveform.samples, -1.0, 1.0), waveform.rate)
    return clip.data(), waveform.conversions


def audio_bytes(cell: object) -> bytes | None:
    """Return the audio clip in a Parquet cell: plain bytes, or the struct with `bytes` that Hugging Face writes."""
    if isinstance(cell, dict):
        cell = cell.get("bytes")
    if isinstance(cell, (bytes, bytearray, memoryview)) and cell:
        return bytes(cell)
    return None


def audio_form(model: object) -> tuple[int, bool]:
    """Return the sampling rate that a model's class declares for its audio, and True if it takes only mono."""
    rate = int(getattr(model, "inputs_sr", RATE))
    return rate, bool(getattr(model, "mono_only", True))


def fitted(
    audio: Audio,
    model: object,
    folder: AudioFolder,
) -> tuple[Path, tuple[str, ...]]:
    """Return the path of an audio clip with the rate and channels that a model declares.

    If the clip must be converted, the new file is in `folder`. Also return the
    conversions, such as resampling.
    """
    rate, mono = audio_form(model)
    facts = check_media(audio)
    if facts.rate == rate and (facts.channels == 1 or not mono):
        return Path(str(audio.source)), ()
    return folder.put(audio, audio.digest[:24], rate=rate, mono=mono)
