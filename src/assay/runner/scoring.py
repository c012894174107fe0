"""Scoring: one scorer applied to one sample's output, whatever became of it.

A model that gave no answer is `model_error`, never a wrong answer. A scorer that raises is `judge_error`: its fault is
counted, no number is invented from it. An answer cut by the token limit and not readable is `truncated`.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from ..core import ErrorInfo, Outcome, Output, Sample, Score, StoreError, UsageError, as_score, blamed
from ..core.errors import ScorerError
from ..store.journal import score_line
from ..store.secrets import scrub
from ..summarizers.statistics import reduce_repeats
from .fingerprint import code_digest


@dataclass(slots=True)
class Scoring:
    """A scorer ready for use on one task and model."""

    name: str
    scorer: Any
    task: str
    model: str
    digest: str = ""
    is_async: bool = False
    is_slow: bool = False
    """Blocks for long: it is run in a thread."""
    is_set_level: bool = False
    whole_output: bool = False
    reducer: str = "mean"
    summarizers: tuple[Any, ...] = ("mean",)
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    roles: tuple[str, ...] = ()
    """Helper models it must be given."""

    @classmethod
    def of(cls, name: str, scorer: Any, task: str, model: str, reducer: str = "mean") -> "Scoring":
        """Reads what a scorer says of itself."""
        call = scorer if inspect.isroutine(scorer) else getattr(scorer, "__call__", None)  # noqa: B004
        return cls(
            name=name,
            scorer=scorer,
            task=task,
            model=model,
            digest=code_digest(scorer if reducer == "mean" else [scorer, reducer])[:16],
            is_async=inspect.iscoroutinefunction(call),
            is_slow=bool(getattr(scorer, "blocking", False)),
            is_set_level=hasattr(scorer, "score_all"),
            whole_output=bool(getattr(scorer, "whole_output", False)),
            reducer=reducer,
            summarizers=tuple(getattr(scorer, "summarizers", ("mean",))),
            higher_is_better=bool(getattr(scorer, "higher_is_better", True)),
            bounds=getattr(scorer, "bounds", (0.0, 1.0)),
            roles=tuple(getattr(scorer, "needs", ())),
        )

    def given(self, models: Mapping[str, Any]) -> "Scoring":
        """The same with its helper models."""
        if not self.roles:
            return self
        if not is_dataclass(self.scorer) or isinstance(self.scorer, type):
            raise UsageError(f"scorer {self.name!r} names helper models but has no field `models` to be given them in")
        return replace(self, scorer=replace(self.scorer, models=models))

    def score(self, sample: Sample, output: Output) -> Score:
        """The verdict on one output by a scorer that answers at once."""
        settled = self._without_scorer(output)
        if settled is not None:
            return settled
        try:
            if len(output.candidates) > 1 and not self.whole_output:
                singles = [output.only(i) for i in range(len(output.candidates))]
                scores = [self._settle(as_score(self.scorer(sample, o)), o) for o in singles]
                return reduce_candidates(scores, self.reducer)
            score = self.scorer(sample, output)
            return self._settle(score if type(score) is Score else as_score(score), output)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary to other people's scorers: becomes judge_error
            return self.broken(error, sample)

    async def score_async(self, sample: Sample, output: Output) -> Score:
        """The verdict by a scorer that must wait, as a judge does."""
        settled = self._without_scorer(output)
        if settled is not None:
            return settled
        try:
            if len(output.candidates) > 1 and not self.whole_output:
                singles = [output.only(i) for i in range(len(output.candidates))]
                scores = [self._settle(as_score(await self.scorer(sample, o)), o) for o in singles]
                return reduce_candidates(scores, self.reducer)
            return self._settle(as_score(await self.scorer(sample, output)), output)
        except StoreError:
            raise  # the disk the judge's answer was to be kept on: no fault of the judge
        except Exception as error:  # noqa: BLE001 - the boundary to other people's scorers: becomes judge_error
            return self.broken(error, sample)

    def broken(self, error: Exception, sample: Sample) -> Score:
        """The verdict when the scorer itself failed."""
        described = scrub(str(blamed(ScorerError, error, f"scorer {self.name!r}", sample.id)))
        return Score(None, Outcome.JUDGE_ERROR, details={"error": described})

    def line(self, sample: Sample, score: Score, epoch: int, order: int) -> dict[str, Any]:
        """A score as a line of the journal."""
        value = score.value
        values: Mapping[str, float | None]
        if isinstance(value, float):
            values = {self.name: value}
        elif isinstance(value, Mapping):
            values = {f"{self.name}.{key}": number for key, number in value.items()}
        else:
            values = {} if value is None else {self.name: float(value)}
        return score_line(
            self.task,
            self.model,
            sample.id,
            self.name,
            self.digest,
            values,
            score.outcome.value,
            epoch=epoch,
            answer=score.answer,
            details=score.details,
            candidates=score.candidates,
            tags=sample.tags,
            group=sample.group,
            cluster=sample.cluster,
            order=order,
        )

    @staticmethod
    def _without_scorer(output: Output) -> Score | None:
        """The outcomes no scorer needs to see."""
        if output.error is not None:
            return failure_score(output.error)
        if not output.candidates:
            return None
        first = output.candidates[0]
        if first.stop_reason == "content_filter" and len(output.candidates) == 1 and not first.text:
            return Score(0.0, Outcome.REFUSED, details={"rule": "content_filter"})
        return None

    @staticmethod
    def _settle(score: Score, output: Output) -> Score:
        value = score.value
        for number in value.values() if isinstance(value, Mapping) else (value,):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"the score is {number}, which is not a number to count with")
        if score.outcome is Outcome.UNPARSED and output.stop_reason == "length":
            return replace(score, outcome=Outcome.TRUNCATED)
        return score


def failure_score(error: ErrorInfo) -> Score:
    """The verdict where no answer came: the row's fault, found where it was decoded, or the model's."""
    if error.kind == "data":
        return Score(None, Outcome.DATA_ERROR, details={"error": error.message})
    return Score(None, Outcome.MODEL_ERROR, details={"error": f"{error.kind}: {error.message}"})


def with_rounds(outputs: Sequence[Output]) -> Output:
    """The last answer of a dialogue, with all answers beside it for scorers that look back."""
    last = outputs[-1]
    if len(outputs) == 1:
        return last
    texts = [output.text for output in outputs]
    return Output(
        last.candidates,
        last.likelihoods,
        last.usage,
        last.seconds,
        last.state,
        last.error,
        {**last.details, "rounds": texts},
    )


def reduce_candidates(scores: Sequence[Score], reducer: str = "mean") -> Score:
    """Several candidates of one request as one score, each value reduced as repeats are; all values are kept."""
    first = next((s for s in scores if s.value is not None), scores[0])
    outcomes = {s.outcome for s in scores}
    outcome = Outcome.SCORED if Outcome.SCORED in outcomes else first.outcome
    details = {**first.details, "outcomes": [s.outcome.value for s in scores]}
    if any(s.details for s in scores):
        # What was found in each, beside that of the first at the top, where scores of one candidate have it.
        details["candidates"] = [dict(s.details) for s in scores]
    if isinstance(first.value, Mapping):
        named = {
            key: _reduced([s.value[key] for s in scores if isinstance(s.value, Mapping) and key in s.value], reducer)
            for key in first.value
        }
        return Score(named, outcome, first.answer, details)
    numbers = [s.value if isinstance(s.value, (int, float)) else None for s in scores]
    known = [n for n in numbers if n is not None]
    return Score(_reduced(known, reducer) if known else None, outcome, first.answer, details, tuple(numbers))


def _reduced(values: Sequence[float], reducer: str) -> float:
    """pass@k of fewer than k candidates cannot be told from one request: the repeats of the sample may have enough."""
    k = reducer.removeprefix("pass")[1:] if reducer.startswith("pass") else ""
    if reducer == "mean" or (k.isdigit() and len(values) < int(k)):
        return sum(values) / len(values)
    return reduce_repeats(values, reducer).value
