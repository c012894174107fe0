"""`ulmeval.dataset.genai_bench`: VQAScore by skill."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from .....core import library
from ....kits.rules import as_upstream
from ..smp.file import dump, load
from .shipped import ShippedPrompts, each_image, gathered, own_part, table_url

STANDS_IN = True
__all__ = ["TAG_GROUPS", "GenAI_Bench"]

TAG_GROUPS = {
    "basic": [
        "attribute",
        "scene",
        "spatial relation",
        "action relation",
        "part relation",
        "basic",
    ],
    "advanced": [
        "counting",
        "comparison",
        "differentiation",
        "negation",
        "universal",
        "advanced",
    ],
}
IMAGES = "genai_bench_generated_images"
t2v_metrics: Any = None
"""The library that scores, loaded when it is needed."""


class GenAI_Bench(ShippedPrompts):
    """GenAI-Bench: one image for each prompt."""

    NUM_GENERATIONS = 1
    DATASET_URL: ClassVar[dict[str, str]] = {"GenAI_Bench": table_url("GenAI_Bench")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "GenAI_Bench": "c400de695ecf172df4b92514e5e17049"
    }

    _assay_prompts = ("prompt",)
    _assay_text_index = True

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The table; upstream takes what the URL gives, whatever lies in `$LMUData`."""
        return load(url) if as_upstream() else super().prepare_tsv(url, file_md5)

    @staticmethod
    def calculate_category_scores(
        global_score: Mapping[Any, Any],
        index_to_labels: Mapping[Any, Any],
        tag_groups: Mapping[str, Sequence[str]] = TAG_GROUPS,
    ) -> dict[str, dict[str, Any]]:
        """Mean, count and scores of each skill, and of all."""
        groups: dict[str, list[float]] = {
            name: [] for names in tag_groups.values() for name in names
        }
        for index, score in global_score.items():
            for name, scores in groups.items():
                if name in index_to_labels.get(index, []):
                    scores.append(score.item())
        groups["all"] = [score.item() for score in global_score.values()]
        return {
            name: {
                "average": sum(scores) / len(scores) if scores else 0.0,
                "count": len(scores),
                "scores": scores,
            }
            for name, scores in groups.items()
        }

    @staticmethod
    def merge_category_scores_weighted(
        all_rank_results: Sequence[Mapping[str, Any]],
    ) -> dict[str, dict[str, Any]]:
        """Means of several processes as one, each by its count."""
        names = dict.fromkeys(name for results in all_rank_results for name in results)
        merged = {}
        for name in names:
            parts = [results[name] for results in all_rank_results if name in results]
            count = sum(result["count"] for result in parts)
            total = sum(result["average"] * result["count"] for result in parts)
            merged[name] = {"average": total / count if count else 0.0, "count": count}
        return merged

    @classmethod
    def evaluate(cls, eval_file: str, **judge_kwargs: Any) -> Any:
        """VQAScore by skill and of all; `_score.pkl` beside the predictions."""
        rows = each_image(own_part(load(eval_file)))
        what = "t2v_metrics, which makes GenAI-Bench's VQAScore,"
        metrics = t2v_metrics or library("t2v_metrics.t2v_metrics", what, "t2v_metrics")
        scorer = metrics.VQAScore(model="clip-flant5-xxl")
        # Upstream's folder is shared by all models that run in one working folder.
        folder = (
            IMAGES
            if as_upstream()
            else os.path.join(os.path.dirname(eval_file), IMAGES)
        )
        os.makedirs(folder, exist_ok=True)
        scores: dict[Any, Any] = {}
        for row in rows:
            path = os.path.join(folder, f"{row['index']}.png")
            row["prediction"].save(path)
            scores[row["index"]] = scorer(images=[path], texts=[row["prompt"]]).cpu()
        part = cls.calculate_category_scores(
            scores, {row["index"]: row["labels"] for row in rows}
        )
        parts = gathered(part, eval_file, "_score")
        if not parts:
            return None
        merged = cls.merge_category_scores_weighted(parts)
        dump(merged, eval_file.replace(".pkl", "_score.pkl"))
        return merged
