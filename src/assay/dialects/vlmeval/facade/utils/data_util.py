"""`vlmeval.utils.data_util`: `TSVDataset`, the one dataset class of the documented revision."""

from typing import Any

from ...kinds import early_type
from ...places import DATASET_URLS as dataset_URLs
from ...places import IMAGE_FOLDERS as img_root_map
from ...places import data_root
from ...prompts import question_with_options
from ..dataset.image_base import ImageBaseDataset

__all__ = ["DATASET_TYPE", "TSVDataset", "dataset_URLs", "img_root_map"]


def DATASET_TYPE(dataset: str) -> str:
    """`multi-choice`, `Y/N` or `QA`, by the dataset's name."""
    return early_type(dataset)


class TSVDataset(ImageBaseDataset):
    """A benchmark in one TSV file."""

    def __init__(self, dataset: str = "MMBench", img_root: str | None = None, **kwargs: Any) -> None:
        self.dataset = dataset
        self.dataset_type = DATASET_TYPE(dataset)
        self.data_root = str(data_root())
        super().__init__(dataset, skip_noimg=False)
        if img_root is not None:
            self.img_root = img_root

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """What the class itself declares."""
        return list(cls.DATASET_URL)

    def build_prompt(self, line: Any, dataset: str | None = None) -> Any:
        """`dict(image=path or paths, text=prompt)` of a line, given as its number or as itself."""
        if isinstance(line, int):
            line = self.data.iloc[line]
        name = self.dataset if dataset is None else dataset
        paths = self.dump_image(line)
        is_choice = DATASET_TYPE(name) == "multi-choice" or ("A" in line and "B" in line)
        text = question_with_options(line) if is_choice else line["question"]
        return {"image": paths[0] if len(paths) == 1 else paths, "text": text}
