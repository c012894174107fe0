"""`ulmeval.dataset.dpgbench`: propositions about an image, answered yes or no; one whose parent is false is false."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..smp.file import dump, load
from ..smp.misc import get_rank_and_world_size
from .shipped import ShippedPrompts, each_image, own_part, table_url
from .utils import build_judge

STANDS_IN = True
__all__ = ["DPGBench"]


class DPGBench(ShippedPrompts):
    """DPG-Bench: four images for each dense prompt."""

    DATASET_URL: ClassVar[dict[str, str]] = {"DPGBench": table_url("DPG_Bench")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "DPGBench": "c1551e34ea5477eaee81153eae19c8bc"
    }

    meta_only = True
    _assay_prompts = ("text",)

    @classmethod
    def evaluate(cls, eval_file: str, **judge_kwargs: Any) -> Any:
        """The share of true propositions: of all, by broad category, by detailed category."""
        rank, size = get_rank_and_world_size()
        storage = eval_file.replace(".pkl", "_score.pkl")
        rows = each_image(own_part(load(eval_file)))
        model = build_judge(**{"model": "mplug", **judge_kwargs})
        found: list[tuple[str, str, float]] = []
        with open(
            eval_file.replace(".pkl", f"_eval_{rank}.csv"), "a", encoding="utf-8"
        ) as log:
            for row in rows:
                found += _judged(
                    json.loads(row["questions"]), row["prediction"], model, log
                )
        dump(
            {"global_score": [score for _, _, score in found], **_grouped(found)},
            storage.replace(".pkl", f"_{rank}.pkl"),
        )
        if rank != 0:
            return None
        parts = [
            load(storage.replace(".pkl", f"_{number}.pkl")) for number in range(size)
        ]
        everything = [score for part in parts for score in part["global_score"]]
        score = {
            "global_score": sum(everything) / len(everything),
            **{
                level: _means([part[level] for part in parts])
                for level in ("L1_score", "L2_score")
            },
        }
        dump(score, storage)
        return score


def _judged(
    questions: Sequence[Mapping[str, Any]], image: Any, model: Any, log: Any
) -> list[tuple[str, str, float]]:
    """Category, detailed category and score of each proposition."""
    scores: dict[Any, float] = {}
    found = []
    for question in questions:
        answer = model.vqa(image, question["question_natural_language"])
        log.write(
            f"{question['proposition_id']}, {question['question_natural_language']}, {answer}\n"
        )
        is_true = answer == "yes" and not any(
            parent != 0 and scores.get(parent, 1.0) == 0.0
            for parent in question["dependency"]
        )
        scores[question["proposition_id"]] = float(is_true)
        broad = question["category_broad"]
        found.append(
            (broad, f"{broad}-{question['category_detailed']}", float(is_true))
        )
    return found


def _grouped(
    found: Sequence[tuple[str, str, float]],
) -> dict[str, dict[str, list[float]]]:
    levels: dict[str, dict[str, list[float]]] = {"L1_score": {}, "L2_score": {}}
    for broad, detailed, score in found:
        levels["L1_score"].setdefault(broad, []).append(score)
        levels["L2_score"].setdefault(detailed, []).append(score)
    return levels


def _means(parts: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    joined: dict[str, list[float]] = {}
    for part in parts:
        for name, scores in part.items():
            joined.setdefault(name, []).extend(scores)
    return {name: sum(scores) / len(scores) for name, scores in joined.items()}
