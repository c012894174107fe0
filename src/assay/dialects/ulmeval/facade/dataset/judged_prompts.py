"""What GenEval++ and ImagineBench have in common: one image for each prompt, put to a judge once."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from ..smp.file import dump, load
from .shipped import asked, joined, judge_settings
from .text_base import TextBaseDataset
from .utils import judge_util


class JudgedPrompts(TextBaseDataset):
    """Prompts whose images a judge rates; the replies are kept beside the predictions."""

    TYPE: ClassVar[str] = "T2I"
    MODALITY: ClassVar[str] = "TEXT"
    NUM_GENERATIONS = 1

    def __init__(self, dataset: str) -> None:
        super().__init__(dataset)
        self.data = self.data.assign(index=[str(index) for index in self.data["index"]])

    def build_prompt(self, line: Any) -> Any:
        """The question."""
        return [{"type": "text", "value": self._assay_line(line)["question"]}]

    def prepare_score_prompt(self, item: Any) -> list[dict[str, str]]:
        """What the judge is asked about one image."""
        raise NotImplementedError

    def summarized(self, rows: Any, replies: Mapping[str, str]) -> Any:
        """The numbers of all rows from the judge's replies."""
        raise NotImplementedError

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """The numbers in the judge's file of ratings, which is made first where it is not there."""
        judge, nproc, settings = judge_settings(judge_kwargs)
        target = eval_file.replace(".pkl", f"_{judge}_rating.json")
        if os.path.exists(target):
            return load(target)
        rows = joined(self.data, eval_file)
        model = judge_util.build_judge(**settings)
        prompts = {rows.iloc[at]["index"]: self.prepare_score_prompt(rows.iloc[at]) for at in range(len(rows))}
        replies = asked(model.generate, prompts, eval_file.replace(".pkl", f"_{judge}_tmp.pkl"), nproc)
        result = self.summarized(rows, replies)
        dump(result, target)
        return result
