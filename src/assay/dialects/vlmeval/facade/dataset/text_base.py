"""`vlmeval.dataset.text_base`: `TextBaseDataset`, a benchmark without images."""

from typing import Any, ClassVar

from ...prompts import question_with_options
from .choice_evaluation import evaluate_choice
from .image_base import ImageBaseDataset

__all__ = ["CustomTextMCQDataset", "TextBaseDataset", "TextMCQDataset"]


class TextBaseDataset(ImageBaseDataset):
    """Base of dataset classes without images."""

    MODALITY = "TEXT"

    def __init__(self, dataset: str = "MMBench", **kwargs: Any) -> None:
        super().__init__(dataset, skip_noimg=False, **kwargs)

    def dump_image(self, line: Any) -> list[str]:
        """No images."""
        return []

    def build_prompt(self, line: Any) -> Any:
        """The question as a message list."""
        return [{"type": "text", "value": self._assay_line(line)["question"]}]


class TextMCQDataset(TextBaseDataset):
    """Questions with options A, B, C…"""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Any) -> Any:
        """Hint, question and options."""
        return [
            {"type": "text", "value": question_with_options(self._assay_line(line))}
        ]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Accuracy by exact matching, and by a judge where one is named; for classes that build upon it."""
        return evaluate_choice(self, eval_file, judge_kwargs, rotates=False)


class CustomTextMCQDataset(TextMCQDataset):
    """Multiple choice without images of a TSV in `$LMUData` that no class declares."""
