"""Hard questions answered with a confidence, as in Humanity's Last Exam: `--judge MODEL`.

A judge says whether the answer is right. The calibration error is the root mean square distance between confidence and
accuracy over bins of answers, ordered by their confidence.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay import Output, Sample, Score

BIN_SIZE = 3
dataset = [
    {"question": "What is the smallest non-abelian simple group's order?", "answer": "60"},
    {"question": "Which element has the highest electron affinity?", "answer": "chlorine"},
    {"question": "In which year was the Peace of Westphalia signed?", "answer": "1648"},
    {"question": "Who proved that there are infinitely many primes?", "answer": "Euclid"},
    {"question": "How many faces has an icosahedron?", "answer": "20"},
    {"question": "Which amino acid is coded by AUG?", "answer": "methionine"},
]  # fmt: skip
template = """{{ question }}

Your response should have this form:
Answer: your answer
Confidence: your confidence from 0% to 100%"""

JUDGED = """Question: {question}
Right answer: {target}
Response: {response}
Does the response give the right answer? Reply yes or no."""


@dataclass(frozen=True)
class Graded:
    """Whether a judge finds the answer right; the confidence is kept in the details."""

    models: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        """Ask the judge, and read the confidence; without one it is 100 %."""
        stated = re.search(r"(?i)confidence:\s*(\d+(?:\.\d+)?)\s*%?", output.text)
        confidence = min(float(stated[1]) / 100, 1.0) if stated else 1.0
        question = JUDGED.format(
            question=sample.input, target=sample.target, response=output.text
        )
        reply = await self.models["judge"].ask(question)
        word = reply.text.strip().lower().rstrip(".")
        if word not in ("yes", "no"):
            raise ValueError(f"the judge said {word!r}")
        details = {"confidence": confidence, "reply": reply.text}
        return Score(float(word == "yes"), answer=output.text, details=details)


def calibration(records):
    """Return the calibration error of the answers that were judged."""
    judged = [record for record in records if record.outcome == "scored"]
    judged.sort(key=lambda record: record.details["confidence"])
    squares = 0.0
    for start in range(0, len(judged), BIN_SIZE):
        some = judged[start : start + BIN_SIZE]
        confidence = sum(record.details["confidence"] for record in some) / len(some)
        accuracy = sum(record.value for record in some) / len(some)
        squares += len(some) / len(judged) * (confidence - accuracy) ** 2
    return {"calibration_error": math.sqrt(squares)}


calibration.higher_is_better = False
calibration.bounds = (0.0, 1.0)
scorers = Graded
summarizers = ["mean", calibration]
