"""`src.summarizer.summarizer`: the guest's summaries, as the strings its files hold.

assay reports the same numbers as numbers, with intervals; see `results`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .....summarizers.mean import Mean
from .....summarizers.pooled import Pooled
from .....summarizers.threshold import Rescaled, Threshold
from ....protocol import is_upstream
from ...eras import SEED, era_here

Rescale = Literal["base", "linear", "power"]
EDITS = ("subs", "dele", "inse")
FULL_MARKS = 5.0


class Summarizer:
    """What a user's summarizer is built on: `statistic(scores)` gives a dict."""

    def __init__(
        self, rescale: Rescale = "base", power: float = 2, reverse: bool | None = None
    ) -> None:
        functions: dict[str, Callable[[Any], Any]] = {
            "base": lambda score: score,
            "linear": self.linear_rescale,
            "power": lambda score: self.power_rescale(score, power=power),
        }
        if rescale not in functions:
            kind = KeyError if is_upstream("televal") else ValueError
            raise kind(f"rescale is base, linear or power, not {rescale!r}")
        if reverse is not None and is_upstream("televal") and era_here() == SEED:
            raise TypeError(
                f"{type(self).__name__} of TELEVAL's first era has no argument `reverse`"
            )
        self.rescale: Rescale = rescale
        self.rescale_func = functions[rescale]
        self.power = power
        self.reverse = bool(reverse)

    def _check_scores(self, scores: list[Any]) -> None:
        """Raises where a score is missing."""
        if any(score is None for score in scores):
            raise ValueError("a score is None: judge that prediction again")

    @staticmethod
    def linear_rescale(score: Any) -> Any:
        """0 to 5 as 0 to 100."""
        return score * 20

    @staticmethod
    def power_rescale(score: Any, power: float) -> Any:
        """0 to 5 as 0 to 100, high scores spread out."""
        return (score / FULL_MARKS) ** power * 100

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        """To be written by the user: `scores` are the raw `score` values in the order of the file."""
        raise NotImplementedError(f"{type(self).__name__} has no statistic")

    @property
    def results(self) -> Sequence[Any]:
        """The summarizers of assay that give the same as numbers."""
        return (Mean(),)


class AvgInfo(Summarizer):
    """The mean in percent; of named scores, one for each name."""

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        if nothing := _nothing(scores, "AVG: no scores"):
            return nothing
        first = scores[0]
        if not isinstance(first, Mapping):
            return {"score": f"AVG: {_mean(scores) * 100:.2f}%"}
        return {
            key: f"{key}: {_mean([score[key] for score in scores if key in score]) * 100:.2f}%"
            for key in first
        }


class Avg(AvgInfo):
    """The mean in percent, of scores that end at `score_scale`: upstream's registry names it, upstream lacks it."""

    def __init__(
        self,
        rescale: Rescale = "base",
        power: float = 2,
        reverse: bool | None = None,
        score_scale: float = 1,
    ) -> None:
        if is_upstream("televal"):
            raise AttributeError(
                "TELEVAL has no summarizer Avg: its registry names one that is not there"
            )
        super().__init__(rescale, power, reverse)
        self.score_scale = score_scale

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        return super().statistic(
            [_divided(score, self.score_scale) for score in scores]
        )


class AvgThreshold(Summarizer):
    """The mean after rescaling to 0 … 100, and how many lie above a threshold."""

    def __init__(
        self,
        rescale: Rescale | None = None,
        threshold: float = 60,
        power: float = 2,
        reverse: bool | None = None,
    ) -> None:
        if is_upstream("televal") and (rescale is None or reverse is not None):
            raise TypeError(
                "AvgThreshold of TELEVAL needs `rescale` and has no `reverse`"
            )
        super().__init__(rescale or "base", power, reverse)
        self.threshold = threshold

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        bar = self.threshold if is_upstream("televal") else f"{self.threshold:g}"
        if nothing := _nothing(scores, "AVG: no scores"):
            return {**nothing, "above_threshold": f"above{bar}: 0"}
        self._check_scores(scores)
        values = [self.rescale_func(float(score)) for score in scores]
        above = sum(value > self.threshold for value in values)
        return {
            "score": f"AVG: {sum(values) / len(values):.2f}",
            "above_threshold": f"above{bar}: {above}",
        }

    @property
    def results(self) -> Sequence[Any]:
        """The rescaled mean, and the share above the threshold, seen on the scale the scores came on."""
        if self.rescale == "base":
            return (Mean(), Threshold(self.threshold, inclusive=False))
        power = self.power if self.rescale == "power" else 1.0
        bar = FULL_MARKS * (self.threshold / 100.0) ** (1.0 / power)
        return (
            Rescaled(0.0, FULL_MARKS, 100.0, power),
            Threshold(bar, inclusive=False),
        )


class AvgWER(Summarizer):
    """All errors over all reference tokens; with `reverse`, what is left of 100 %."""

    @property
    def label(self) -> str:
        """What stands before the rate."""
        return "WER" if self._era == SEED else "WER_or_CER"

    def __init__(
        self, rescale: Rescale = "base", power: float = 2, reverse: bool | None = None
    ) -> None:
        super().__init__(rescale, power, reverse)
        self._era = era_here()

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        words = sum(score.get("ref_len", 0) for score in scores)
        errors = sum(score.get(name, 0.0) for score in scores for name in EDITS)
        if not words and is_upstream("televal"):
            raise ValueError("the references have no words at all")
        rate = errors / words * 100 if words else 0.0
        return {
            "score": f"Consis: {100 - rate:.2f}%"
            if self.reverse
            else f"{self.label}: {rate:.2f}%"
        }

    @property
    def results(self) -> Sequence[Any]:
        """The pooled rate."""
        return (Pooled(EDITS, "ref_len"),)


class AvgMOS(Summarizer):
    """The mean opinion score."""

    def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
        return _nothing(scores, "DNSMOS: no scores") or {
            "score": f"DNSMOS: {_mean(scores):.2f}"
        }


def _nothing(scores: list[Any], words: str) -> dict[str, Any] | None:
    """What is said of no scores; upstream's rule divides by zero."""
    return {"score": words} if not scores and not is_upstream("televal") else None


def _mean(values: Sequence[Any]) -> float:
    return sum(map(float, values)) / len(values)


def _divided(score: Any, scale: float) -> Any:
    if isinstance(score, Mapping):
        return {key: float(value) / scale for key, value in score.items()}
    return float(score) / scale
