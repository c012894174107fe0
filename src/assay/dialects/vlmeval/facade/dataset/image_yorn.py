"""`vlmeval.dataset.image_yorn`: yes or no about images."""

import os
from typing import Any, ClassVar

from ....kits.smp.result_files import get_intermediate_file_path
from ..smp.file import dump, load
from ..utils.mp_util import track_progress_rich
from .image_base import ImageBaseDataset
from .utils import yorn
from .utils.judge_util import build_judge

__all__ = ["ImageYORNDataset"]

RATINGS = {
    "MME": "MME_rating",
    "Hallusion": "Hallusion_rating",
    "POPE": "POPE_rating",
    "AMBER": "AMBER_rating",
    "VSR-zeroshot": "VSR_rating",
}
"""By a part of the dataset's name; the first that fits."""


class ImageYORNDataset(ImageBaseDataset):
    """Questions answered by yes or no."""

    TYPE: ClassVar[str] = "Y/N"

    def build_prompt(self, line: Any) -> Any:
        """The images of a line and its question; of AMBER with the request to say yes or no."""
        messages = super().build_prompt(line)
        if self.dataset_name == "AMBER":
            messages[-1]["value"] += "\nPlease answer yes or no."
        return messages

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The rating of the benchmark, by words and, where one is named, by a judge; for classes that build upon it."""
        data = load(eval_file)
        data["prediction"] = [str(text) for text in data["prediction"]]
        storage = get_intermediate_file_path(eval_file, "_auxmatch")
        nproc = judge_kwargs.pop("nproc", 4)
        if not os.path.exists(storage):
            read = {
                i: yorn.YOrN_Extraction(t)
                for i, t in zip(data["index"], data["prediction"], strict=True)
            }
            if judge_kwargs.get("model", "exact_matching") != "exact_matching":
                judge = build_judge(**judge_kwargs)
                rows = [
                    data.iloc[at]
                    for at in range(len(data))
                    if read[data.iloc[at]["index"]] == "Unknown"
                ]
                keys = [row["index"] for row in rows]
                reply_file = get_intermediate_file_path(eval_file, "_tmp", "pkl")
                jobs = [(judge, row) for row in rows]
                replies = track_progress_rich(
                    yorn.YOrN_auxeval, jobs, nproc=nproc, keys=keys, save=reply_file
                )
                read.update(zip(keys, replies, strict=True))
            data["extracted"] = [read[index] for index in data["index"]]
            dump(data, storage)
        data = load(storage)
        if "AMBER" in self.dataset_name:
            data["score"] = data["answer"].str.lower() == data["extracted"].str.lower()
        else:
            data["score"] = data["answer"] == data["extracted"]
        dump(data, storage)
        rating = next(
            (name for part, name in RATINGS.items() if part in self.dataset_name),
            "default_rating",
        )
        score = getattr(yorn, rating)(storage)
        dump(score, get_intermediate_file_path(eval_file, "_score", "csv"))
        return score
