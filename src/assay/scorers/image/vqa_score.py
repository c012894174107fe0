"""VQAScore: the probability a model gives to "Yes" when asked whether the image shows the prompt (arXiv 2404.01291)."""

from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..asked import Asked
from ..given_models import GivenModels
from ..judge.exchange import question_of
from ..saved_number import SavedNumber


@scorers.register("vqa_score")
@dataclass(frozen=True)
class VqaScore(GivenModels):
    """The probability given by the model with the role `vqa`, 0 to 1. The worker of that model words the question."""

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
