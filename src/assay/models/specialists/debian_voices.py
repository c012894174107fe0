"""Flite and Festival: speech synthesisers packaged by Debian, used where they are installed.

Both read the text from a file, so that no text can be taken for an option.
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ...core import Audio, ModelError, Output, Request, UsageError
from .base import SPEAKS, Specialist, asked_text, call, find_program, version_of

VOICE = re.compile(r"[A-Za-z0-9_]+")
TEXT, SPEECH = "text.txt", "speech.wav"


@dataclass
class Program(Specialist):
    """A program that reads one file and writes another."""

    abilities = SPEAKS
    program: ClassVar[str]
    apt: ClassVar[str]
    named_by: ClassVar[str]
    """The program that prints the version."""
    arguments: ClassVar[tuple[str, ...]]
    """The arguments for reading the text and writing the audio."""
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
        """The program's name and version, and its voice."""
        return {
            self.label: self.voice,
            "engine": version_of(find_program(self.named_by, self.apt)),
        }

    def _start(self) -> str:
        return find_program(self.program, self.apt)

    def _answer(self, request: Request, index: int) -> Output:
        """Write the text to a file, let the program speak it, and read the audio clip it wrote."""
        with tempfile.TemporaryDirectory(prefix="assay-voice-") as name:
            folder = Path(name)
            (folder / TEXT).write_text(asked_text(request) + "\n", "utf-8")
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
    """Speaks the text of the last turn with one of Flite's own voices."""

    label: ClassVar[str] = "flite"
    program: ClassVar[str] = "flite"
    apt: ClassVar[str] = "flite"
    named_by: ClassVar[str] = "flite"
    arguments: ClassVar[tuple[str, ...]] = ("-voice", "{}", "-f", TEXT, "-o", SPEECH)
    voice: str = "slt"
    """slt, rms, awb, kal or kal16."""


@dataclass
class Festival(Program):
    """Speaks the text of the last turn with an installed voice of Festival."""

    label: ClassVar[str] = "festival"
    program: ClassVar[str] = "text2wave"
    apt: ClassVar[str] = "festival festvox-us-slt-hts"
    named_by: ClassVar[str] = "festival"
    arguments: ClassVar[tuple[str, ...]] = ("-eval", "(voice_{})", "-o", SPEECH, TEXT)
    voice: str = "cmu_us_slt_arctic_hts"
