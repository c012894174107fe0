"""The benchmarks that ship, by name and modality: plain data, none of them is imported."""

from .image import IMAGE
from .speech import SPEECH
from .text import TEXT
from .vision import VISION

BENCHMARKS: dict[str, tuple[str, str]] = {**TEXT, **VISION, **SPEECH, **IMAGE}

__all__ = ["BENCHMARKS"]
