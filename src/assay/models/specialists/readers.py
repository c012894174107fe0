"""Tesseract and RapidOCR, which read the text in images and ignore any other text in the prompt."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Image, Output, Request, UsageError
from ...media import decode_image
from .base import (
    READS,
    Ranges,
    Specialist,
    call,
    find_program,
    ignored_text,
    only_medium,
    version_of,
)

if TYPE_CHECKING:
    from rapidocr_onnxruntime import RapidOCR


APT = "tesseract-ocr tesseract-ocr-eng"
ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}


@dataclass
class Tesseract(Specialist):
    """Recognises text with the program Tesseract, if installed: good on clean pages, weak on photos."""

    abilities = READS
    label: ClassVar[str] = "tesseract"
    ranges: ClassVar[Ranges] = {"layout": (0, 13)}
    language: str = "eng"
    layout: int = 3
    """Tesseract's page segmentation mode: 3 detects blocks automatically, 6 assumes one block, 7 one line."""

    def __post_init__(self) -> None:
        if not self.language.replace("+", "").replace("_", "").isalnum():
            raise UsageError(
                f"{self.language!r} is not a language",
                where="model 'tesseract'",
                fix="eng, or eng+deu",
            )
        super().__post_init__()

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: the program's name and version, and its settings."""
        engine = version_of(find_program("tesseract", APT))
        return {"tesseract": self.language, "engine": engine, "layout": self.layout}

    def _start(self) -> str:
        return find_program("tesseract", APT)

    def _answer(self, request: Request, index: int) -> Output:
        with tempfile.TemporaryDirectory(prefix="assay-ocr-") as name:
            file = Path(name) / "image.png"
            decode_image(only_medium(request, Image)).save(file)
            arguments = [
                self._engine,
                str(file),
                "stdout",
                "-l",
                self.language,
                "--psm",
                str(self.layout),
            ]
            text = call(arguments, more=ONE_THREAD)
        return replace(
            Output.of(text.replace("\f", "").strip()), details=ignored_text(request)
        )


@dataclass
class RapidOcr(Specialist):
    """RapidOCR (PP-OCRv4, with weights in the wheel), on one thread. Each detected text region becomes one line.

    It reads Chinese and Latin letters. It often drops the spaces between words, so
    scorers should ignore spaces.
    """

    abilities = READS
    label: ClassVar[str] = "rapidocr"
    least_confidence: float = 0.5
    """Minimum confidence of a text region. Regions below it are left out."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Properties that identify this model: versions of the runtime and of the
        wheel, which contains engine and weights.
        """
        return {
            "rapidocr": f"rapidocr-onnxruntime {metadata.version('rapidocr-onnxruntime')}",
            "engine": f"onnxruntime {metadata.version('onnxruntime')}",
            "least_confidence": self.least_confidence,
        }

    def _start(self) -> "RapidOCR":
        from rapidocr_onnxruntime import RapidOCR

        return RapidOCR(
            intra_op_num_threads=1,
            inter_op_num_threads=1,
            text_score=self.least_confidence,
        )

    def _answer(self, request: Request, index: int) -> Output:
        import numpy as np

        image = np.asarray(decode_image(only_medium(request, Image)))
        blue_first = np.ascontiguousarray(image[:, :, ::-1])
        detections, _ = self._engine(blue_first)
        pieces = detections or []
        details = {
            "confidence": [round(float(score), 4) for _, _, score in pieces],
            **ignored_text(request),
        }
        return replace(
            Output.of("\n".join(str(text) for _, text, _ in pieces)), details=details
        )
