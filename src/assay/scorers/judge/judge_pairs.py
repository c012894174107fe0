"""The scorer `pairwise_judge`: a model compares two answers, in both orders."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import DataError, Media, Output, Prompt, Sample, Score, UsageError, as_part
from ...core.media import MEDIA_KINDS, decode_base64
from ...core.output import Candidate
from ...registry import scorers
from ..answers import shown
from .exchange import Exchange, question_media, shown_media
from .judge import JudgeFailure, ModelAsJudge, ask_judge, judge_error
from .judge_prompts import PAIR_SCALE, pair_prompt, template_for

_SWAPPED = {"A": "B", "B": "A", "tie": "tie"}


@scorers.register("pairwise_judge")
@dataclass(frozen=True)
class PairwiseJudge(ModelAsJudge):
    """1 if the judge prefers the model's answer in both orders, 0 if it prefers the answer to compare with in both.

    Anything else is a tie, 0.5, because a preference that changes with the order is not
    valid.
    """

    against: str = "target"
    """The column with the other answer: a text, a medium, or for a dialogue a list with one text for each round.

    With `target`, the other answer is the sample's target.
    """
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    best_mark: ClassVar[float] = 1.0
    is_pairwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.template in ("reference", "auto") and self.against == "target":
            raise UsageError(
                "scorer 'pairwise_judge' cannot compare answers with the target and show it as reference",
                fix="name the column of the other answer in `against`",
            )
        super().__post_init__()

    async def score_round(self, sample: Sample, exchange: Exchange) -> Score:
        """Return the score for one round: which of the two answers the judge prefers."""
        output = exchange.output
        other = self._other(sample, exchange)
        media = shown_media(output)
        if other is None:
            lacks = self._lacks(sample, exchange)
        else:
            lacks = ""
        score = self.not_judged(sample, exchange, media, lacks)
        if score is not None:
            return score
        assert other is not None
        others = shown_media(other.output)
        if self.shows_question:
            context = question_media(sample)
        else:
            context = ()
        wording = self.wording(
            PAIR_SCALE,
            exchange,
            has_media=bool(context or media or others),
        )
        details: dict[str, Any] = {"prompt": wording}
        if media or others:
            details["shown"] = {"answer": _digests(media), "other": _digests(others)}
        try:
            verdicts, replies = await self._both_orders(
                sample,
                exchange,
                other,
                context,
            )
        except JudgeFailure as failure:
            return judge_error(details, failure)
        value = {("A", "A"): 1.0, ("B", "B"): 0.0}.get(verdicts, 0.5)
        is_consistent = verdicts[0] == verdicts[1]
        preference = {
            "verdicts": list(verdicts),
            "consistent": is_consistent,
            "replies": replies,
        }
        return Score(
            value,
            answer=output.text,
            details={**details, **preference},
        )

    def _other(self, sample: Sample, mine: Exchange) -> Exchange | None:
        """Return the exchange with the other answer; None if the row has none that the judge can read."""
        other = sample.fields.get(self.against)
        if self.against == "target":
            first = next(iter(sample.targets), None)
            if isinstance(first, Media):
                other = first
            else:
                other = next(iter(shown(sample)), None)
        if isinstance(other, (list, tuple)):
            if len(other) < mine.number or not all(
                isinstance(text, str) for text in other
            ):
                return None
            return _with_answer(mine.answered_by(other), other[mine.number - 1])
        if isinstance(other, Media):
            return _with_answer(mine, other)
        if not isinstance(other, str):
            return None
        if not self.expects:
            return _with_answer(mine, other)
        try:
            # Never a path: a row must not choose which local file a judge reads.
            data = decode_base64(other.rpartition(",")[2], what=self.expects)
        except DataError:
            return None
        return _with_answer(mine, MEDIA_KINDS[self.expects](data))

    def _lacks(self, sample: Sample, mine: Exchange) -> str:
        """Return what a row without the other answer lacks: `target`, or `text or medium in column 'other'`."""
        if self.against == "target":
            return "target"
        kind = self.expects or "text or medium"
        if self.expects:
            hint = " (as base64 or as a medium from Python; paths are not read)"
        else:
            hint = ""
        is_list = isinstance(sample.fields.get(self.against), (list, tuple))
        return f"{kind}{f' for round {mine.number}' if is_list else ''} in column {self.against!r}{hint}"

    async def _both_orders(
        self,
        sample: Sample,
        mine: Exchange,
        other: Exchange,
        context: Sequence[Media],
    ) -> tuple[tuple[str, str], list[str]]:
        """Return the judge's preferences in both orders, and its replies. "A" is the
        model's answer, "B" the other one.
        """

        async def ask(
            first: Exchange,
            second: Exchange,
        ) -> tuple[float | int | str, str]:
            prompt = self._ask_for(sample, first, second, context)
            return await ask_judge(
                self.models,
                prompt,
                self.options,
                PAIR_SCALE,
                self.verdict,
                self.role,
            )

        forward, backward = await asyncio.gather(
            ask(mine, other),
            ask(other, mine),
            return_exceptions=True,
        )
        for result in (forward, backward):
            if isinstance(result, BaseException):
                raise result
        assert not isinstance(forward, BaseException) and not isinstance(
            backward, BaseException
        )
        return (str(forward[0]), _SWAPPED[str(backward[0])]), [forward[1], backward[1]]

    def _ask_for(
        self,
        sample: Sample,
        first: Exchange,
        second: Exchange,
        context: Sequence[Media],
    ) -> Prompt:
        """Return the prompt for the judge, with `first` as answer A."""
        if self._own is not None:
            return self._own.pair(
                PAIR_SCALE,
                sample,
                first,
                second,
                self.criteria,
                self.verdict == "json",
            )
        template = template_for(self.template, first)
        return pair_prompt(
            template,
            sample.id,
            first,
            second,
            criteria=self.criteria,
            context=context,
        )


def _with_answer(
    exchange: Exchange,
    answer: str | Media,
) -> Exchange:
    """Return a copy of an exchange with another answer."""
    output = Output((Candidate((as_part(answer),)),))
    return Exchange(
        exchange.turns,
        output,
        exchange.references,
        exchange.number,
        exchange.answer_places,
    )


def _digests(media: Sequence[Media]) -> list[str]:
    return [medium.digest for medium in media]
