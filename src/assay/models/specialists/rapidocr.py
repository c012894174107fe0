"""RapidOCR: finds and reads the text of an image (PP-OCRv4, whose weights lie in the wheel), on one thread.

Its model reads Chinese and Latin letters, and tends to drop the blanks between words: compare without them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, ClassVar

from ...core import Image, Output, Request
from ...media import decode_image
from .base import READS, Specialist, only_medium, passed_over


@dataclass
class RapidOcr(Specialist):
    """A reader of text in images, one line for each piece found; words beside the image are not read."""

    abilities = READS
    label: ClassVar[str] = "rapidocr"
    least_confidence: float = 0.5
    """Pieces it is less sure of are left out."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """The wheel holds engine and weights alike; the runtime computes."""
        return {
            "rapidocr": f"rapidocr-onnxruntime {metadata.version('rapidocr-onnxruntime')}",
            "engine": f"onnxruntime {metadata.version('onnxruntime')}",
            "least_confidence": self.least_confidence,
        }

    def _start(self) -> Any:
        from rapidocr_onnxruntime import RapidOCR

        return RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1, text_score=self.least_confidence)

    def _answer(self, request: Request, index: int) -> Output:
        import numpy as np

        image = np.asarray(decode_image(only_medium(request, Image)))
        blue_first = np.ascontiguousarray(image[:, :, ::-1])
        found, _ = self._engine(blue_first)
        pieces = found or []
        details = {"confidence": [round(float(score), 4) for _, _, score in pieces], **passed_over(request)}
        return replace(Output.of("\n".join(str(text) for _, text, _ in pieces)), details=details)
