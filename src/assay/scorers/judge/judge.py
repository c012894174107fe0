"""The scorer `judge`: a model rates or grades one answer.

The run provides the judge model under the role `judge`. If the judge fails or replies
without a verdict, the outcome of the sample is `judge_error`. Generated images and
audio are sent to the judge as media. In a dialogue it gets the whole conversation. With
`rounds: all` it grades the answer of every round.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, get_args

from ...core import (
    DEFAULT_OPTIONS,
    EMPTY,
    UNRESOLVED,
    GenerateOptions,
    Media,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    UsageError,
)
from ...core.media import MEDIA_KINDS
from ...registry import scorers
from ..answers import no_answer, no_target, no_verdict
from ..given_models import GivenModels, ask_model
from ..scorer_options import check_option
from .exchange import Exchange, Rounds, exchanges, question_media, shown_media
from .judge_grades import Grades
from .judge_prompts import (
    SCALES,
    JudgeTemplate,
    Scale,
    prompt_hash,
    single_prompt,
    template_for,
)
from .judge_wording import NoVerdict, OwnPrompt, check_wording, prompt_text, read_reply

JUDGE_OPTIONS = DEFAULT_OPTIONS.set(temperature=0.0, response_format="json")


@dataclass(frozen=True, kw_only=True)
class ModelAsJudge(GivenModels, ABC):
    """Base of the scorers in which a judge grades one answer or compares two: it
    handles prompts, replies and rounds.
    """

    template: JudgeTemplate = "direct"
    """The template of the prompt: `direct`; `rubric` with `criteria`; `reference`,
    which contains the target as the right answer; or `auto`, which is `reference`
    for samples with a target and `direct` for others.
    """
    criteria: str = ""
    prompt: Any = ""
    """A prompt to use instead of the template: Jinja text, a text file, or `{system: …, user: …}`."""
    verdict: str = "json"
    r"""How the reply is read: `json`, or a pattern with one group, such as `\[\[(\d+)\]\]` or `\[\[([ABC])\]\]`.

    The last match of the pattern is used; `C` is a tie.
    """
    rounds: Rounds = "last"
    """Which answers of a dialogue are judged: only the `last`, or `all`. With `all`, `overall` is their mean."""
    expects: str = ""
    """`image` or `audio`: an answer without such a medium is unparsed and not sent to the judge.

    In a comparison, the column with the second answer may contain such a medium as
    base64.
    """
    shows_question: bool = False
    """Whether media of the question are also sent to the judge, such as the original image of an edit."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Generation options of the judge. They override the defaults: temperature 0 and JSON replies."""
    role: str = "judge"
    """The role of the judge: `--judge ROLE=MODEL`. If a task has several judges, each needs a different role."""
    reads: ClassVar[tuple[str, ...]] = ("answer",)
    is_pairwise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        scorer = "pairwise_judge" if self.is_pairwise else "judge"
        object.__setattr__(self, "prompt", prompt_text(scorer, self.prompt))
        check_wording(scorer, self.template, self.criteria, self.prompt, self.verdict)
        check_option(scorer, "rounds", self.rounds, get_args(Rounds))
        if self.expects:
            check_option(scorer, "expects", self.expects, MEDIA_KINDS)
        judge_options(self.verdict, self.options)
        _ = self._own

    @property
    def needs(self) -> tuple[str, ...]:
        """The roles of the helper models: only `role`, the judge."""
        return (self.role,)

    @cached_property
    def _own(self) -> OwnPrompt | None:
        scorer = "pairwise_judge" if self.is_pairwise else "judge"
        if self.prompt:
            return OwnPrompt(scorer, self.prompt, pairwise=self.is_pairwise)
        return None

    async def __call__(self, sample: Sample, output: Output) -> Score:
        judged = exchanges(sample, output, self.rounds)
        scores = await asyncio.gather(
            *(self.score_round(sample, exchange) for exchange in judged)
        )
        if self.rounds == "last":
            return scores[0]
        return over_rounds(scores, self.bounds[0])

    @property
    @abstractmethod
    def bounds(self) -> Any:
        """The lowest and highest value that a score can have."""

    @abstractmethod
    async def score_round(self, sample: Sample, exchange: Exchange) -> Score:
        """Return the score for the answer of one round."""

    def not_judged(
        self,
        sample: Sample,
        exchange: Exchange,
        media: Sequence[Media],
        lacks: str = "",
    ) -> Score | None:
        """Return the score of an answer that is not sent to the judge; None if it must be sent.

        An answer is not sent if it is empty, if it lacks the expected image or audio,
        or if the row lacks something that the prompt needs. `lacks` names this.
        """
        silence = no_answer(exchange.output)
        if silence:
            return silence
        has_reference = exchange.reference or (sample.targets and not self.is_pairwise)
        if lacks or (self.template == "reference" and not has_reference):
            return no_target(sample, lacks or "target")
        if self.expects and not any(medium.kind == self.expects for medium in media):
            return Score.unparsed(reason=f"no {self.expects} in the output")
        return None

    def wording(
        self,
        scale: Scale,
        exchange: Exchange,
        *,
        has_media: bool,
    ) -> str:
        """Return a digest of the judge's instructions, excluding the texts to be judged."""
        if self._own is not None:
            return self._own.digest
        return prompt_hash(
            template_for(self.template, exchange),
            scale,
            self.criteria,
            pairwise=self.is_pairwise,
            has_media=has_media,
            is_dialogue=exchange.is_dialogue,
        )


@scorers.register("judge")
@dataclass(frozen=True)
class Judge(ModelAsJudge):
    """A judge's rating of one answer: a whole number on a scale, 1 or 0 for yes or no, or a named grade."""

    scale: str = "1-5"
    """`0-5`, `0-10`, `1-5`, `1-10` or `yes-no`."""
    grades: Any = None
    """Named grades instead of a scale, the best first.

    `{A: correct, B: incorrect, C: not_attempted}` makes each grade a metric; `{good: 1,
    poor: 0}` gives one metric; `{A: {right: 1}, B: {}}` gives the values of named
    metrics for each grade.
    """
    lower_is_better: tuple[str, ...] = ()
    """The metrics in `grades` for which lower values are better."""
    default_grade: str = ""
    """The grade for a reply that has no grade. Set it only if a published protocol does so.

    The table counts these replies. By default they are a `judge_error`.
    """

    def __post_init__(self) -> None:
        check_option("judge", "scale", self.scale, SCALES)
        lower = self.lower_is_better
        if isinstance(lower, str):
            names = (lower,)
        else:
            names = tuple(lower)
        object.__setattr__(self, "lower_is_better", names)
        _ = self._grades
        super().__post_init__()

    @cached_property
    def _grades(self) -> Grades | None:
        """The option `grades` as an object; None if answers are rated on a scale."""
        metrics: tuple[str, ...] = ()
        grades = None
        if self.grades is not None:
            grades = Grades.of(self.grades, "scorer 'judge', option `grades`")
            metrics = grades.metrics
        if self.rounds == "all" and metrics:
            raise UsageError(
                "scorer 'judge' cannot take the mean over rounds of named metrics",
                fix="give each grade one number: grades: {A: 1, B: 0}, or rounds: last",
            )
        unknown = [name for name in self.lower_is_better if name not in metrics]
        if unknown:
            raise UsageError(
                f"scorer 'judge' has no metric {unknown[0]!r} that could be lower_is_better",
                fix=f"one of {', '.join(metrics)}"
                if metrics
                else "name the metrics in `grades`",
            )
        if self.default_grade:
            names = grades.values if grades is not None else ["a name in `grades`"]
            check_option("judge", "default_grade", self.default_grade, names)
        return grades

    @property
    def reply_scale(self) -> Scale:
        """The set of replies from which the judge must choose."""
        if self._grades is None:
            return SCALES[self.scale]
        return self._grades.scale

    @property
    def bounds(self) -> Any:
        """The lowest and highest possible value. If grades have several metrics, a
        mapping with both values for each metric.
        """
        if self._grades is not None:
            return self._grades.bounds
        if self.scale == "yes-no":
            return 0.0, 1.0
        values = [float(value) for value in SCALES[self.scale].values]
        return values[0], values[-1]

    @property
    def higher_is_better(self) -> bool | Mapping[str, bool]:
        """True if higher values are better. For grades with named metrics, a mapping with one boolean per metric."""
        if self._grades is None or not self._grades.metrics:
            return True
        return {name: name not in self.lower_is_better for name in self._grades.metrics}

    @property
    def best_mark(self) -> float:
        """The best rating on the scale. Canaries demand it from the judge."""
        if self._grades is not None:
            return self._grades.best
        return float(self.bounds[1])

    async def score_round(self, sample: Sample, exchange: Exchange) -> Score:
        """Return the judge's rating of the answer of one round."""
        score = self.not_judged(sample, exchange, exchange.output.media)
        if score is not None:
            return score
        output = exchange.output
        prompt, details = self._ask_for(sample, exchange)
        try:
            verdict, reply = await ask_judge(
                self.models,
                prompt,
                self.options,
                self.reply_scale,
                self.verdict,
                self.role,
            )
        except JudgeFailure as failure:
            if not self.default_grade or not failure.has_replied:
                return judge_error(details, failure)
            verdict = self.default_grade
            reply = failure.reply
            details["default_grade"] = failure.reason
        details["reply"] = reply
        if self._grades is not None:
            grade = str(verdict)
            details["grade"] = grade
            return Score(
                self._grades.values[grade],
                answer=output.text,
                details=details,
            )
        low, high = self.bounds
        if isinstance(verdict, str):
            value = float(verdict == "yes")
        else:
            value = float(verdict)
        normalized = (value - low) / (high - low)
        return Score(
            value,
            answer=output.text,
            details={**details, "normalized": normalized},
        )

    def _ask_for(
        self,
        sample: Sample,
        exchange: Exchange,
    ) -> tuple[Prompt, dict[str, Any]]:
        """Return the prompt for the judge, and details about the prompt to store with the score."""
        scale = self.reply_scale
        template = template_for(self.template, exchange)
        if self.shows_question:
            context = question_media(sample)
        else:
            context = ()
        answer_media = shown_media(exchange.output)
        if self._own is not None:
            prompt = self._own.single(
                scale,
                sample,
                exchange,
                self.criteria,
                context,
                self.verdict == "json",
            )
        else:
            prompt = single_prompt(
                template,
                scale,
                sample.id,
                exchange,
                criteria=self.criteria,
                context=context,
            )
        details: dict[str, Any] = {
            "prompt": self.wording(
                scale,
                exchange,
                has_media=bool(context or answer_media),
            )
        }
        if answer_media:
            details["shown"] = [medium.digest for medium in answer_media]
        return prompt, details


class JudgeFailure(Exception):
    """Raised if the judge gave no verdict. It has the reason and the judge's reply."""

    def __init__(
        self,
        reason: str,
        reply: str = "",
        *,
        has_replied: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reply = reply
        self.has_replied = has_replied


async def ask_judge(
    models: Mapping[str, Any],
    prompt: Prompt,
    options: Mapping[str, Any],
    scale: Scale,
    verdict: str = "json",
    role: str = "judge",
) -> tuple[float | int | str, str]:
    """Send a prompt to the judge, and return its verdict and its whole reply. Raise `JudgeFailure` if it gives none."""
    try:
        reply = await ask_model(models, role, prompt, judge_options(verdict, options))
    except ModelError as error:
        raise JudgeFailure(str(error)) from error
    try:
        return read_reply(reply.text, scale, verdict), reply.text
    except NoVerdict as error:
        raise JudgeFailure(str(error), reply.text, has_replied=True) from error


def judge_options(
    verdict: str,
    options: Mapping[str, Any],
) -> GenerateOptions:
    """Return the judge's generation options: temperature 0, and JSON unless a pattern reads its reply."""
    if verdict == "json":
        base = JUDGE_OPTIONS
    else:
        base = JUDGE_OPTIONS.set(response_format=None)
    return base.set(**options)


def over_rounds(
    scores: Sequence[Score],
    lowest: float,
) -> Score:
    """Return the scores of all rounds of a dialogue as one score.

    `overall` is their mean, `round_1` the value of the first round. If a round could
    not be judged, the score has no value, so that a resumed run judges it again. A
    round with an empty answer gets the lowest grade.
    """
    verdicts = [{"outcome": score.outcome.value, **score.details} for score in scores]
    failed = next((score for score in scores if score.outcome in UNRESOLVED), None)
    if failed is not None:
        reasons = {}
        for name in ("reason", "reply"):
            if name in failed.details:
                reasons[name] = failed.details[name]
        return Score(None, failed.outcome, details={**reasons, "rounds": verdicts})
    marks = [
        score.value if score.outcome is Outcome.SCORED else lowest for score in scores
    ]
    values = [float(mark) for mark in marks if isinstance(mark, (int, float))]
    named = {"overall": sum(values) / len(values)} | {
        f"round_{number}": value for number, value in enumerate(values, 1)
    }
    has_answer = any(score.outcome is Outcome.SCORED for score in scores)
    replies = [score.details.get("reply", "") for score in scores]
    if has_answer:
        outcome = Outcome.SCORED
    else:
        outcome = scores[-1].outcome
    return Score(
        named,
        outcome,
        answer=scores[-1].answer,
        details={"rounds": verdicts, "replies": replies},
    )


def judge_error(
    details: Mapping[str, Any],
    failure: JudgeFailure,
) -> Score:
    """Return the `judge_error` score of an answer on which the judge gave no verdict."""
    return no_verdict(
        failure.reason,
        **details,
        reply=failure.reply[:2000],
    )
