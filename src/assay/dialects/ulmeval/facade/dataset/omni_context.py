"""`ulmeval.dataset.omni_context`: images made from several others, judged for what was asked and for who is in them."""

import json
import re
from typing import Any, ClassVar

from ..smp.misc import toliststr
from ..smp.ulm import encode_image_to_base64
from .image_base import ImageBaseDataset
from .shipped import FAIL_MSG, Ask, rated, table_url

STANDS_IN = True
__all__ = ["OmniContext"]

SYSTEM = 'You judge generated images by the given rule. Reply with JSON: {"score": 0 to 10, "reasoning": "…"}'
RULES = {
    "prompt_following": "Rate from 0 to 10 how well the last image does what the instruction asks for: composition, "
    "poses, places, things added or removed. Who is in it does not count here, nor how beautiful it is.",
    "subject_consistency": "Rate from 0 to 10 how well those in the last image are the very ones of the images before "
    "it: faces, bodies, clothes, objects. Take off a point for every difference. What they do does not count here.",
}
SCENE = " The place in which they are must be that of the images before it, too."
TASKS = {"pf": "prompt_following", "sc": "subject_consistency"}


class OmniContext(ImageBaseDataset):
    """OmniContext: an image from an instruction and one or more images."""

    NUM_GENERATIONS = 1
    DATASET_URL: ClassVar[dict[str, str]] = {"OmniContext": table_url("OmniContext")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "OmniContext": "be0a8174f0f84ca7e12bd66c2be4aedb"
    }
    num_generations = 1

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Two ratings of each item, as means over its images; there is no total, as upstream has none."""
        return rated(self.data, eval_file, judge_kwargs, self._assay_rated)

    def _assay_rated(self, rows: Any, ask: Ask) -> Any:
        self.num_generations = len(rows["prediction"][0])
        replies = {}
        for short, task in TASKS.items():
            prompts = {
                f"{rows.iloc[at]['index']}_{number}": prompt
                for at in range(len(rows))
                for number, prompt in enumerate(
                    self.prepare_score_prompt(rows.iloc[at], task_type=task)
                )
            }
            replies[short] = ask(prompts, f"_tmp_{short}")
        items = []
        for _, row in rows.iterrows():
            keys = [
                f"{row['index']}_{number}" for number in range(len(row["prediction"]))
            ]
            items.append(
                {
                    "index": str(row["index"]),
                    "key": row["key"],
                    "task_type": row["task_type"],
                    "PF_scores": self._mean(
                        [replies["pf"].get(key, FAIL_MSG) for key in keys]
                    ),
                    "SC_scores": self._mean(
                        [replies["sc"].get(key, FAIL_MSG) for key in keys]
                    ),
                }
            )
        return {"results": items}

    def _mean(self, replies: list[str]) -> Any:
        scores = [
            self.extract_scores(reply)["score"]
            for reply in replies
            if reply != FAIL_MSG
        ]
        return float(sum(scores) / len(scores)) if scores else FAIL_MSG

    def prepare_score_prompt(
        self, item: Any, task_type: str
    ) -> list[list[dict[str, str]]]:
        """What the judge is asked of each image, in our words: the rule, the images it was made from, the image."""
        if task_type not in RULES:
            raise ValueError(
                f"unknown task type {task_type!r}; known: {', '.join(RULES)}"
            )
        row = dict(item)
        images = (
            row["prediction"]
            if isinstance(row["prediction"], list)
            else [row["prediction"]]
        )
        rule = RULES[task_type]
        if task_type == "subject_consistency" and "scene" in row["task_type"]:
            rule += SCENE
        before = _sources(row.get("image"))
        return [
            [
                {"role": "system", "value": SYSTEM},
                *(
                    {
                        "role": "user",
                        "type": "image",
                        "value": f"data:image/jpeg;base64,{cell}",
                    }
                    for cell in before
                ),
                {
                    "role": "user",
                    "type": "image",
                    "value": f"data:image/jpeg;base64,{encode_image_to_base64(image)}",
                },
                {
                    "role": "user",
                    "type": "text",
                    "value": f"{rule}\n\nInstruction: {row['question']}",
                },
            ]
            for image in images
        ]

    def extract_scores(self, evaluation_text: str) -> dict[str, Any]:
        """`score` and `reasoning` of the first JSON object in a reply; 0 where there is none."""
        if evaluation_text == FAIL_MSG:
            return {"score": 0, "reasoning": FAIL_MSG}
        found = re.search(r"\{[^{}]*\}", evaluation_text)
        if found is None:
            return {"score": 0, "reasoning": "Not implemented"}
        try:
            reply = json.loads(found[0])
        except ValueError as error:
            return {"score": 0, "reasoning": f"Parsing failed: {error}"}
        return {"score": reply.get("score", 0), "reasoning": reply.get("reasoning", "")}


def _sources(cell: Any) -> list[str]:
    """The images of a row as base64: a list, a JSON list, or one text."""
    if isinstance(cell, list):
        return cell
    if not isinstance(cell, str) or not cell.strip():
        return []
    return toliststr(cell.strip())
