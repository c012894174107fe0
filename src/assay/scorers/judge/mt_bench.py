"""MT-Bench's grading with its published prompts: the judge explains its view, then writes `[[rating]]`.

The prompts come with the data. The sample's column `judge_prompts` has one prompt for
the first round and one for later rounds. The variables `{question}`, `{answer}`,
`{question_1}`, `{answer_1}`, `{ref_answer_1}`, … are filled in.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
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
            await asyncio.gather(
                *(self._score(sample, exchange) for exchange in graded)
            ),
            LOWEST,
        )

    async def _score(self, sample: Sample, exchange: Exchange) -> Score:
        silence = no_answer(exchange.output)
        if silence:
            return silence
        prompts = sample.fields.get("judge_prompts")
        if not prompts:
            return data_error(f"sample {sample.id!r} has no judge_prompts")
        prompt = fill_prompt(prompts[min(exchange.number, len(prompts)) - 1], exchange)
        try:
            reply = (await ask_model(self.models, "judge", prompt, OPTIONS)).text
        except ModelError as error:
            return no_verdict(str(error))
        rating = read_rating(reply)
        if rating is None:
            return no_verdict(
                "the reply has no rating from 1 to 10", reply=reply[:2000]
            )
        return Score(
            rating,
            answer=exchange.output.text,
            details={"reply": reply},
        )


def fill_prompt(
    wording: Mapping[str, str],
    exchange: Exchange,
) -> Prompt:
    """Return a published prompt with the conversation filled in. Braces within an answer are not replaced."""
    questions = []
    answers = []
    for index, (_, text) in enumerate(exchange.turns):
        if index not in exchange.answer_places:
            questions.append(text)
    for index in exchange.answer_places:
        answers.append(exchange.turns[index][1])
    answers.append(exchange.output.text)
    values = {"question": questions[-1], "answer": answers[-1]}
    values |= _numbered("question", questions)
    values |= _numbered("answer", answers)
    values |= _numbered("ref_answer", exchange.references)

    def value_of(name: re.Match[str]) -> str:
        return values.get(name[1], name[0])

    user = Message.of("user", _NAME.sub(value_of, wording["prompt_template"]))
    system = wording.get("system_prompt")
    if not system:
        return Prompt((user,))
    return Prompt((Message.of("system", system), user))


def _numbered(
    name: str,
    texts: Sequence[str],
) -> dict[str, str]:
    """Return texts as a mapping with numbered keys: `question_1`, `question_2`."""
    numbered = {}
    for number, text in enumerate(texts, 1):
        numbered[f"{name}_{number}"] = text
    return numbered


def read_rating(reply: str) -> float | None:
    """Return the first rating in double brackets; without one, the first in single brackets.

    Return None if there is none or if it is not on the scale.
    """
    for pattern in _RATINGS:
        match = pattern.search(reply)
        if match is not None:
            rating = float(match[1])
            if LOWEST <= rating <= HIGHEST:
                return rating
            return None
    return None
