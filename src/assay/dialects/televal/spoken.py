"""Audio of rows and of models: as files that models read, and as parts of prompts."""

import hashlib
import json
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...core import Audio, shorten
from ...store.layout import write_whole
from ..shapes import Fields, Record

RATE = 16_000
INDEX = ".sounds.jsonl"
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
        self._known: dict[str, str] | None = None
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
        self._folder, self._known = folder, None

    def put(
        self,
        audio: Audio,
        name: str,
        *,
        rate: int = RATE,
        mono: bool = True,
    ) -> tuple[Path, tuple[str, ...]]:
        """Write the audio at `rate`, with one channel if `mono`; return the path and the conversions."""
        with self._lock:
            digests = self._index()
            fingerprint = f"{audio.digest}/{rate}/{mono}"

            def is_same_clip(path: Path) -> bool:
                return digests.get(path.name, fingerprint) == fingerprint

            path = self.folder / f"{name}.wav"
            if path.exists() and not is_same_clip(path):
                path = self.folder / f"{name}-{audio.digest[:8]}.wav"
            if path.exists() and is_same_clip(path):
                return path, ()
            data, changes = as_wav(audio, rate=rate, mono=mono)
            write_whole(path, data)
            digests[path.name] = fingerprint
            with (self.folder / INDEX).open("a", encoding="utf-8") as index:
                index.write(json.dumps([path.name, fingerprint]) + "\n")
            return path, changes

    def close(self) -> None:
        """Remove a temporary folder with its contents."""
        if self._removal is not None:
            self._removal()
            self._removal, self._folder, self._known = None, None, None

    def _index(self) -> dict[str, str]:
        if self._known is None:
            index = self.folder / INDEX
            if index.exists():
                lines = index.read_text(encoding="utf-8").splitlines()
            else:
                lines = []
            self._known = dict(json.loads(line) for line in lines if line.endswith("]"))
        return self._known


def as_wav(
    audio: Audio,
    *,
    rate: int = RATE,
    mono: bool = True,
) -> tuple[bytes, tuple[str, ...]]:
    """Return an audio clip as 16-bit WAV, and the conversions."""
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


ROLES = ("user", "assistant", "instruct", "system")


@dataclass(frozen=True, slots=True)
class Turn:
    """One speaker's turn: an audio clip, its text, and further fields of the template."""

    audio: str | None = None
    text: Any = None
    meta: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """A single question."""

    audio: str | None = None
    query: str | None = None
    assistant: str | None = None
    instruct: str = ""
    system: str | None = None

    def keywords(self) -> Record:
        """Return the keyword arguments of `generate_once`."""
        return {
            "type": "single_turn",
            "audio": self.audio,
            "query": self.query,
            "assistant": self.assistant,
            "instruct": self.instruct,
            "system": self.system,
        }


@dataclass(frozen=True, slots=True)
class Script:
    """A dialogue: for each round, the user's turn and the reply of the other speaker that the data contain."""

    users: tuple[Turn, ...]
    replies: tuple[Turn, ...]
    instruct: str = ""


def read_structure(
    structure: object,
    *,
    reverse: bool = False,
    as_upstream: bool = False,
) -> Question | Script:
    """Read a question from a list of roles, or a script from a mapping with `dialogue`; raise for anything else.

    `reverse` swaps the speakers: the second one becomes the user, and the *next* words of the first one are the
    reference.
    """
    if isinstance(structure, Mapping) and "dialogue" in structure:
        return _script(structure, reverse, as_upstream)
    if isinstance(structure, list):
        return _question(structure, as_upstream)
    raise ValueError(
        f"a template gives a list of roles or a mapping with `dialogue`, not {shorten(structure)}"
    )


def _question(
    turns: list[Any],
    as_upstream: bool = False,
) -> Question:
    fields: Record = {}
    for turn in turns:
        if not isinstance(turn, Mapping):
            raise ValueError(
                f"a role with its content was expected, not {shorten(turn)}"
            )
        role = str(turn.get("role", "")).lower()
        if role not in ROLES:
            if as_upstream:
                continue
            raise ValueError(
                f"unknown role {turn.get('role')!r}; known are {', '.join(ROLES)}"
            )
        spoken = _turn(turn)
        if role == "user":
            fields["audio"], fields["query"] = spoken.audio, spoken.text
        else:
            fields[role] = spoken.text
    if fields.get("audio") is None and fields.get("query") is None:
        raise ValueError("a question needs the role `user` with audio or text")
    fields["instruct"] = fields.get("instruct") or ""
    return Question(**fields)


def _script(
    structure: Fields,
    reverse: bool,
    as_upstream: bool,
) -> Script:
    dialogue = structure["dialogue"]
    if not isinstance(dialogue, list) or not dialogue:
        raise ValueError(f"`dialogue` must be a list of turns, not {shorten(dialogue)}")
    turns = [_turn(turn) for turn in dialogue]
    first, second = turns[0::2], turns[1::2]
    if reverse and as_upstream:
        # TELEVAL takes the previous turn as the reference, and leaves the further fields of a text where they were.
        users = [
            replace(second_turn, meta=before.meta)
            for second_turn, before in zip(second, first, strict=False)
        ]
        replies = [
            replace(before, meta=second_turn.meta)
            for second_turn, before in zip(second, first, strict=False)
        ]
    else:
        users, replies = (second, first[1:]) if reverse else (first, second)
    rounds = min(len(users), len(replies))
    if not rounds:
        after = ", the first of which speaks again" if reverse else ""
        raise ValueError(f"a dialogue needs turns of two speakers{after}")
    if structure.get("instruct"):
        instruct = _turn(structure["instruct"]).text
    else:
        instruct = ""
    return Script(tuple(users[:rounds]), tuple(replies[:rounds]), instruct or "")


def _turn(turn: object) -> Turn:
    if isinstance(turn, Mapping):
        content = turn.get("content", {})
    else:
        content = turn
    if not isinstance(content, Mapping):
        raise ValueError(f"content has `text` and `audio`, but is {shorten(content)}")
    meta = dict(content)
    audio = meta.pop("audio", None)
    text = meta.pop("text", None)
    return Turn(audio or None, text, meta)
