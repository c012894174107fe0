"""VQAScore: how probable a model finds "Yes" when asked whether the image shows the prompt (arXiv 2404.01291)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...core import EMPTY, Output, Sample, Score
from ...registry import scorers
from ..asked import Asked
from ..judge.exchange import question_of
from ..saved_number import SavedNumber


@scorers.register("vqa_score")
@dataclass(frozen=True)
class VqaScore:
    """The probability that the model under the role `vqa` gives, 0 to 1; the worker puts the question."""

    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    reads: ClassVar[tuple[str, ...]] = ("image",)
    needs: ClassVar[tuple[str, ...]] = ("vqa",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        return await Asked("vqa", "score", SavedNumber(), question_of(sample), models=self.models)(sample, output)
