"""Scoring: one scorer applied to one sample's output, whatever became of it.

A model that gave no answer is `model_error`, never a wrong answer. A scorer that raises, or calls an answer scored and
gives it no number, is `judge_error`: its fault is counted, no number is invented from it. An answer cut by the token
limit and not readable is `truncated`; one that a content filter left nothing of is `refused`, whatever the scorer says.

Several candidates are judged one by one and kept in one record; what they mean for the numbers of a run is said in
`summarizers.attempts`. A candidate whose verdict failed makes its record one that the next run judges again.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from threading import get_ident
from typing import Any

from ...code.fingerprint import code_digest
from ...core import (
    COUNTED_AS_ZERO,
    EMPTY,
    UNRESOLVED,
    ErrorBudgetExceeded,
    ErrorInfo,
    Outcome,
    Output,
    Round,
    Sample,
    Score,
    StoreError,
    UsageError,
    as_score,
    blamed,
)
from ...core.errors import ScorerError
from ...core.message import plain_turns
from ...core.score import named_values
from ...core.secrets import scrub
from ...scorers.answers import was_filtered
from ...store import ScoreLine
from .guard import GUARD, ScorerOverrun


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
    summarizers: tuple[Any, ...] = ("mean",)
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    roles: tuple[str, ...] = ()
    """Helper models it must be given."""
    reads: tuple[str, ...] = ()
    """What it cannot do without: see `readable`; empty where it does not say."""

    @classmethod
    def of(cls, name: str, scorer: Any, task: str, model: str) -> "Scoring":
        """Reads what a scorer says of itself."""
        call = (
            scorer if inspect.isroutine(scorer) else getattr(scorer, "__call__", None)
        )  # noqa: B004
        return cls(
            name=name,
            scorer=scorer,
            task=task,
            model=model,
            digest=code_digest(scorer)[:16],
            is_async=inspect.iscoroutinefunction(call),
            is_slow=bool(getattr(scorer, "blocking", False)),
            is_set_level=hasattr(scorer, "score_all"),
            whole_output=bool(getattr(scorer, "whole_output", False)),
            summarizers=tuple(getattr(scorer, "summarizers", ("mean",))),
            higher_is_better=bool(getattr(scorer, "higher_is_better", True)),
            bounds=getattr(scorer, "bounds", (0.0, 1.0)),
            roles=tuple(getattr(scorer, "needs", ())),
            reads=tuple(getattr(scorer, "reads", ())),
        )

    def given(self, models: Mapping[str, Any]) -> "Scoring":
        """The same with its helper models."""
        if not self.roles:
            return self
        if not is_dataclass(self.scorer) or isinstance(self.scorer, type):
            raise UsageError(
                f"scorer {self.name!r} names helper models but has no field `models` to be given them in"
            )
        return replace(self, scorer=replace(self.scorer, models=models))

    def score(self, sample: Sample, output: Output) -> Score:
        """The verdict on one output by a scorer that answers at once."""
        if (
            len(output.candidates) > 1
            and not self.whole_output
            and output.error is None
        ):
            return self._together(
                [self._score_one(sample, single) for single in singles_of(output)]
            )
        return self._score_one(sample, output)

    def _score_one(self, sample: Sample, output: Output) -> Score:
        if output.error is not None:
            return failure_score(output.error)
        try:
            if GUARD.thread == get_ident():
                GUARD.serial += 1
                GUARD.is_scoring = True
                try:
                    score = self.scorer(sample, output)
                finally:
                    GUARD.is_scoring = False
            else:
                score = self.scorer(sample, output)
            score = self._settle(
                score if type(score) is Score else as_score(score), output
            )
        except StoreError:
            raise
        except ScorerOverrun:
            score = self.overrun(sample)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to other people's scorers: becomes judge_error
            score = self.broken(error, sample)
        return refusal_of(score) if was_filtered(output) else score

    async def score_async(self, sample: Sample, output: Output) -> Score:
        """The verdict by a scorer that must wait, as a judge does."""
        if (
            len(output.candidates) > 1
            and not self.whole_output
            and output.error is None
        ):
            return self._together(
                [
                    await self._score_one_async(sample, single)
                    for single in singles_of(output)
                ]
            )
        return await self._score_one_async(sample, output)

    async def _score_one_async(self, sample: Sample, output: Output) -> Score:
        if output.error is not None:
            return failure_score(output.error)
        is_refused = was_filtered(output)
        # Where nothing is left of an answer, its counts may be: nobody has to be asked for those.
        scorer = (
            self.given(dict.fromkeys(self.roles, Nobody())).scorer
            if is_refused
            else self.scorer
        )
        try:
            score = self._settle(as_score(await scorer(sample, output)), output)
        except (StoreError, ErrorBudgetExceeded):
            raise  # the disk the judge's answer was to be kept on, or a judge that fails too often for this run
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to other people's scorers: becomes judge_error
            score = self.broken(error, sample)
        return refusal_of(score) if is_refused else score

    def _together(self, scores: Sequence[Score]) -> Score:
        return reduce_candidates(
            scores, higher_is_better=self.higher_is_better, bounds=self.bounds
        )

    def broken(self, error: BaseException, sample: Sample) -> Score:
        """The verdict when the scorer itself failed."""
        described = scrub(
            str(blamed(ScorerError, error, f"scorer {self.name!r}", sample.id))
        )
        return Score(None, Outcome.JUDGE_ERROR, details={"error": described})

    def overrun(self, sample: Sample) -> Score:
        """The verdict when the scorer did not come to an end on this answer."""
        error = ScorerError(
            f"scorer {self.name!r} took more than {GUARD.seconds:g} s of CPU time on one answer",
            where=f"sample {sample.id!r}",
            fix="make it linear in the length of the answer, or allow more with --scorer_seconds",
        )
        return Score(None, Outcome.JUDGE_ERROR, details={"error": scrub(str(error))})

    def line(
        self, sample: Sample, score: Score, epoch: int, order: int, judged_by: str
    ) -> ScoreLine:
        """A score as a line of the journal; `judged_by` is the digest of what the sample is judged by."""
        return ScoreLine(
            self.task,
            self.model,
            sample.id,
            self.name,
            self.digest + judged_by,
            {self.name: score.value}
            if isinstance(score.value, float)
            else named_values(score, self.name),
            score.outcome.value,
            epoch,
            score.answer,
            score.details or EMPTY,
            score.candidates or (),
            sample.tags or EMPTY,
            sample.group,
            sample.cluster,
            order,
        )

    @staticmethod
    def _settle(score: Score, output: Output) -> Score:
        value = score.value
        for number in value.values() if isinstance(value, Mapping) else (value,):
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"the score is {number}, which is not a number to count with"
                )
        if score.outcome is Outcome.UNPARSED and output.stop_reason == "length":
            return replace(score, outcome=Outcome.TRUNCATED)
        return score


class Nobody:
    """Stands for a helper model where there is nothing to show it."""

    async def ask(self, *prompts: Any, **options: Any) -> Output:
        """Gives no answer, as a helper that failed."""
        return Output.failed(
            "exception", "a refused answer is shown to nobody", retryable=False
        )


def refusal_of(score: Score) -> Score:
    """The verdict on an answer that was refused, with the counts its scorer kept; a fault of the row stays one.

    A value stays only where the scorer itself saw that nothing was said: it then has all the names of its metrics.
    """
    if score.outcome is Outcome.DATA_ERROR:
        return score
    is_silence = score.outcome in COUNTED_AS_ZERO and score.value is not None
    details = {} if score.outcome in UNRESOLVED else score.details
    value = score.value if is_silence else 0.0
    return Score(
        value, Outcome.REFUSED, details={"reason": "content_filter", **details}
    )


def failure_score(error: ErrorInfo) -> Score:
    """The verdict where no answer came: the row's fault, found where it was decoded, or the model's."""
    if error.kind == "data":
        return Score(None, Outcome.DATA_ERROR, details={"error": error.message})
    return Score(
        None, Outcome.MODEL_ERROR, details={"error": f"{error.kind}: {error.message}"}
    )


def with_rounds(
    outputs: Sequence[Output], prompts: Sequence[Sequence[Mapping[str, Any]]]
) -> Output:
    """The last answer of a dialogue with all its rounds, for scorers that look back; `prompts` as in the journal."""
    last = outputs[-1]
    if len(outputs) == 1:
        return last
    rounds = tuple(
        Round(plain_turns(prompt), output)
        for prompt, output in zip(prompts, outputs, strict=True)
    )
    return replace(
        last,
        details={**last.details, "rounds": [output.text for output in outputs]},
        rounds=rounds,
    )


def singles_of(output: Output) -> list[Output]:
    """An output of several candidates as one output for each."""
    return [output.only(place) for place in range(len(output.candidates))]


def reduce_candidates(
    scores: Sequence[Score],
    *,
    higher_is_better: bool = True,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> Score:
    """The candidates of one request as one score: the mean of their values, with all that was said of each beside it.

    One without a verdict leaves the whole without one, so that it is judged again; what the others got stays known.
    Nothing that was said of a single candidate stands for all: `answer` is there where all gave the same.
    """
    # A failed judge is asked again, so its outcome speaks for the request before any other.
    lost = sorted(
        (s for s in scores if s.outcome in UNRESOLVED),
        key=lambda s: s.outcome is not Outcome.JUDGE_ERROR,
    )
    resolved = [
        _counted(score, higher_is_better, bounds)
        for score in scores
        if score.outcome not in UNRESOLVED
    ]
    outcomes = [score.outcome for score in scores]
    outcome = (
        lost[0].outcome
        if lost
        else Outcome.SCORED
        if Outcome.SCORED in outcomes
        else outcomes[0]
    )
    details: dict[str, Any] = {"outcomes": [each.value for each in outcomes]}
    if lost:
        details.update(
            {
                name: lost[0].details[name]
                for name in ("error", "reason")
                if name in lost[0].details
            }
        )
    if any(score.answer is not None for score in scores):
        details["answers"] = [score.answer for score in scores]
    if any(isinstance(score.value, Mapping) for score in scores):
        details["values"] = [
            dict(v) if isinstance(v := score.value, Mapping) else v for score in scores
        ]
    if any(score.details for score in scores):
        details["candidates"] = [dict(score.details) for score in scores]
    answers = {score.answer for score in scores}
    return Score(
        None if lost else _mean(resolved),
        outcome,
        answers.pop() if len(answers) == 1 else None,
        details,
        tuple(_first(score.value) for score in scores),
    )


def _counted(
    score: Score, higher_is_better: bool, bounds: tuple[float, float] | None
) -> float | Mapping[str, float] | None:
    """The value a candidate has in the mean of its request: the worst there is, for one that could not be read.

    Of several named values those that are not 0 stand: their rule did read it.
    """
    if score.outcome not in COUNTED_AS_ZERO:
        return score.value
    if bounds is not None:
        worst: float | None = bounds[0] if higher_is_better else bounds[1]
    else:
        worst = 0.0 if higher_is_better else None
    if isinstance(score.value, Mapping) and worst is not None:
        return {name: number or worst for name, number in score.value.items()}
    return worst


def _mean(
    values: Sequence[float | Mapping[str, float] | None],
) -> float | dict[str, float] | None:
    """The mean of each named value over the candidates that have it; a lone number counts for all names."""
    names = dict.fromkeys(
        name for value in values if isinstance(value, Mapping) for name in value
    )
    if not names:
        numbers = [value for value in values if isinstance(value, (int, float))]
        return sum(numbers) / len(numbers) if numbers else None
    columns = {
        name: [
            value.get(name) if isinstance(value, Mapping) else value for value in values
        ]
        for name in names
    }
    series = {
        name: [n for n in column if n is not None] for name, column in columns.items()
    }
    return {
        name: sum(column) / len(column) for name, column in series.items() if column
    }


def _first(value: float | Mapping[str, float] | None) -> float | None:
    """The single value, or the first of several, as records have it."""
    return next(iter(value.values()), None) if isinstance(value, Mapping) else value
