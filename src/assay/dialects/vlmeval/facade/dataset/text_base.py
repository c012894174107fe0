"""`vlmeval.dataset.text_base`: `TextBaseDataset`, a benchmark without pictures."""

from typing import Any, ClassVar

from ...prompts import question_with_options
from .image_base import ImageBaseDataset

__all__ = ["CustomTextMCQDataset", "TextBaseDataset", "TextMCQDataset"]


class TextBaseDataset(ImageBaseDataset):
    """Base of dataset classes without pictures."""

    MODALITY = "TEXT"

    def __init__(self, dataset: str = "MMBench", **kwargs: Any) -> None:
        super().__init__(dataset, skip_noimg=False, **kwargs)

    def build_prompt(self, line: Any) -> Any:
        """The question as a message list."""
        return [{"type": "text", "value": self._line(line)["question"]}]


class TextMCQDataset(TextBaseDataset):
    """Questions with options A, B, C…"""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Any) -> Any:
        """Hint, question and options."""
        return [{"type": "text", "value": question_with_options(self._line(line))}]


class CustomTextMCQDataset(TextMCQDataset):
    """Multiple choice of a TSV without pictures that no class declares."""
