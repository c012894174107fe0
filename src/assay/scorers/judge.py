"""A model as judge: of one answer on a scale, or of two answers in both orders.

The judge is a model the scorer is *given* under the role `judge`. Its failure, or a reply without a verdict, is
`judge_error` and never a score. Pictures that were made are shown to the judge as pictures.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

from ..core import (
    DEFAULT_OPTIONS,
    EMPTY,
    Audio,
    DataError,
    Media,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    UsageError,
)
from ..core.media import MEDIA_KINDS, decode_base64
from ..registry import scorers
from .answers import no_answer, no_target, shown
from .given_models import ask_model
from .judge_prompts import PAIR_SCALE, SCALES, Scale, TemplateName, pair_prompt, prompt_hash, single_prompt
from .judge_verdict import NoVerdict, read_verdict

JUDGE_OPTIONS = DEFAULT_OPTIONS.set(temperature=0.0, response_format="json")
MADE_KINDS = ("image", "audio", "video")


@scorers.register("judge")
@dataclass(frozen=True)
class Judge:
    """A judge's rating of one answer, as given: on a scale of whole numbers, or 1 for yes and 0 for no."""

    scale: str = "1-5"
    """`0-5`, `0-10`, `1-5`, `1-10` or `yes-no`."""
    template: TemplateName = "direct"
    """`direct`; `rubric` with `criteria`; `reference` shows the target as the right answer."""
    criteria: str = ""
    expects: str = ""
    """`image` or `audio`: an answer without one is unreadable and not put to the judge."""
    shows_question: bool = False
    """Whether the judge sees the media of the question too, as it must to judge an edit."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """How the judge is asked, over temperature 0 and JSON replies."""
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise UsageError(f"scorer 'judge' has no scale {self.scale!r}", fix=f"one of {', '.join(SCALES)}")
        _check_template("judge", self.template, self.criteria)
        _check_kind("judge", self.expects)
        JUDGE_OPTIONS.set(**self.options)

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

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if silence := no_answer(output):
            return silence
        if self.template == "reference" and not sample.targets:
            return no_target(sample)
        if self.expects and not any(medium.kind == self.expects for medium in output.media):
            return Score(0.0, Outcome.UNPARSED, details={"reason": f"no {self.expects} in the output"})
        scale = SCALES[self.scale]
        question, answer = question_of(sample), output.text
        # A recording is not a text to compare with.
        reference = "" if any(isinstance(one, Media) for one in sample.targets) else "\nor\n".join(shown(sample))
        given, made = sample.media if self.shows_question else (), shown_media(output)
        prompt = single_prompt(
            self.template,
            scale,
            sample.id,
            question,
            answer,
            criteria=self.criteria,
            reference=reference,
            given=given,
            made=made,
        )
        has_media = bool(given or made)
        details: dict[str, Any] = {
            "prompt": prompt_hash(self.template, scale, self.criteria, pairwise=False, has_media=has_media)
        }
        if made:
            details["shown"] = [medium.digest for medium in made]
        try:
            verdict, reply = await _ask(self.models, prompt, self.options, scale, (question, answer, reference))
        except _JudgeFailure as failure:
            return _judge_error(details, failure)
        low, high = self.bounds
        value = float(verdict == "yes") if isinstance(verdict, str) else float(verdict)
        normalized = (value - low) / (high - low)
        return Score(value, answer=answer, details={**details, "reply": reply, "normalized": normalized})


@scorers.register("pairwise_judge")
@dataclass(frozen=True)
class PairwiseJudge:
    """1 if the judge prefers the answer to the one it is held against in both orders, 0 if it twice prefers the other.

    Anything else is a tie, 0.5: a preference that turns with the order is none.
    """

    against: str = "target"
    """The column with the other answer, a text or a medium; `target` takes the sample's target."""
    template: TemplateName = "direct"
    criteria: str = ""
    expects: str = ""
    """`image` or `audio`: what both answers are; base64 in the column is then read as one."""
    shows_question: bool = False
    """Whether the judge sees the media of the question too."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    best_mark: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        _check_template("pairwise_judge", self.template, self.criteria)
        if self.template == "reference" and self.against == "target":
            raise UsageError(
                "scorer 'pairwise_judge' cannot hold answers against the target and show it as reference",
                fix="name the column of the other answer in `against`",
            )
        _check_kind("pairwise_judge", self.expects)
        JUDGE_OPTIONS.set(**self.options)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if silence := no_answer(output):
            return silence
        # A picture is not a text to compare with.
        targets = () if any(isinstance(one, Media) for one in sample.targets) else shown(sample)
        other = self._other(sample)
        if other is None:
            kind = self.expects or "text or medium"
            return no_target(sample, f"{kind} in column {self.against!r}" if self.against != "target" else "target")
        if self.template == "reference" and not targets:
            return no_target(sample)
        answer = Shown(output.text, shown_media(output))
        if self.expects and not any(medium.kind == self.expects for medium in answer.media):
            return Score(0.0, Outcome.UNPARSED, details={"reason": f"no {self.expects} in the output"})
        given = sample.media if self.shows_question else ()
        has_media = bool(given or answer.media or other.media)
        wording = prompt_hash(self.template, PAIR_SCALE, self.criteria, pairwise=True, has_media=has_media)
        details: dict[str, Any] = {"prompt": wording}
        if answer.media or other.media:
            details["shown"] = {"answer": answer.digests, "other": other.digests}
        try:
            verdicts, replies = await self._both_orders(sample, answer, other, "\nor\n".join(targets), given)
        except _JudgeFailure as failure:
            return _judge_error(details, failure)
        return Score(
            {("A", "A"): 1.0, ("B", "B"): 0.0}.get(verdicts, 0.5),
            answer=output.text,
            details={
                **details,
                "verdicts": list(verdicts),
                "consistent": verdicts[0] == verdicts[1],
                "replies": replies,
            },
        )

    def _other(self, sample: Sample) -> "Shown | None":
        """The other answer; `None` where the row has none that can be shown."""
        other = sample.fields.get(self.against)
        if self.against == "target":
            first = next(iter(sample.targets), None)
            other = first if isinstance(first, Media) else next(iter(shown(sample)), None)
        if isinstance(other, Media):
            return Shown("", (other,))
        if not isinstance(other, str):
            return None
        if not self.expects:
            return Shown(other, ())
        try:
            # Never a path: a row must not choose which of our files a judge is shown.
            data = decode_base64(other.rpartition(",")[2], what=self.expects)
        except DataError:
            return None
        return Shown("", (MEDIA_KINDS[self.expects](data),))

    async def _both_orders(
        self, sample: Sample, answer: "Shown", other: "Shown", reference: str, given: Sequence[Media]
    ) -> tuple[tuple[str, str], list[str]]:
        """The winner seen from the answer ("A") and the other ("B"), shown first and shown second."""
        question = question_of(sample)
        judged = (question, answer.text, other.text, reference)

        async def ask(first: Shown, second: Shown) -> tuple[int | str, str]:
            prompt = pair_prompt(
                self.template,
                sample.id,
                question,
                first.text,
                second.text,
                criteria=self.criteria,
                reference=reference,
                given=given,
                made=(first.media, second.media),
            )
            return await _ask(self.models, prompt, self.options, PAIR_SCALE, judged)

        forward, backward = await asyncio.gather(ask(answer, other), ask(other, answer), return_exceptions=True)
        for result in (forward, backward):
            if isinstance(result, BaseException):
                raise result
        assert not isinstance(forward, BaseException) and not isinstance(backward, BaseException)
        swapped = {"A": "B", "B": "A", "tie": "tie"}
        return (str(forward[0]), swapped[str(backward[0])]), [forward[1], backward[1]]


@dataclass(frozen=True, slots=True)
class Shown:
    """One of two answers, as a judge is shown it."""

    text: str
    media: tuple[Media, ...]

    @property
    def digests(self) -> list[str]:
        """Its media by name."""
        return [medium.digest for medium in self.media]


class _JudgeFailure(Exception):
    """Why there is no verdict, and what the judge said."""

    def __init__(self, reason: str, reply: str = "") -> None:
        super().__init__(reason)
        self.reason, self.reply = reason, reply


async def _ask(
    models: Mapping[str, Any], prompt: Prompt, options: Mapping[str, Any], scale: Scale, judged: tuple[str, ...]
) -> tuple[int | str, str]:
    try:
        reply = await ask_model(models, "judge", prompt, JUDGE_OPTIONS.set(**options))
    except ModelError as error:
        raise _JudgeFailure(str(error)) from error
    try:
        return read_verdict(reply.text, scale, judged), reply.text
    except NoVerdict as error:
        raise _JudgeFailure(str(error), reply.text) from error


def shown_media(output: Output) -> tuple[Media, ...]:
    """What a judge must see or hear of an answer: its pictures and films always, its sounds where no text says it."""
    return tuple(m for m in output.media if not isinstance(m, Audio) or not output.text.strip())


def question_of(sample: Sample) -> str:
    """The question as a judge reads it: the text of its messages, with their roles where there are several."""
    if isinstance(sample.input, str):
        return sample.input
    spoken = [message for message in sample.input if message.parts is not None]
    if len(spoken) == 1:
        return spoken[0].text
    return "\n".join(f"{message.role}: {message.text}" for message in spoken)


def _judge_error(details: Mapping[str, Any], failure: _JudgeFailure) -> Score:
    return Score(
        None, Outcome.JUDGE_ERROR, details={**details, "reason": failure.reason, "reply": failure.reply[:2000]}
    )


def _check_kind(scorer: str, expects: str) -> None:
    if expects and expects not in MADE_KINDS:
        raise UsageError(f"scorer {scorer!r} expects no {expects!r}", fix=f"one of {', '.join(MADE_KINDS)}")


def _check_template(scorer: str, template: str, criteria: str) -> None:
    known = get_args(TemplateName)
    if template not in known:
        raise UsageError(f"scorer {scorer!r} has no template {template!r}", fix=f"one of {', '.join(known)}")
    if (template == "rubric") != bool(criteria):
        fix = "write them in `criteria`" if template == "rubric" else "set template: rubric"
        what = "needs criteria" if template == "rubric" else "has criteria that its template does not show"
        raise UsageError(f"scorer {scorer!r} {what}", fix=fix)
