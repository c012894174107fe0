"""`src.evaluator.dnsmos`: how good a model's speech sounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .....core import Output, Sample, Score
from .....scorers.speech.dnsmos import Dnsmos
from .base import BuiltInEvaluator


@dataclass(frozen=True)
class OverallMos:
    """The overall rating of DNSMOS alone, 1 to 5."""

    bounds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    blocking: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = Dnsmos()(sample, output)
        value = score.value.get("ovrl") if isinstance(score.value, Mapping) else score.value
        others = dict(score.value) if isinstance(score.value, Mapping) else {}
        return Score(value, score.outcome, score.answer, {**score.details, "ratings": others})


class DNSMOS(BuiltInEvaluator):
    """DNSMOS of the sound a model made; the networks come with assay[speech], whatever path the YAML file names."""

    def __init__(self, model: str | None = None, max_workers: int | None = None) -> None:
        self.model = model
        self.max_workers = max_workers
        self.scorer = OverallMos()
