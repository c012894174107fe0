"""`vlmeval.dataset.image_mcq`: multiple choice about images."""

from typing import Any, ClassVar

from ...prompts import question_with_options
from .choice_evaluation import evaluate_choice
from .image_base import ImageBaseDataset

__all__ = ["CustomMCQDataset", "ImageMCQDataset"]


class ImageMCQDataset(ImageBaseDataset):
    """Questions with options A, B, C…"""

    TYPE: ClassVar[str] = "MCQ"
    DEFAULT_JUDGE: ClassVar[Any] = ["chatgpt-0125", "gpt-4-0125"]

    def build_prompt(self, line: Any) -> Any:
        """The images, then hint, question and options."""
        line = self._assay_line(line)
        return [
            *self._assay_images(line),
            {"type": "text", "value": question_with_options(line)},
        ]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Accuracy by exact matching, and by a judge where one is named; rotated sets over whole groups.

        Runs of assay score by sample instead, with intervals; this is what `super().evaluate(…)` gives.
        """
        return self.evaluate_heuristic(eval_file, **judge_kwargs)

    def evaluate_heuristic(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The same, under the name that subclasses call it by."""
        return evaluate_choice(self, eval_file, judge_kwargs)


class CustomMCQDataset(ImageMCQDataset):
    """Multiple choice of a TSV in `$LMUData` that no class declares."""
