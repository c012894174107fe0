"""`ulmeval.dataset.imagine_bench`: a judge's three ratings from 0 to 10."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from ..smp.ulm import encode_image_to_base64
from .shipped import FAIL_MSG, JudgedPrompts, only_image, rounded_mean, table_url

STANDS_IN = True
__all__ = ["ImagineBench"]

WEIGHTS = {
    "Fantasy Fulfillment": 0.6,
    "Identity Preservation": 0.3,
    "Aesthetic Quality": 0.1,
}
WEIGHTED = "Weighted Score"
_RATING = re.compile(
    r"(Fantasy Fulfillment|Identity Preservation|Aesthetic Quality)\s*[:：]?\s*(\d{1,2})"
)
RULES = (
    "Rate a generated image from 0 to 10 on three scales. Fantasy Fulfillment: does it show the unreal thing that the "
    "prompt asks for? Identity Preservation: can what the prompt is about still be recognized as what it is? Aesthetic "
    "Quality: is it well made? Be strict: 10 is flawless. Reply with three lines, each the scale's name, a colon and "
    "the number, each followed by one line `Reason: …`."
)


class ImagineBench(JudgedPrompts):
    """ImagineBench: one image for each imagined thing."""

    DATASET_URL: ClassVar[dict[str, str]] = {"ImagineBench": table_url("ImagineBench")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "ImagineBench": "dd65cfbb5672946a439b16b7696af2a0"
    }

    def summarized(self, rows: Any, replies: Mapping[str, str]) -> Any:
        """Ratings of each item, their means by type, and the mean of all; items without a reply are left out."""
        items, by_type = self._rated(rows, replies)
        weighted = [item[WEIGHTED] for item in items]
        return {
            "results": items,
            "statistics_by_type": {
                kind: _statistics(ratings) for kind, ratings in by_type.items()
            },
            "overall_statistics": {
                "overall": {WEIGHTED: rounded_mean(weighted), "count": len(weighted)}
            },
        }

    def _rated(
        self, rows: Any, replies: Any
    ) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, float]]]]:
        items: list[dict[str, Any]] = []
        by_type: dict[str, list[dict[str, float]]] = {}
        for _, row in rows.iterrows():
            reply = replies.get(str(row["index"]), FAIL_MSG)
            if reply == FAIL_MSG:
                continue
            ratings = self.extract_scores(reply)
            weighted = sum(weight * ratings[name] for name, weight in WEIGHTS.items())
            items.append(
                {
                    "index": str(row["index"]),
                    "id": row["id"],
                    "type": row["type"],
                    **ratings,
                    WEIGHTED: round(weighted, 3),
                }
            )
            by_type.setdefault(row["type"], []).append({**ratings, WEIGHTED: weighted})
        return items, by_type

    def prepare_score_prompt(self, item: Any) -> list[dict[str, str]]:
        """What the judge is asked, in our words: prompt, explanation and the image."""
        row = dict(item)
        image = encode_image_to_base64(only_image(row["prediction"]))
        text = f'{RULES}\n\nPROMPT: "{row["question"]}"\nEXPLANATION: "{row["note"]}"\n'
        return [
            {
                "role": "system",
                "value": "You rate generated images, strictly and by the given scales alone.",
            },
            {"role": "user", "type": "text", "value": text},
            {
                "role": "user",
                "type": "image",
                "value": f"data:image/jpeg;base64,{image}",
            },
        ]

    def extract_scores(self, evaluation_text: str) -> dict[str, float]:
        """The three ratings of a reply, at most 10 each; one that is not there is 0."""
        ratings: dict[str, float] = dict.fromkeys(WEIGHTS, 0)
        for name, value in _RATING.findall(evaluation_text):
            ratings[name] = min(float(value), 10)
        return ratings


def _statistics(ratings: list[dict[str, float]]) -> dict[str, float]:
    means = {
        name: rounded_mean([rating[name] for rating in ratings])
        for name in (*WEIGHTS, WEIGHTED)
    }
    return {**means, "count": len(ratings)}
