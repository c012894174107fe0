"""A model as judge of one answer, on a scale.

The judge is a model the scorer is *given* under the role `judge`. Its failure, or a reply without a verdict, is
`judge_error` and never a score. Media that were made are shown to the judge as media. Of a dialogue it sees the whole
conversation; `rounds: all` has it grade the answer of every round.
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
    Media,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
)
from ...core.media import MEDIA_KINDS
from ...registry import scorers
from ..answers import no_answer, no_target, no_verdict
from ..given_models import GivenModels, ask_model
from ..options import check_option
from .exchange import Exchange, Rounds, exchanges, question_media, shown_media
from .judge_prompts import (
    SCALES,
    JudgeTemplate,
    Scale,
    prompt_hash,
    single_prompt,
    template_for,
)
from .judge_verdict import NoVerdict
from .judge_wording import OwnPrompt, check_wording, prompt_text, read_reply

JUDGE_OPTIONS = DEFAULT_OPTIONS.set(temperature=0.0, response_format="json")


@dataclass(frozen=True, kw_only=True)
class ModelAsJudge(GivenModels, ABC):
    """What a judge of one answer and a judge of two have in common: how they are asked, and about which rounds."""

    template: JudgeTemplate = "direct"
    """`direct`; `rubric` with `criteria`; `reference` shows the target as the right answer; `auto` does so where there
    is one."""
    criteria: str = ""
    prompt: Any = ""
    """A prompt of your own in place of the template's: Jinja text, a text file, or `{system: …, user: …}`."""
    verdict: str = "json"
    r"""How the reply is read: `json`, or a pattern with one group, as `\[\[(\d+)\]\]` or `\[\[([ABC])\]\]`, whose last
    match counts; `C` is a tie."""
    rounds: Rounds = "last"
    """Which answers of a dialogue are judged: the `last`, or `all`, with `overall` their mean."""
    expects: str = ""
    """`image` or `audio`: an answer without one is unreadable and not put to the judge. Base64 in the column of the
    other answer is then read as one."""
    shows_question: bool = False
    """Whether the judge sees the media of the question too, as it must to judge an edit."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """How the judge is asked, over temperature 0 and JSON replies."""
    reads: ClassVar[tuple[str, ...]] = ("answer",)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
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

    @cached_property
    def _own(self) -> OwnPrompt | None:
        scorer = "pairwise_judge" if self.is_pairwise else "judge"
        return (
            OwnPrompt(scorer, self.prompt, pairwise=self.is_pairwise)
            if self.prompt
            else None
        )

    async def __call__(self, sample: Sample, output: Output) -> Score:
        judged = exchanges(sample, output, self.rounds)
        scores = await asyncio.gather(
            *(self.score_round(sample, exchange) for exchange in judged)
        )
        return (
            scores[0] if self.rounds == "last" else over_rounds(scores, self.bounds[0])
        )

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """The ends of the scale."""

    @abstractmethod
    async def score_round(self, sample: Sample, exchange: Exchange) -> Score:
        """The verdict on the answer of one round."""

    def not_judged(
        self,
        sample: Sample,
        exchange: Exchange,
        media: Sequence[Media],
        lacks: str = "",
    ) -> Score | None:
        """The score of an answer that is not put to the judge; `None` for one that is.

        `media` are those among which the expected one must be, `lacks` is what the row would need beside its target.
        """
        if silence := no_answer(exchange.output):
            return silence
        has_reference = exchange.reference or (sample.targets and not self.is_pairwise)
        if lacks or (self.template == "reference" and not has_reference):
            return no_target(sample, lacks or "target")
        if self.expects and not any(medium.kind == self.expects for medium in media):
            return Score.unparsed(reason=f"no {self.expects} in the output")
        return None

    def wording(self, scale: Scale, exchange: Exchange, *, has_media: bool) -> str:
        """Names what the judge is told, apart from what it judges."""
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
    """A judge's rating of one answer, as given: on a scale of whole numbers, or 1 for yes and 0 for no."""

    scale: str = "1-5"
    """`0-5`, `0-10`, `1-5`, `1-10` or `yes-no`."""

    def __post_init__(self) -> None:
        check_option("judge", "scale", self.scale, SCALES)
        super().__post_init__()

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of the scale."""
        if self.scale == "yes-no":
            return 0.0, 1.0
        values = [float(value) for value in SCALES[self.scale].values]
        return values[0], values[-1]

    @property
    def best_mark(self) -> float:
        """What an answer that demands the best rating would have to get."""
        return self.bounds[1]

    async def score_round(self, sample: Sample, exchange: Exchange) -> Score:
        """The judge's rating of the answer of one round."""
        if (
            score := self.not_judged(sample, exchange, exchange.output.media)
        ) is not None:
            return score
        output = exchange.output
        prompt, details = self._ask_for(sample, exchange)
        judged = (exchange.question, output.text, *exchange.references)
        try:
            verdict, reply = await ask_judge(
                self.models,
                prompt,
                self.options,
                SCALES[self.scale],
                judged,
                self.verdict,
            )
        except JudgeFailure as failure:
            return judge_error(details, failure)
        low, high = self.bounds
        value = float(verdict == "yes") if isinstance(verdict, str) else float(verdict)
        normalized = (value - low) / (high - low)
        return Score(
            value,
            answer=output.text,
            details={**details, "reply": reply, "normalized": normalized},
        )

    def _ask_for(
        self, sample: Sample, exchange: Exchange
    ) -> tuple[Prompt, dict[str, Any]]:
        """What the judge is asked, and what the record says of it."""
        scale, template = SCALES[self.scale], template_for(self.template, exchange)
        context, answer_media = (
            question_media(sample) if self.shows_question else (),
            shown_media(exchange.output),
        )
        if self._own is not None:
            prompt = self._own.single(
                scale, sample, exchange, self.criteria, context, self.verdict == "json"
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
                scale, exchange, has_media=bool(context or answer_media)
            )
        }
        if answer_media:
            details["shown"] = [medium.digest for medium in answer_media]
        return prompt, details


class JudgeFailure(Exception):
    """Why there is no verdict, and what the judge said."""

    def __init__(self, reason: str, reply: str = "") -> None:
        super().__init__(reason)
        self.reason, self.reply = reason, reply


async def ask_judge(
    models: Mapping[str, Any],
    prompt: Prompt,
    options: Mapping[str, Any],
    scale: Scale,
    judged: tuple[str, ...],
    verdict: str = "json",
) -> tuple[float | int | str, str]:
    """The judge's verdict and its whole reply; `JudgeFailure` where there is none."""
    try:
        reply = await ask_model(
            models, "judge", prompt, judge_options(verdict, options)
        )
    except ModelError as error:
        raise JudgeFailure(str(error)) from error
    try:
        return read_reply(reply.text, scale, judged, verdict), reply.text
    except NoVerdict as error:
        raise JudgeFailure(str(error), reply.text) from error


def judge_options(verdict: str, options: Mapping[str, Any]) -> Any:
    """How a judge is asked: at temperature 0, for JSON unless its reply is read by a pattern."""
    base = (
        JUDGE_OPTIONS if verdict == "json" else JUDGE_OPTIONS.set(response_format=None)
    )
    return base.set(**options)


def over_rounds(scores: Sequence[Score], lowest: float) -> Score:
    """The verdicts on all rounds of a dialogue as one score: `overall` is their mean, `round_1` the first's value.

    A round that could not be judged leaves the whole without a value, so that it is judged again; one in which nothing
    was said counts as the lowest mark.
    """
    verdicts = [{"outcome": score.outcome.value, **score.details} for score in scores]
    failed = next((score for score in scores if score.outcome in UNRESOLVED), None)
    if failed is not None:
        reasons = {
            name: failed.details[name]
            for name in ("reason", "reply")
            if name in failed.details
        }
        return Score(None, failed.outcome, details={**reasons, "rounds": verdicts})
    marks = [
        score.value if score.outcome is Outcome.SCORED else lowest for score in scores
    ]
    values = [float(mark) for mark in marks if isinstance(mark, (int, float))]
    named = {"overall": sum(values) / len(values)} | {
        f"round_{number}": one for number, one in enumerate(values, 1)
    }
    spoken = any(score.outcome is Outcome.SCORED for score in scores)
    replies = [score.details.get("reply", "") for score in scores]
    outcome = Outcome.SCORED if spoken else scores[-1].outcome
    return Score(
        named,
        outcome,
        answer=scores[-1].answer,
        details={"rounds": verdicts, "replies": replies},
    )


def judge_error(details: Mapping[str, Any], failure: JudgeFailure) -> Score:
    """The score of an answer whose judge gave no verdict."""
    return no_verdict(failure.reason, **details, reply=failure.reply[:2000])
