"""Spoken questions graded by two judges, as in Big Bench Audio: `--judge MODEL --judge second=MODEL`.

An answer is right if both judges say so. The questions are tones here, so that the file can be tried as it is; rows may
as well name audio files.
"""

import io
import math
import wave
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay import Audio, Output, Sample, Score

ROWS = [
    ("high_or_low", 880, "high", 1),
    ("high_or_low", 110, "low", 1),
    ("high_or_low", 990, "high", 1),
    ("how_long", 440, "one second", 2),
    ("how_long", 330, "one second", 2),
]
QUESTIONS = {
    "high_or_low": "Is the tone high or low?",
    "how_long": "How long is the tone?",
}
JUDGED = """Question: {question}
Right answer: {target}
Answer: {answer}
Is the answer right? Reply with CORRECT or INCORRECT."""


def _tone(hertz):
    stream = io.BytesIO()
    samples = (
        round(9000 * math.sin(2 * math.pi * hertz * n / 8000)) for n in range(8000)
    )
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(
            b"".join(n.to_bytes(2, "little", signed=True) for n in samples)
        )
    return stream.getvalue()


def dataset():
    """Yield a question for each tone. A row counts as much as its points."""
    for number, (category, hertz, answer, points) in enumerate(ROWS):
        yield {
            "id": str(number),
            "category": category,
            "question": QUESTIONS[category],
            "audio": Audio(_tone(hertz)),
            "answer": answer,
            "points": points,
        }


@dataclass(frozen=True)
class TwoJudges:
    """Whether each of two judges finds the answer right, and whether both do."""

    models: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("judge", "second")

    async def __call__(self, sample: Sample, output: Output) -> Score:
        """Ask both judges."""
        question = JUDGED.format(
            question=sample.input, target=sample.target, answer=output.text
        )
        verdicts = {}
        for role in self.needs:
            reply = await self.models[role].ask(question)
            word = reply.text.strip().upper()
            if word not in ("CORRECT", "INCORRECT"):
                raise ValueError(f"{role} said {word!r}")
            verdicts[role] = float(word == "CORRECT")
        return Score({"both": min(verdicts.values()), **verdicts}, answer=output.text)


columns = {"weight": "points"}
tags = ("category",)
scorers = TwoJudges
summarizers = [
    "mean",
    {"group_mean": {"by": "category", "metric": "TwoJudges.both", "name": "macro"}},
]
headline = "macro"
