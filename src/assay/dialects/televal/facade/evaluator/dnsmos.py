"""`src.evaluator.dnsmos`: how good a model's speech sounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from .....core import Audio, Candidate, Output, Sample, Score
from .....scorers.speech.dnsmos import Dnsmos
from ..utils import parallel_batch
from .base import BuiltInEvaluator, set_workers

SAMPLING_RATE = 16000


@dataclass(frozen=True)
class OverallMos:
    """The overall rating of DNSMOS alone, 1 to 5."""

    bounds: ClassVar[tuple[float, float]] = (1.0, 5.0)
    blocking: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = Dnsmos()(sample, output)
        value = (
            score.value.get("ovrl") if isinstance(score.value, Mapping) else score.value
        )
        others = dict(score.value) if isinstance(score.value, Mapping) else {}
        return Score(
            value, score.outcome, score.answer, {**score.details, "ratings": others}
        )


class DNSMOS(BuiltInEvaluator):
    """DNSMOS of the audio a model made; the networks come with assay[speech], whatever path the YAML file names."""

    def __init__(
        self, model: str | None = None, max_workers: int | None = None
    ) -> None:
        set_workers(self, max_workers)
        self.model = model
        self.compute_score: Callable[[str, int], Mapping[str, Any]] = _rated
        self.scorer = OverallMos()

    @parallel_batch(default_workers=4)
    def evaluate(
        self, pred: Any, ref: Any, pred_info: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """The overall rating of one audio clip."""
        rating = self.compute_score(pred_info["pred_audio"], SAMPLING_RATE)
        return {"key": pred_info["key"], "score": rating["OVRL"]}


def _rated(path: str, sampling_rate: int) -> Mapping[str, Any]:
    """The ratings of an audio clip under TELEVAL's names."""
    score = OverallMos()(Sample(path, ""), Output((Candidate((Audio(Path(path)),)),)))
    ratings = score.details.get("ratings", {})
    return {str(name).upper(): value for name, value in ratings.items()} | {
        "OVRL": score.value
    }
