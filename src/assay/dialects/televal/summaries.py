"""Summarizers: turn a task's scores into the summaries that TELEVAL prints, and into results with intervals."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...core import (
    UNRESOLVED,
    AssayError,
    Result,
    ScoreRecord,
    SummaryContext,
)
from ...core import (
    Summarizer as Summary,
)
from ...summarizers.mean import Mean
from ...summarizers.pooled import Pooled
from ...summarizers.threshold import Rescaled, Threshold
from ..protocol import error_of_rule, is_upstream
from ..returned import bare, defined_at
from ..shapes import MAPPINGS, Fields, Record
from .eras import PLAIN_RULE, SEED, Rule, era_here
from .structures import decoded
from .televal_evaluation import counts_in

Rescale = Literal["base", "linear", "power"]
EDITS = ("subs", "dele", "inse")
FULL_MARKS = 5.0


class Summarizer:
    """Base of users' summarizers. `statistic(scores)` returns a dictionary with the lines to print."""

    def __init__(
        self,
        rescale: Rescale = "base",
        power: float = 2,
        reverse: bool | None = None,
    ) -> None:
        functions: dict[str, Callable[[float], float]] = {
            "base": lambda score: score,
            "linear": self.linear_rescale,
            "power": lambda score: self.power_rescale(score, power=power),
        }
        if rescale not in functions:
            fault = ValueError(f"rescale is base, linear or power, not {rescale!r}")
            raise error_of_rule("televal", fault, KeyError)
        if reverse is not None and is_upstream("televal") and era_here() == SEED:
            raise TypeError(
                f"{type(self).__name__} of TELEVAL's first era has no argument `reverse`"
            )
        self.rescale: Rescale = rescale
        self.rescale_func = functions[rescale]
        self.power = power
        self.reverse = bool(reverse)
        self._era = era_here()

    def _check_scores(self, scores: list[object]) -> None:
        """Raise if one of the scores is None."""
        for score in scores:
            if score is None:
                raise ValueError("a score is None: judge that prediction again")

    @staticmethod
    def linear_rescale(score: float) -> float:
        """Convert a score from the scale 0 … 5 to 0 … 100."""
        return score * 20

    @staticmethod
    def power_rescale(
        score: float,
        power: float,
    ) -> float:
        """Convert a score from the scale 0 … 5 to 0 … 100 by a power function, which spreads out high scores."""
        rescaled: float = (score / FULL_MARKS) ** power * 100
        return rescaled

    def statistic(
        self,
        scores: list[Any],
        **kwargs: object,
    ) -> Record:
        """Summarize the raw `score` values, in the order of the prediction file. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} has no statistic")

    @property
    def results(self) -> Sequence[Summary]:
        """The summarizers of assay that compute the same values, with intervals."""
        return (Mean(),)


class AvgInfo(Summarizer):
    """The mean of the scores in percent. If a score has named values, there is one mean for each name."""

    def statistic(
        self,
        scores: list[Any],
        **kwargs: object,
    ) -> Record:
        nothing = _summary_without_scores(scores, "AVG: no scores")
        if nothing:
            return nothing
        if not isinstance(scores[0], Mapping):
            return {"score": f"AVG: {_mean(scores) * 100:.2f}%"}
        means: Record = {}
        for key in scores[0]:
            values = [score[key] for score in scores if key in score]
            means[key] = f"{key}: {_mean(values) * 100:.2f}%"
        return means


class Avg(AvgInfo):
    """The mean of the scores as a percentage of `score_scale`.

    TELEVAL's registry names this class but does not define it.
    """

    def __init__(
        self,
        rescale: Rescale = "base",
        power: float = 2,
        reverse: bool | None = None,
        score_scale: float = 1,
    ) -> None:
        if is_upstream("televal"):
            raise AttributeError(
                "TELEVAL names a summarizer Avg and does not define it"
            )
        super().__init__(rescale, power, reverse)
        self.score_scale = score_scale

    def statistic(
        self,
        scores: list[Any],
        **kwargs: object,
    ) -> Record:
        return super().statistic(
            [_divided(score, self.score_scale) for score in scores]
        )


class AvgThreshold(Summarizer):
    """The mean score on a scale of 0 … 100, and the number of scores above a threshold on that scale."""

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

    def statistic(
        self,
        scores: list[Any],
        **kwargs: object,
    ) -> Record:
        bar = self.threshold if is_upstream("televal") else f"{self.threshold:g}"
        nothing = _summary_without_scores(scores, "AVG: no scores")
        if nothing:
            return {**nothing, "above_threshold": f"above{bar}: 0"}

        self._check_scores(scores)
        values = [self.rescale_func(float(score)) for score in scores]
        above = sum(value > self.threshold for value in values)
        mean = sum(values) / len(values)
        return {
            "score": f"AVG: {mean:.2f}",
            "above_threshold": f"above{bar}: {above}",
        }

    @property
    def results(self) -> Sequence[Summary]:
        """Summarizers of assay: the rescaled mean, and the share of scores above the threshold."""
        if self.rescale == "base":
            return (Mean(), Threshold(self.threshold, inclusive=False))
        power = self.power if self.rescale == "power" else 1.0
        bar = FULL_MARKS * (self.threshold / 100.0) ** (1.0 / power)
        return (
            Rescaled(0.0, FULL_MARKS, 100.0, power),
            Threshold(bar, inclusive=False),
        )


class AvgWER(Summarizer):
    """The error rate: all errors divided by the number of reference tokens. With `reverse`, 100 % minus the rate."""

    def statistic(
        self,
        scores: list[Any],
        **kwargs: object,
    ) -> Record:
        words = 0
        errors = 0.0
        for score in scores:
            words += score.get("ref_len", 0)
            errors += sum(score.get(name, 0.0) for name in EDITS)
        if not words and is_upstream("televal"):
            raise ValueError("the references have no words at all")
        rate = errors / words * 100 if words else 0.0
        if self.reverse:
            return {"score": f"Consis: {100 - rate:.2f}%"}
        name = "WER" if self._era == SEED else "WER_or_CER"
        return {"score": f"{name}: {rate:.2f}%"}

    @property
    def results(self) -> Sequence[Summary]:
        """The summarizer of assay for the pooled error rate."""
        return (Pooled(EDITS, "ref_len"),)


class AvgMOS(Summarizer):
    """The mean opinion score (MOS): the mean of DNSMOS ratings."""

    def statistic(
        self,
        scores: list[Any],
        **kwargs: object,
    ) -> Record:
        nothing = _summary_without_scores(scores, "DNSMOS: no scores")
        if nothing:
            return nothing
        return {"score": f"DNSMOS: {_mean(scores):.2f}"}


def _summary_without_scores(
    scores: list[object],
    words: str,
) -> Record | None:
    """Return a summary that contains only the message `words` if there are no scores, otherwise None.

    Under upstream's rules, always return None, because TELEVAL fails with a division by
    zero there.
    """
    if not scores and not is_upstream("televal"):
        return {"score": words}
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(map(float, values)) / len(values)


def _divided(
    score: Mapping[str, float] | float,
    scale: float,
) -> dict[str, float] | float:
    if isinstance(score, Mapping):
        return {key: float(value) / scale for key, value in score.items()}
    return float(score) / scale


STATISTIC = "statistic"
"""The key for the summarizer's dictionary in a result's details."""
OURS = "assay.dialects.televal."
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Statistic:
    """Makes a TELEVAL summarizer from the registry usable as a summarizer of assay."""

    name: str
    kind: object
    args: Fields
    summarizer: Any
    rule: Rule = PLAIN_RULE

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterable[Result]:
        """Return the results of a task.

        For numeric scores, assay's summarizers give values with intervals. The numbers
        in a user's own summary are added without intervals.
        """
        lines: list[ScoreRecord] = []
        n_samples = 0
        for record in records:
            n_samples += 1
            lines += lines_of(record)
        raw_scores = [raw_score(line) for line in lines]
        statistic = self.statistic(lines, raw_scores)
        module = getattr(type(self.summarizer).statistic, "__module__", "")
        # The numbers of assay's own classes are known. A subclass may return anything.
        is_known = str(module).startswith(OURS)
        summarizers = self.summarizer.results if is_known else (Mean(),)
        if len(lines) != n_samples:  # count lines instead of samples
            context = replace(context, n_expected=len(lines))
        counted_lines = list(map(_with_counts, lines, raw_scores))
        results: list[Result] = []
        try:
            for summarize in summarizers:
                results += summarize(counted_lines, context)
        except (AssayError, ValueError):
            if not statistic:
                raise
            # Scores outside the range of the rescaling: report only the user's own numbers.
            results = []
            is_known = False
        if statistic:
            results = [result for result in results if result.value is not None]
        if not is_known:
            own_results = self._own_results(statistic, lines, context)
            results = own_results + results
        if not results:
            results = [_result("statistic", None, lines, context)]
        details = {**results[0].details, STATISTIC: dict(statistic)}
        return [replace(results[0], details=details), *results[1:]]

    def statistic(
        self,
        lines: Sequence[ScoreRecord],
        raw_scores: Sequence[Any],
    ) -> Fields:
        """Call the TELEVAL summarizer with the scores of all lines that have one, and return its dictionary."""
        scores = []
        for line, raw in zip(lines, raw_scores, strict=True):
            if line.outcome not in UNRESOLVED:
                scores.append(raw)
        with self.rule.applied():
            statistic = self.summarizer.statistic(scores)
        if not isinstance(statistic, Mapping):
            function = type(self.summarizer).statistic
            name = f"{type(self.summarizer).__name__}.statistic"
            raise TypeError(
                f"{name} ({defined_at(function)}) returned a {type(statistic).__name__}, not a dict"
            )
        return statistic

    def _own_results(
        self,
        statistic: Fields,
        lines: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> list[Result]:
        """Return a result for each number in a user's summary, including strings with exactly one number."""
        results = []
        for name, value in statistic.items():
            number = as_number(value)
            if number is not None:
                metric = f"{self.name}.{name}"
                results.append(_result(metric, number, lines, context))
        return results


def _result(
    name: str,
    number: float | None,
    lines: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Result:
    return Result(
        task=context.task,
        model=context.model,
        metric=name,
        value=number,
        n=sum(line.outcome not in UNRESOLVED for line in lines),
        n_expected=context.n_expected,
        protocol=context.protocol,
        interval="none: user summarizer",
        outcomes=Counter(str(line.outcome) for line in lines),
        higher_is_better=context.higher_is_better,
    )


def lines_of(record: ScoreRecord) -> list[ScoreRecord]:
    """Return a record for each prediction line of a sample: one per round of a dialogue.

    The rounds of a dialogue share a cluster.
    """
    rounds = record.details.get("rounds")
    if not isinstance(rounds, (list, tuple)):
        rounds = ()
    if not rounds or not isinstance(rounds[0], Mapping):
        return [record]
    lines = []
    for number, verdict in enumerate(rounds, 1):
        details = dict(verdict)
        outcome = details.pop("outcome")
        value = details.pop("value", None)
        values = {}
        if isinstance(value, Mapping):
            for key, number_of_key in value.items():
                values[f"{record.scorer}.{key}"] = number_of_key
        elif value is not None:
            values[record.scorer] = value
        line = replace(
            record,
            id=f"{record.id}#{number}",
            cluster=record.cluster or record.id,
            outcome=outcome,
            details=details,
            values=values,
        )
        lines.append(line)
    return lines


def raw_score(line: ScoreRecord) -> Any:
    """Return the `score` in an evaluator's result. For a scorer of assay, return its counts, value or named values."""
    if "result" in line.details:
        return decoded(line.details["result"]["score"])
    if counts := counts_in(line.details):
        return counts
    if line.scorer in line.values:
        return line.values[line.scorer]
    named = {}
    for name, value in line.values.items():
        named[name.removeprefix(f"{line.scorer}.")] = value
    return named


def _with_counts(
    line: ScoreRecord,
    raw: object,
) -> ScoreRecord:
    """Copy the error counts of a record's score to its details, where the pooled summarizer reads them."""
    if not isinstance(raw, MAPPINGS) or "ref_len" not in raw:
        return line
    return replace(line, details={**line.details, **raw})


def as_number(value: object) -> float | None:
    """Return a number, or the only number in a string such as `AVG: 63.25%`; None for anything else."""
    single = bare(value)
    if isinstance(single, str):
        numbers = _NUMBER.findall(single)
        return float(numbers[0]) if len(numbers) == 1 else None
    if isinstance(single, (bool, int, float)):
        return float(single)
    return None
