"""`ulmeval.dataset.wise`: does an image show what the prompt only implies? Three ratings of a judge."""

import os
from typing import Any, ClassVar

from ....kits.rules import as_upstream
from ..smp.file import dump
from .shipped import FAIL_MSG, ShippedPrompts, asked, joined, judge_settings, table_url
from .utils.judge_util import build_judge
from .utils.wise import (
    get_dimension_rating,
    prepare_response_prompt,
    prepare_score_prompt,
)

STANDS_IN = True
__all__ = [
    "WISE",
    "build_judge",
    "get_dimension_rating",
    "prepare_response_prompt",
    "prepare_score_prompt",
]


class WISE(ShippedPrompts):
    """WISE: prompts whose meaning needs knowledge of the world."""

    DATASET_URL: ClassVar[dict[str, str]] = {"WISE_all": table_url("WISE_all")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "WISE_all": "f4fb0fd05e83bd1c5ec48a37abe91735"
    }
    num_generations = 1
    _assay_prompts = ("prompt",)
    _assay_text_index = True

    def post_build(self, dataset: str) -> None:
        """Upstream means to weigh disciplines for the whole set, and misspells its name."""
        self.mode = 0 if as_upstream() else int(dataset == "WISE_all")

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Means by discipline and of all; `_<judge>_score.xlsx` and `_<judge>_rating.json` beside the predictions."""
        judge, nproc, settings = judge_settings(judge_kwargs)
        score_file = eval_file.replace(".pkl", f"_{judge}_score.xlsx")
        if not os.path.exists(score_file):
            rows = joined(self.data, eval_file)
            model = build_judge(**settings)
            self.num_generations = len(rows["prediction"][0])
            prompts = [
                prompt
                for at in range(len(rows))
                for prompt in prepare_score_prompt(rows.iloc[at])
            ]
            reply_file = eval_file.replace(".pkl", f"_{judge}_tmp.pkl")
            replies = asked(
                model.generate,
                dict(zip(self._keys(rows), prompts, strict=True)),
                reply_file,
                nproc,
            )
            row_replies = [
                [
                    replies.get(f"{index}_{number}", FAIL_MSG)
                    for number in range(self.num_generations)
                ]
                for index in rows["index"]
            ]
            for number in range(self.num_generations):
                rows[f"score_{number}"] = [scores[number] for scores in row_replies]
            rows["score"] = row_replies
            dump(rows, score_file)
        rating = get_dimension_rating(self.mode, score_file)
        dump(rating, eval_file.replace(".pkl", f"_{judge}_rating.json"))
        return rating

    def _keys(self, rows: Any) -> list[str]:
        """A key for each image, in the order of the prompts; upstream counts the images outside, the rows inside."""
        numbers = range(self.num_generations)
        if as_upstream():
            return [
                f"{index}_{number}" for number in numbers for index in rows["index"]
            ]
        return [f"{index}_{number}" for index in rows["index"] for number in numbers]
