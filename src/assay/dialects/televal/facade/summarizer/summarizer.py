"""`src.summarizer.summarizer`: the guest's summaries, as the strings its files hold.

assay reports the same numbers as numbers, with intervals; see `results`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .....summarizers.mean import Mean
from .....summarizers.pooled import Pooled
from .....summarizers.threshold import Rescaled, Threshold

Rescale = Literal["base", "linear", "power"]
EDITS = ("subs", "dele", "inse")
FULL_MARKS = 5.0


class Summarizer:
    """What a user's summarizer is built on: `statistic(scores)` gives a dict."""

    def __init__(self, rescale: Rescale = "base", power: float = 2, reverse: bool = False) -> None:
        if rescale not in ("base", "linear", "power"):
            raise ValueError(f"rescale is base, linear or power, not {rescale!r}")
        self.rescale: Rescale = rescale
        self.power = power
        self.reverse = reverse

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        """To be written by the user: `scores` are the raw `score` values in the order of the file."""
        raise NotImplementedError(f"{type(self).__name__} has no statistic")

    def rescaled(self, score: float) -> float:
        """A score of 0 to 5 on the scale of 0 to 100, or as it is."""
        if self.rescale == "linear":
            return 20.0 * score
        return (score / FULL_MARKS) ** self.power * 100.0 if self.rescale == "power" else score

    @property
    def results(self) -> Sequence[Any]:
        """The summarizers of assay that give the same as numbers."""
        return (Mean(),)


class AvgInfo(Summarizer):
    """The mean in percent; of named scores, one for each name."""

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        if not scores:
            return {"score": "AVG: no scores"}
        first = scores[0]
        if not isinstance(first, Mapping):
            return {"score": f"AVG: {_mean(scores) * 100:.2f}%"}
        return {key: f"{key}: {_mean([score[key] for score in scores]) * 100:.2f}%" for key in first}


class Avg(AvgInfo):
    """The mean in percent, of scores that end at `score_scale`."""

    def __init__(
        self, rescale: Rescale = "base", power: float = 2, reverse: bool = False, score_scale: float = 1
    ) -> None:
        super().__init__(rescale, power, reverse)
        self.score_scale = score_scale

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        return super().statistic([_divided(score, self.score_scale) for score in scores])


class AvgThreshold(Summarizer):
    """The mean after rescaling to 0 … 100, and how many lie above a threshold."""

    def __init__(
        self, rescale: Rescale = "base", threshold: float = 60, power: float = 2, reverse: bool = False
    ) -> None:
        super().__init__(rescale, power, reverse)
        self.threshold = threshold

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        values = [self.rescaled(score) for score in scores]
        above = sum(value > self.threshold for value in values)
        mean = f"{_mean(values):.2f}" if values else "no scores"
        return {"score": f"AVG: {mean}", "above_threshold": f"above{self.threshold:g}: {above}"}

    @property
    def results(self) -> Sequence[Any]:
        """The rescaled mean, and the share above the threshold, seen on the scale the scores came on."""
        if self.rescale == "base":
            return (Mean(), Threshold(self.threshold, inclusive=False))
        power = self.power if self.rescale == "power" else 1.0
        bar = FULL_MARKS * (self.threshold / 100.0) ** (1.0 / power)
        return (Rescaled(0.0, FULL_MARKS, 100.0, power), Threshold(bar, inclusive=False))


class AvgWER(Summarizer):
    """All errors over all reference tokens; with `reverse`, what is left of 100 %."""

    label = "WER_or_CER"
    """What stands before the rate; registries of the first era have `WER` there."""

    def __init__(self, reverse: bool = False, rescale: Rescale = "base", power: float = 2) -> None:
        super().__init__(rescale, power, reverse)

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        errors = sum(score[name] for score in scores for name in EDITS)
        words = sum(score["ref_len"] for score in scores)
        rate = errors / words * 100 if words else 0.0
        return {"score": f"Consis: {100 - rate:.2f}%" if self.reverse else f"{self.label}: {rate:.2f}%"}

    @property
    def results(self) -> Sequence[Any]:
        """The pooled rate."""
        return (Pooled(EDITS, "ref_len"),)


class AvgMOS(Summarizer):
    """The mean opinion score."""

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        return {"score": f"DNSMOS: {_mean(scores):.2f}" if scores else "DNSMOS: no scores"}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _divided(score: Any, scale: float) -> Any:
    if isinstance(score, Mapping):
        return {key: value / scale for key, value in score.items()}
    return score / scale
