"""`ulmeval.dataset.geneval_pp`: a judge's yes or no on a checklist."""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from ..smp.ulm import encode_image_to_base64
from .shipped import FAIL_MSG, JudgedPrompts, only_image, table_url

STANDS_IN = True
__all__ = ["GenEvalPP"]

RULES = (
    "You check whether a generated image shows exactly what an instruction and its checklist ask for. It is right only "
    "if every object, number, colour, size and place is as said, and if it is one coherent image that looks like a "
    'photograph: no drawing, no collage, no panels. Be strict. Reply with JSON: {"correct": 1 or 0, "reason": "…"}'
)


class GenEvalPP(JudgedPrompts):
    """GenEval++: one image for each prompt, judged against a checklist."""

    DATASET_URL: ClassVar[dict[str, str]] = {"GenEvalPP": table_url("GenEvalPP")}
    DATASET_MD5: ClassVar[dict[str, str | None]] = {
        "GenEvalPP": "52907d369795a4ce06fe359174f72acf"
    }

    def summarized(self, rows: Any, replies: Mapping[str, str]) -> Any:
        """How many the judge found right, of how many; a reply without a verdict counts as wrong."""
        right = sum(
            self._is_right(replies.get(str(index), FAIL_MSG)) for index in rows["index"]
        )
        return {
            "correct": right,
            "total": len(rows),
            "accuracy": right / len(rows) if len(rows) else 0,
        }

    def _is_right(self, reply: str) -> bool:
        try:
            return reply != FAIL_MSG and bool(
                self.extract_json_from_response(reply).get("correct", 0) == 1
            )
        except (ValueError, AttributeError):
            return False

    def prepare_score_prompt(self, item: Any) -> list[dict[str, str]]:
        """What the judge is asked, in our words: instruction, checklist and the image."""
        row = dict(item)
        try:
            include = ast.literal_eval(row["include"])
        except (ValueError, SyntaxError, KeyError, TypeError):
            include = []
        checklist = self.metadata_to_explanation({"include": include})
        image = encode_image_to_base64(only_image(row["prediction"]))
        return [
            {"role": "system", "value": RULES},
            {
                "role": "user",
                "type": "text",
                "value": f"Instruction:\n{row['question']}\n\nChecklist:\n{checklist}",
            },
            {
                "role": "user",
                "type": "image",
                "value": f"data:image/jpeg;base64,{image}",
            },
        ]

    def metadata_to_explanation(self, metadata: Mapping[str, Any]) -> str:
        """The objects that should be there, one a line."""
        lines = [
            f"- {_described(item)} present in the image."
            for item in metadata.get("include", [])
        ]
        return "This image should contain:\n" + "\n".join(lines)

    def extract_json_from_response(self, text: str) -> Any:
        """The JSON object in a reply, with or without a fence around it."""
        bare = re.sub(r"\s*```$", "", re.sub(r"^```json\s*", "", text.strip()))
        found = re.search(r"\{[\s\S]*\}", bare)
        if found is None:
            raise ValueError("the reply has no JSON object")
        return json.loads(found[0])


def _described(item: Mapping[str, Any]) -> str:
    count = item.get("count", 1)
    noun = f"{count} {item['class']}{'s' if count > 1 else ''}"
    return f"{item['color']}-colored {noun}" if item.get("color") else noun
