"""How well an image fits its prompt: CLIPScore and VQAScore.

CLIPScore is computed from the cosine between the embeddings of image and prompt. The
name stands for two different scales. `official` is 2.5 max(cos, 0), with `A photo
depicts` in front of the prompt. `torchmetrics` is 100 max(cos, 0), with the prompt
alone. Always report the model that computes the cosine, and the text in front of the
prompt.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import no_verdict
from ..asked import Asked
from ..given_models import GivenModels
from ..judge.exchange import question_of
from ..saved_media import SavedNumber, saved
from ..scorer_options import check_option

Variant = Literal["official", "torchmetrics"]
WEIGHTS: dict[str, float] = {"official": 2.5, "torchmetrics": 100.0}
PREFIXES: dict[str, str] = {"official": "A photo depicts ", "torchmetrics": ""}
"""The text put before the prompt to compute the cosine, for each variant of CLIPScore."""


@scorers.register("clip_score")
@dataclass(frozen=True)
class ClipScore:
    """CLIPScore: how well an image fits its prompt.

    The cosine of image and prompt is not computed here. It is read from `cosine` in the
    output's JSON, the output's details or the row.
    """

    variant: Variant = "official"
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        variants = get_args(Variant)
        check_option("clip_score", "variant", self.variant, variants)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest score: 0, and the factor of the variant."""
        return 0.0, WEIGHTS[self.variant]

    def __call__(self, sample: Sample, output: Output) -> Score:
        cosine = saved(sample, output, "cosine")
        if (
            isinstance(cosine, (bool, Mapping))
            or not isinstance(cosine, (int, float))
            or not math.isfinite(cosine)
        ):
            return no_verdict("no cosine of image and prompt was saved")
        return Score(
            clip_score(cosine, self.variant),
            details={"cosine": float(cosine), "variant": self.variant},
        )


@scorers.register("clip_score_asked")
@dataclass(frozen=True)
class ClipScoreAsked(GivenModels, ClipScore):
    """CLIPScore with a cosine that is computed during the run, by the model under the role `clip`."""

    reads: ClassVar[tuple[str, ...]] = ("image",)
    name: ClassVar[str] = "clip_score"
    needs: ClassVar[tuple[str, ...]] = ("clip",)

    async def __call__(self, sample: Sample, output: Output) -> Score:  # type: ignore[override]
        caption = f"{PREFIXES[self.variant]}{question_of(sample)}"
        scorer = ClipScore(self.variant)
        scoring = Asked("clip", "cosine", scorer, caption, models=self.models)
        return await scoring(sample, output)


def clip_score(cosine: float, variant: Variant = "official") -> float:
    """Return the CLIPScore of one cosine; 0 for a negative cosine."""
    clipped = min(max(cosine, 0.0), 1.0)
    return WEIGHTS[variant] * clipped


@scorers.register("vqa_score")
@dataclass(frozen=True)
class VqaScore(GivenModels):
    """The probability, 0 to 1, that the image shows the prompt, from the model with the role `vqa`."""

    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("vqa",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        return await Asked(
            "vqa",
            "score",
            SavedNumber(),
            question_of(sample),
            models=self.models,
        )(sample, output)
