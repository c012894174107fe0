"""`vlmeval.dataset.image_mcq`: multiple choice about pictures."""

from pathlib import Path
from typing import Any, ClassVar

from .....scorers.choice_rules import extract_choice
from ...kinds import ROTATION, is_circular, whole_index
from ...prompts import options_of, question_with_options
from ..smp.file import dump, load
from .image_base import ImageBaseDataset
from .utils.multiple_choice import report_acc

__all__ = ["CustomMCQDataset", "ImageMCQDataset"]


class ImageMCQDataset(ImageBaseDataset):
    """Questions with options A, B, C…"""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Any) -> Any:
        """The pictures, then hint, question and options."""
        line = self._line(line)
        return [*self._images(line), {"type": "text", "value": question_with_options(line)}]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Accuracy by exact matching, of rotated sets over whole groups; for classes that build upon it.

        Runs of assay score by sample instead, with intervals; this is what `super().evaluate(…)` gives.
        """
        data = load(eval_file)
        data["hit"] = [int(_hit(row)) for row in data.to_dict(orient="records")]
        if "g_index" in data or is_circular(self.dataset_name):
            groups = data["g_index"] if "g_index" in data else [_group(index) for index in data["index"]]
            worst = data.groupby(list(groups), sort=False)["hit"].transform("min")
            data["hit"] = worst
            data = _first_of_each(data, list(groups))
        accuracy = report_acc(data)
        dump(accuracy, f"{Path(eval_file).with_suffix('')}_acc.csv")
        return accuracy


class CustomMCQDataset(ImageMCQDataset):
    """Multiple choice of a TSV in `$LMUData` that no class declares."""


def _hit(row: dict[str, Any]) -> bool:
    found = extract_choice(str(row["prediction"]), options_of(row))
    return found.answer is not None and found.answer == str(row.get("answer")).strip()


def _group(index: Any) -> Any:
    number = whole_index(index)
    return index if number is None else number % ROTATION


def _first_of_each(data: Any, groups: list[Any]) -> Any:
    seen: set[Any] = set()
    keep = []
    for group in groups:
        keep.append(group not in seen)
        seen.add(group)
    return data[keep].reset_index(drop=True)
