"""VIEScore of an edit: how well it follows the instruction, and how good the image is, each the least of its ratings.

The judge is asked twice. For the edit it gets both images and the instruction, for quality only the result. The
overall value is the geometric mean of the two, as in GEdit-Bench.
"""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ...core import EMPTY, UNRESOLVED, Output, Sample, Score
from ...registry import scorers
from ..given_models import GivenModels
from ..judge.judge_ratings import JudgeRatings

SEMANTICS = {
    "success": "how far was the edit carried out as asked?",
    "restraint": "how far was everything else left alone?",
}
QUALITY = {
    "naturalness": "how natural does the scene look: distances, shadows, light?",
    "soundness": "how free is the image of artifacts: distortions, blurred faces, odd bodies, seams?",
}
ALONE = "Judge the image by itself."
"""Replaces the instruction in the question about quality."""


@scorers.register("viescore")
@dataclass(frozen=True)
class VieScore(GivenModels):
    """`semantics` and `quality`, each the least of its ratings from 0 to 10, and `overall`, their geometric mean."""

    semantics: Mapping[str, str] = field(default_factory=lambda: SEMANTICS)
    """The ratings of the edit, with the descriptions that the judge gets."""
    quality: Mapping[str, str] = field(default_factory=lambda: QUALITY)
    """The ratings of the image, with their descriptions."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    reads: ClassVar[tuple[str, ...]] = ("image",)
    name: ClassVar[str] = "viescore"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 10.0)
    best_mark: ClassVar[float] = 10.0
    expects: ClassVar[str] = "image"

    async def __call__(self, sample: Sample, output: Output) -> Score:
        edit, image = await asyncio.gather(
            self._rate(self.semantics, sample, output, shows_question=True),
            self._rate(
                self.quality,
                replace(sample, input=ALONE, media=(), turns=()),
                output,
                shows_question=False,
            ),
        )
        failed = next(
            (score for score in (edit, image) if score.outcome in UNRESOLVED), None
        )
        if failed is not None:
            return failed
        values = {
            name: _overall(score)
            for name, score in (("semantics", edit), ("quality", image))
        }
        values["overall"] = math.sqrt(values["semantics"] * values["quality"])
        details = {"semantics": _kept(edit), "quality": _kept(image)}
        return Score(values, edit.outcome, details=details)

    async def _rate(
        self,
        aspects: Mapping[str, str],
        sample: Sample,
        output: Output,
        *,
        shows_question: bool,
    ) -> Score:
        ratings = JudgeRatings(
            aspects,
            combine="minimum",
            expects="image",
            shows_question=shows_question,
            options=self.options,
            models=self.models,
        )
        return await ratings(sample, output)


def _overall(score: Score) -> float:
    assert isinstance(score.value, Mapping)
    return score.value["overall"]


def _kept(score: Score) -> dict[str, Any]:
    """Return the ratings behind a value, and the judge's reply."""
    return {"ratings": score.value, **score.details}
