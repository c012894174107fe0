"""Tesseract: reads the text of an image, where the system has it. Strong on clean pages, weak on photos."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ...core import Image, Output, Request, UsageError
from ...media import decode_image
from .base import READS, Specialist, only_medium, passed_over
from .programs import call, find_program, version_of

APT = "tesseract-ocr tesseract-ocr-eng"
ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}


@dataclass
class Tesseract(Specialist):
    """A reader of text in images; words beside the image are not read."""

    abilities = READS
    label: ClassVar[str] = "tesseract"
    language: str = "eng"
    layout: int = 3
    """Its page segmentation mode: 3 finds blocks by itself, 6 takes one block, 7 one line."""

    def __post_init__(self) -> None:
        if not self.language.replace("+", "").replace("_", "").isalnum():
            raise UsageError(f"{self.language!r} is no language", where="model 'tesseract'", fix="eng, or eng+deu")
        self._check("layout", 0, 13)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The program as it names itself, and how it reads."""
        engine = version_of(find_program("tesseract", APT), "--version")
        return {"tesseract": self.language, "engine": engine, "layout": self.layout}

    def _start(self) -> str:
        return find_program("tesseract", APT)

    def _answer(self, request: Request, index: int) -> Output:
        with tempfile.TemporaryDirectory(prefix="assay-ocr-") as name:
            file = Path(name) / "picture.png"
            decode_image(only_medium(request, Image)).save(file)
            arguments = [self._engine, str(file), "stdout", "-l", self.language, "--psm", str(self.layout)]
            text = call(arguments, more=ONE_THREAD)
        return replace(Output.of(text.replace("\f", "").strip()), details=passed_over(request))
