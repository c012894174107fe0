"""MT-Bench's grading with its published prompts: the judge explains itself, then writes `[[rating]]`.

The prompts come with the data: the sample's column `judge_prompts` has that of the first round and that of the later
ones, with `{question}`, `{answer}`, `{question_1}`, `{answer_1}`, `{ref_answer_1}`, … to be filled in. A rating that
also stands in the answer itself is no verdict: the published rule would let an answer grade itself.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...core import DEFAULT_OPTIONS, Message, ModelError, Output, Prompt, Sample, Score
from ...registry import scorers
from ..answers import data_error, no_answer, no_verdict
from ..given_models import GivenModels, ask_model
from .exchange import Exchange, exchanges
from .judge import over_rounds

OPTIONS = DEFAULT_OPTIONS.set(temperature=0.0, max_tokens=2048)
LOWEST, HIGHEST = 1.0, 10.0
_RATINGS = (re.compile(r"\[\[(\d+\.?\d*)\]\]"), re.compile(r"\[(\d+\.?\d*)\]"))
_NAME = re.compile(r"\{(\w+)\}")


@scorers.register("mt_bench")
@dataclass(frozen=True)
class MtBench(GivenModels):
    """The judge's grade of each round, from 1 to 10, and `overall`, their mean."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        graded = exchanges(sample, output, "all")
        return over_rounds(
            await asyncio.gather(*(self._score(sample, one) for one in graded)), LOWEST
        )

    async def _score(self, sample: Sample, exchange: Exchange) -> Score:
        if silence := no_answer(exchange.output):
            return silence
        prompts = sample.fields.get("judge_prompts")
        if not prompts:
            return data_error(f"sample {sample.id!r} has no judge_prompts")
        prompt = filled(prompts[min(exchange.number, len(prompts)) - 1], exchange)
        try:
            reply = (await ask_model(self.models, "judge", prompt, OPTIONS)).text
        except ModelError as error:
            return no_verdict(str(error))
        rating = read_rating(reply, exchange.output.text)
        if rating is None:
            return no_verdict(
                "the reply has no rating from 1 to 10 of its own", reply=reply[:2000]
            )
        return Score(rating, answer=exchange.output.text, details={"reply": reply})


def filled(wording: Mapping[str, str], exchange: Exchange) -> Prompt:
    """A published prompt with the conversation filled in; what an answer writes in braces stays as it is."""
    questions = [
        text
        for place, (_, text) in enumerate(exchange.turns)
        if place not in exchange.answer_places
    ]
    answers = [exchange.turns[place][1] for place in exchange.answer_places] + [
        exchange.output.text
    ]
    values = {"question": questions[-1], "answer": answers[-1]}
    for name, texts in (
        ("question", questions),
        ("answer", answers),
        ("ref_answer", exchange.references),
    ):
        values.update(
            {f"{name}_{number}": text for number, text in enumerate(texts, 1)}
        )
    user = _NAME.sub(
        lambda found: values.get(found[1], found[0]), wording["prompt_template"]
    )
    system = wording.get("system_prompt") or ""
    return Prompt(
        (*((Message.of("system", system),) if system else ()), Message.of("user", user))
    )


def read_rating(reply: str, answer: str) -> float | None:
    """The first rating in a reply, double brackets before single ones; `None` where there is none on the scale."""
    found = next(
        (match for pattern in _RATINGS if (match := pattern.search(reply))), None
    )
    if found is None or found[0] in answer or not LOWEST <= float(found[1]) <= HIGHEST:
        return None
    return float(found[1])
