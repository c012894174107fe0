"""Several ratings by one judge: each aspect of an answer on the same scale, combined into one value.

ImagineBench takes a weighted mean of fantasy, identity and aesthetics; OmniContext
takes the geometric mean of two aspects. The run provides the judge under the role
`judge`. The judge gets the images, and replies with one JSON object that has a rating
of every aspect.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from ...core import (
    EMPTY,
    ModelError,
    Outcome,
    Output,
    Prompt,
    Sample,
    Score,
    UsageError,
)
from ...registry import scorers
from ..answers import no_answer, no_verdict
from ..given_models import GivenModels, ask_model
from ..scorer_options import check_option
from .exchange import exchanges, question_media, shown_media
from .judge import JUDGE_OPTIONS
from .judge_prompts import Scale, prompt_hash, single_prompt
from .judge_wording import NoVerdict, read_object

Combine = Literal["weighted", "geometric", "minimum"]


@scorers.register("judge_ratings")
@dataclass(frozen=True)
class JudgeRatings(GivenModels):
    """The judge's rating of each aspect, and `overall`: their weighted mean, geometric mean or minimum."""

    aspects: Mapping[str, str]
    """The aspects, with the descriptions that the judge gets."""
    weights: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    """The weight of each aspect. By default all have the same weight."""
    highest: int = 10
    lowest: int = 0
    """Ratings are whole numbers from `lowest` to `highest`."""
    capped_by: str = ""
    """The aspect that caps the others: ratings above the rating of this aspect are lowered to it."""
    combine: Combine = "weighted"
    expects: str = ""
    """`image` or `audio`: an answer without one is unparsed and not sent to the judge."""
    shows_question: bool = False
    """Whether media of the question are also sent to the judge."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    reads: ClassVar[tuple[str, ...]] = ("answer",)
    name: ClassVar[str] = "judge_ratings"
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    def __post_init__(self) -> None:
        if not self.aspects or "reason" in self.aspects:
            raise UsageError(
                "scorer 'judge_ratings' needs aspects",
                fix="aspects: {name: meaning}, none called reason",
            )
        check_option("judge_ratings", "combine", self.combine, get_args(Combine))
        if self.capped_by and self.capped_by not in self.aspects:
            raise UsageError(
                f"scorer 'judge_ratings' has no aspect {self.capped_by!r}",
                fix="one of its aspects",
            )
        if self.weights and self.weights.keys() != self.aspects.keys():
            raise UsageError(
                "scorer 'judge_ratings' has weights for other aspects",
                fix="one weight for each aspect",
            )
        JUDGE_OPTIONS.set(**self.options)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest rating."""
        return float(self.lowest), float(self.highest)

    @property
    def best_mark(self) -> float:
        """The best rating on the scale. Canaries demand it from the judge."""
        return float(self.highest)

    @property
    def scale(self) -> Scale:
        """The replies that the judge may give, as the prompt describes them."""
        fields = ", ".join(f'"{name}": N' for name in self.aspects)
        ends = f"{self.lowest} (worst) to {self.highest} (best)"
        form = f'{{{fields}, "reason": "…"}} where each N is a whole number from {ends}'
        return Scale(
            ", ".join(self.aspects),
            form,
            tuple(range(self.lowest, self.highest + 1)),
        )

    async def __call__(self, sample: Sample, output: Output) -> Score:
        names = (*self.aspects, "overall")
        silence = no_answer(output)
        if silence:
            return Score(
                dict.fromkeys(names, float(self.lowest)),
                silence.outcome,
                details=silence.details,
            )
        if self.expects and not any(
            medium.kind == self.expects for medium in output.media
        ):
            details = {"reason": f"no {self.expects} in the output"}
            return Score(
                dict.fromkeys(names, float(self.lowest)),
                Outcome.UNPARSED,
                details=details,
            )
        criteria = "\n".join(
            f"- {name}: {meaning}" for name, meaning in self.aspects.items()
        )
        if self.capped_by:
            criteria += (
                f"\nNo other rating may be higher than that of {self.capped_by}."
            )
        exchange = exchanges(sample, output)[-1]
        if self.shows_question:
            context = question_media(sample)
        else:
            context = ()
        media = shown_media(output)
        prompt = single_prompt(
            "rubric",
            self.scale,
            sample.id,
            exchange,
            criteria=criteria,
            context=context,
        )
        wording = prompt_hash(
            "rubric",
            self.scale,
            criteria,
            pairwise=False,
            has_media=bool(context or media),
            is_dialogue=exchange.is_dialogue,
        )
        record: dict[str, Any] = {
            "prompt": wording,
            "shown": [medium.digest for medium in media],
        }
        reply = ""
        try:
            reply = await self._reply(prompt)
            ratings = self.read(reply)
        except (ModelError, NoVerdict) as error:
            return no_verdict(
                str(error),
                **record,
                reply=reply[:2000],
            )
        return Score(
            {**ratings, "overall": self.overall(ratings)},
            details={**record, "reply": reply},
        )

    async def _reply(self, prompt: Prompt) -> str:
        return (
            await ask_model(
                self.models,
                "judge",
                prompt,
                JUDGE_OPTIONS.set(**self.options),
            )
        ).text

    def read(self, reply: str) -> dict[str, float]:
        """Return the rating of every aspect. Raise `NoVerdict` if the reply lacks one
        or has one that is not on the scale.
        """
        fields = read_object(reply)
        if not self.aspects.keys() <= fields.keys():
            names = ", ".join(self.aspects)
            raise NoVerdict(f"the reply is not an object with {names}")
        for name in self.aspects:
            value = fields[name]
            if type(value) is not int or not self.lowest <= value <= self.highest:
                raise NoVerdict(f"`{name}` is out of range: {str(value)[:40]!r}")
        most = self.highest
        if self.capped_by:
            most = fields[self.capped_by]
        ratings = {}
        for name in self.aspects:
            ratings[name] = float(min(fields[name], most))
        return ratings

    def overall(self, ratings: Mapping[str, float]) -> float:
        """Combine the ratings of all aspects into one value on the same scale."""
        if self.combine == "minimum":
            return min(ratings.values())
        if self.combine == "geometric":
            return math.prod(ratings.values()) ** (1 / len(ratings))
        weights = self.weights or dict.fromkeys(ratings, 1.0)
        return sum(weights[name] * value for name, value in ratings.items()) / sum(
            weights.values()
        )
