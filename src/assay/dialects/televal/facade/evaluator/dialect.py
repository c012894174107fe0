"""`src.evaluator.dialect`: which dialect does a model speak? Heard by a model given as `--judge dialect=…`.

That model answers a sound with JSON: probabilities by label; the most probable label is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .....core import EMPTY, Output, Sample, Score
from .base import BuiltInEvaluator
from .emo2vec import listen


@dataclass(frozen=True)
class HeardDialect:
    """1 if the dialect that is heard is the one that was wanted."""

    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("dialect",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        heard = await listen(self.models, "dialect", output)
        if isinstance(heard, Score):
            return heard
        label = max(heard, key=lambda name: float(heard[name])) if heard else ""
        wanted = {str(target).lower() for target in sample.targets}
        return Score(float(str(label).lower() in wanted), answer=str(label))


class DialectClassify(BuiltInEvaluator):
    """The dialect of the sound a model made."""

    def __init__(self, model: str | None = None, max_workers: int | None = None) -> None:
        self.model = model
        self.max_workers = max_workers
        self.scorer = HeardDialect()
