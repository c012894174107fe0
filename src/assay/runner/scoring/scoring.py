"""Apply one scorer to the output for one sample.

A model that gave no answer is `model_error`, never a wrong answer. If a scorer raises,
or returns no number for an answer that it calls `scored`, the outcome is `judge_error`.
An unreadable answer that was cut by the token limit is `truncated`. An answer that a
content filter removed completely is `refused`, whatever the scorer returns. Reasoning
without an answer is `truncated` if it was cut, otherwise `unparsed`.

Several candidates are scored one by one and stored in one record;
`summarizers.attempts` explains how they are combined. If the score of one candidate
failed, the next run scores the record again.
"""

import inspect
import math
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from threading import get_ident
from typing import Any

from ...code.fingerprint import code_digest
from ...core import (
    CHOICE_ORDER,
    COUNTED_AS_ZERO,
    EMPTY,
    ORIGINAL_LETTER,
    UNRESOLVED,
    ErrorBudgetExceeded,
    ErrorInfo,
    GenerateOptions,
    Outcome,
    Output,
    Prompt,
    Round,
    Sample,
    Score,
    StoreError,
    UsageError,
    as_score,
    blamed,
    shorten,
)
from ...core.errors import ScorerError, users_definition, users_line
from ...core.message import plain_turns
from ...core.output import LIMIT
from ...core.score import Bounds, ValueScale, named_values
from ...core.secrets import scrub
from ...datasets.choices import LETTERS
from ...scorers.answers import reasoned_only, was_filtered
from ...scorers.given_models import GivenModel
from ...store import ScoreLine
from .guard import GUARD, ScorerOverrun


@dataclass(slots=True)
class Scoring:
    """A scorer with everything that is needed to apply it in one task with one model."""

    name: str
    scorer: Any
    task: str
    model: str
    digest: str = ""
    is_async: bool = False
    is_slow: bool = False
    """True if the scorer blocks for long, so that it must run in a separate thread."""
    is_set_level: bool = False
    whole_output: bool = False
    summarizers: tuple[Any, ...] = ("mean",)
    scale: ValueScale = field(default_factory=ValueScale)
    """Direction and bounds of the scorer's values."""
    roles: tuple[str, ...] = ()
    """Roles of the helper models, such as `judge`, that the scorer calls."""
    takes_calls: bool = False
    """True if the task has tools, so that a tool call may be part of an answer."""
    reads: tuple[str, ...] = ()
    """The parts of an output that the scorer needs, such as `text`; empty if the scorer does not declare them."""

    @classmethod
    def of(
        cls,
        name: str,
        scorer: object,
        task: str,
        model: str,
    ) -> "Scoring":
        """Create an instance from a scorer and the attributes that it declares."""
        call = scorer
        if not inspect.isroutine(scorer):
            call = getattr(scorer, "__call__", None)  # noqa: B004
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
            scale=ValueScale.declared_by(scorer, f"scorer {name!r}"),
            roles=tuple(getattr(scorer, "needs", ())),
            reads=tuple(getattr(scorer, "reads", ())),
        )

    def given(self, models: Mapping[str, Any]) -> "Scoring":
        """Return a copy in which the scorer can call these helper models, given by role."""
        if not self.roles:
            return self
        self.check_takes_models()
        return replace(self, scorer=replace(self.scorer, models=models))

    def check_takes_models(self, where: str | None = None) -> None:
        """Raise if helper models cannot be put into the scorer's field `models`."""
        if not takes_models(self.scorer):
            raise UsageError(
                f"scorer {self.name!r} names helper models but has no field `models` to be given them in",
                where=where,
                fix="make it a dataclass with the field `models: Mapping[str, Any] = field(default_factory=dict)`",
            )

    def score(self, sample: Sample, output: Output) -> Score:
        """Return the score of one output from a synchronous scorer."""
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
        """Score one candidate. Errors of the scorer become `judge_error`."""
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
        return self._ended(score, sample, output, outcome_without_answer(output))

    def _ended(
        self,
        score: Score,
        sample: Sample,
        output: Output,
        missing: Outcome | None,
    ) -> Score:
        """Adjust a score if the sample ended at a limit, has no answer, or calls a tool that does not exist."""
        if CHOICE_ORDER in sample.fields:
            score = _with_original_letter(score, sample.fields[CHOICE_ORDER])
        if output.details.get(LIMIT) is not None:
            return self._limited(score, Outcome(output.details[LIMIT]))
        if missing is not None:
            return score_without_answer(score, missing)
        return self._without_tools(score, sample, output)

    def _limited(self, score: Score, limit: Outcome) -> Score:
        """Return the score with the outcome of a limit that ended the sample. The value counts as usual."""
        if score.outcome in UNRESOLVED:
            return score
        value: Any = _counted(score, self.scale)
        return replace(score, value=value, outcome=limit)

    def _without_tools(
        self,
        score: Score,
        sample: Sample,
        output: Output,
    ) -> Score:
        """Return `unparsed` for an answer that is only a tool call in a task without tools, or else the score."""
        calls = output.last_calls
        if not calls or self.takes_calls or sample.tools or output.text.strip():
            return score
        if score.outcome is Outcome.DATA_ERROR:
            return score
        named = ", ".join(shorten(call.text) for call in calls[:3])
        return Score.unparsed(reason=f"called a tool, and the task has none: {named}")

    def score_async(
        self,
        sample: Sample,
        output: Output,
    ) -> Coroutine[Any, Any, Score]:
        """Return the coroutine that scores one output with an asynchronous scorer, such as a judge."""
        if (
            len(output.candidates) > 1
            and not self.whole_output
            and output.error is None
        ):
            return self._score_each_async(sample, output)
        return self._score_one_async(sample, output)

    async def _score_each_async(self, sample: Sample, output: Output) -> Score:
        """Score each candidate of an output with an asynchronous scorer, and combine their scores."""
        scores = []
        for single in singles_of(output):
            scores.append(await self._score_one_async(sample, single))
        return self._together(scores)

    async def _score_one_async(self, sample: Sample, output: Output) -> Score:
        """Score one candidate with an asynchronous scorer. Errors of the scorer become `judge_error`."""
        if output.error is not None:
            return failure_score(output.error)
        missing = outcome_without_answer(output)
        scorer = self.scorer
        if missing is not None:
            # The scorer may still count that the answer is missing, for which it needs no helper.
            scorer = self.given({role: NoHelper(role) for role in self.roles}).scorer
        try:
            score = self._settle(as_score(await scorer(sample, output)), output)
        except (StoreError, ErrorBudgetExceeded):
            raise  # the journal cannot be written, or the judge fails too often for this run
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary to other people's scorers: becomes judge_error
            score = self.broken(error, sample)
        return self._ended(score, sample, output, missing)

    def _together(self, scores: Sequence[Score]) -> Score:
        return reduce_candidates(scores, self.scale)

    @property
    def higher_is_better(self) -> bool:
        """True if higher values are better. A named value may have a different direction."""
        return self.scale.higher_is_better

    @property
    def bounds(self) -> Bounds:
        """Lowest and highest possible value. A named value may have different bounds."""
        return self.scale.bounds

    def broken(self, error: BaseException, sample: Sample) -> Score:
        """Return the score recorded for an answer on which the scorer failed."""
        described = str(blamed(ScorerError, error, f"scorer {self.name!r}", sample.id))
        if not users_line(error):
            # What it returned was wrong, or it could not be called.
            described += users_definition(self.scorer)
        described = scrub(described)
        return Score(None, Outcome.JUDGE_ERROR, details={"error": described})

    def overrun(self, sample: Sample) -> Score:
        """Return the score recorded for an answer on which the scorer exceeded its time limit."""
        error = ScorerError(
            f"scorer {self.name!r} took more than {GUARD.seconds:g} s of CPU time on one answer",
            where=f"sample {sample.id!r}",
            fix="make it linear in the length of the answer, or allow more with --scorer_seconds",
        )
        return Score(None, Outcome.JUDGE_ERROR, details={"error": scrub(str(error))})

    def line(
        self,
        sample: Sample,
        score: Score,
        epoch: int,
        order: int,
        judged_by: str,
    ) -> ScoreLine:
        """Convert a score to its journal line.

        `judged_by` is the digest of the sample fields that the scorer reads.
        """
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
            sample.weight,
        )

    @staticmethod
    def _settle(score: Score, output: Output) -> Score:
        """Check that the values of a score are finite, and return it with its final outcome.

        An unreadable answer that was cut by the token limit becomes `truncated`.
        """
        value = score.value
        for number in value.values() if isinstance(value, Mapping) else (value,):
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"the score is {number}, which is not a number to count with"
                )
        if score.outcome is Outcome.UNPARSED and output.stop_reason == "length":
            return replace(score, outcome=Outcome.TRUNCATED)
        return score


def takes_models(scorer: object) -> bool:
    """Return True if the scorer is a dataclass with a field `models`, which can receive helper models."""
    if not is_dataclass(scorer) or isinstance(scorer, type):
        return False
    return any(option.name == "models" and option.init for option in fields(scorer))


class NoHelper(GivenModel):
    """Replaces a helper model while an output without an answer is scored. Every call fails."""

    def __init__(self, role: str) -> None:
        self.role = role

    async def answer(
        self,
        prompt: Prompt,
        options: GenerateOptions | None = None,
    ) -> Output:
        """Return an error output."""
        return Output.failed(
            "exception",
            "there is no answer to judge",
            retryable=False,
        )


def outcome_without_answer(output: Output) -> Outcome | None:
    """Return the outcome of an output without an answer; `None` if it has one.

    A content filter may have removed all of it (`refused`), or the model may only have reasoned. An empty text is
    an answer.
    """
    if was_filtered(output):
        return Outcome.REFUSED
    if not reasoned_only(output):
        return None
    was_cut = output.stop_reason == "length"
    return Outcome.TRUNCATED if was_cut else Outcome.UNPARSED


def score_without_answer(score: Score, outcome: Outcome) -> Score:
    """Return the score of an output without an answer, with the details that the scorer returned.

    If the outcome is `data_error`, it is kept. The value is kept only if the scorer
    itself noticed the missing answer, because its value then has the names of all
    metrics.
    """
    if score.outcome is Outcome.DATA_ERROR:
        return score
    is_silence = score.outcome in COUNTED_AS_ZERO and score.value is not None
    details = {} if score.outcome in UNRESOLVED else score.details
    value = score.value if is_silence else 0.0
    is_refused = outcome is Outcome.REFUSED
    reason = "content_filter" if is_refused else "reasoning without an answer"
    return Score(value, outcome, details={"reason": reason, **details})


def failure_score(error: ErrorInfo) -> Score:
    """Return the score of a failed request: `data_error` if the row could not be decoded, or else `model_error`."""
    if error.kind == "data":
        return Score(None, Outcome.DATA_ERROR, details={"error": error.message})
    return Score(
        None,
        Outcome.MODEL_ERROR,
        details={"error": f"{error.kind}: {error.message}"},
    )


def _with_original_letter(score: Score, order: str) -> Score:
    """If an answer is the letter of a shuffled option, add the letter that this option has in the data to the score.

    `order` has the original letters of the shuffled options. Votes over epochs are then
    counted by option, not by position.
    """
    letters = dict(zip(LETTERS, order, strict=False))
    letter = (score.answer or "").strip(" ().").upper()
    if letter not in letters:
        return score
    details = {**score.details, ORIGINAL_LETTER: letters[letter]}
    return replace(score, details=details)


def with_rounds(
    outputs: Sequence[Output],
    prompts: Sequence[Sequence[Mapping[str, Any]]],
) -> Output:
    """Return the last answer of a dialogue together with all rounds, for scorers that read them.

    `prompts` are in the form of the journal.
    """
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
    """Split an output with several candidates into one output per candidate."""
    return [output.only(index) for index in range(len(output.candidates))]


def reduce_candidates(
    scores: Sequence[Score],
    scale: ValueScale = ValueScale(),
) -> Score:
    """Combine the scores of a request's candidates: the mean of their values, with the details of each.

    If a candidate has no score, the result has none, so that the next run scores it
    again. The scores of the others are kept in the details. `answer` is set only if it
    is the same for all candidates.
    """
    # A failed judge is asked again, so its outcome takes precedence.
    lost = sorted(
        (s for s in scores if s.outcome in UNRESOLVED),
        key=lambda s: s.outcome is not Outcome.JUDGE_ERROR,
    )
    resolved = [
        _counted(score, scale) for score in scores if score.outcome not in UNRESOLVED
    ]
    outcomes = [score.outcome for score in scores]
    if lost:
        outcome = lost[0].outcome
    elif Outcome.SCORED in outcomes:
        outcome = Outcome.SCORED
    else:
        outcome = outcomes[0]
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
    candidates = tuple(_first(score.value) for score in scores)
    if len(answers) == 1:
        answer = answers.pop()
    else:
        answer = None
    return Score(
        None if lost else _mean(resolved),
        outcome,
        answer,
        details,
        candidates,
    )


def _counted(
    score: Score,
    scale: ValueScale,
) -> float | Mapping[str, float | None] | None:
    """Return the value of a candidate for the mean; the worst possible value if the answer was unreadable.

    If an unreadable answer has named values, those other than 0 are kept, because the
    scorer could read them.
    """
    if score.outcome not in COUNTED_AS_ZERO:
        return score.value
    if isinstance(score.value, Mapping):
        return {
            name: number or scale.of(name).worst for name, number in score.value.items()
        }
    if scale.names:
        return {name: scale.of(name).worst for name in scale.names}
    return scale.worst


def _mean(
    values: Sequence[float | Mapping[str, float | None] | None],
) -> float | dict[str, float] | None:
    """Average the values of candidates; with named values, average each name separately.

    A candidate with a single number counts with this number for every name. Return None
    if no candidate has a value.
    """
    names = dict.fromkeys(
        name for value in values if isinstance(value, Mapping) for name in value
    )
    if not names:
        numbers = [value for value in values if isinstance(value, (int, float))]
        if numbers:
            return sum(numbers) / len(numbers)
        return None
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
    """Return the value, or the first of several."""
    if isinstance(value, Mapping):
        return next(iter(value.values()), None)
    return value
