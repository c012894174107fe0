"""MM-Vet: a judge grades each answer from 0 to 1.

In references, `<AND>` joins parts that are all required and `<OR>` joins alternatives.
If a reply has no grade, the same question is sent to the judge at a higher temperature,
at most five times in all. After that, the outcome of the sample is `judge_error`, not a
grade of 0.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ...core import (
    DEFAULT_OPTIONS,
    GenerateOptions,
    Message,
    Output,
    Prompt,
    Sample,
    Score,
)
from ...registry import scorers
from ..answers import no_answer, no_target, no_verdict
from ..given_models import GivenModels
from ..judge.exchange import exchanges

T = TypeVar("T")
TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
HOTTER = tuple(
    DEFAULT_OPTIONS.set(temperature=temperature) for temperature in TEMPERATURES
)
"""Generation options of the first request to the judge, and of later requests, which have a higher temperature."""
_NUMBER = re.compile(
    r"[-+−–]?(?:\d+(?:[.,]\d+)?|\.\d+)"  # "-1", "0,5", ".5"
    r"(?:[eE][-+]?\d+)?"  # "e-3"
    r"(?:\s?[%/]\s?\d*)?"  # "%", "/10"
)
_GRADE = re.compile(r"\+?(?:\d+(?:\.\d+)?|\.\d+)")
_EXAMPLES = (
    ("What is x in the equation?", "-1 <AND> -5", "x = 3", "0.0"),
    ("What is x in the equation?", "-1 <AND> -5", "x = -1", "0.5"),
    ("What is x in the equation?", "-1 <AND> -5", "x = -5 or x = -1", "1.0"),
    ("Which animal is this?", "a rabbit <OR> a hare", "It looks like a hare.", "1.0"),
)


@scorers.register("mmvet")
@dataclass(frozen=True)
class MmVet(GivenModels):
    """The judge's grade of one answer, from 0 to 1."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    name: ClassVar[str] = "mmvet"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    summarizers: ClassVar[tuple[str, ...]] = ("mmvet",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None:
            return no_target(sample)
        silence = no_answer(output)
        if silence:
            return silence
        question = exchanges(sample, output)[-1].question
        prompt = grading_prompt(question, _reference(sample), output.text)
        grade, replies = await ask_again(self.models, prompt, HOTTER, read_grade)
        if isinstance(grade, Score):
            return grade
        if grade is None:
            return no_verdict(f"no grade in {len(replies)} replies", replies=replies)
        details = {"replies": replies}
        return Score(
            grade,
            answer=output.text,
            details=details,
        )


async def ask_again(
    models: Mapping[str, Any],
    prompt: Prompt,
    tries: Sequence[GenerateOptions],
    read: Callable[[str], T | None],
) -> tuple[T | Score | None, list[str]]:
    """Send the prompt to the judge until a reply can be read. Return the grade and all replies.

    The grade is a `judge_error` score if the judge failed, and None if no reply could
    be read.
    """
    replies: list[str] = []
    for options in tries:
        reply: Output = await models["judge"].ask(prompt, options)
        if reply.error is not None:
            return no_verdict(reply.error.message, replies=replies), replies
        replies.append(reply.text[:200])
        reading = read(reply.text)
        if reading is not None:
            return reading, replies
    return None, replies


def grading_prompt(
    question: str,
    reference: str,
    answer: str,
) -> Prompt:
    """Return MM-Vet's prompt for the judge, with the question, the reference and the answer."""
    lines = (" | ".join(example) for example in _EXAMPLES)
    examples = "\n".join(lines)
    return Prompt(
        (
            Message.of(
                "user",
                "Grade how right an answer is, from 0.0 (wrong) to 1.0 (right) in steps of 0.1. In the reference, "
                "<AND> joins parts that must all be in the answer for a full grade, each part earning its share; <OR> "
                "joins alternatives of which one is enough. Reply with the grade alone.\n\n"
                f"Question | Reference | Answer | Grade\n{examples}\n{question} | {reference} | {answer} |",
            ),
        )
    )


def read_grade(reply: str) -> float | None:
    """Return the number of a reply if there is only one and it is from 0 to 1.

    Return None for `-1`, `1/10`, `10%` and several numbers.
    """
    numbers = set(_NUMBER.findall(reply))
    if len(numbers) == 1:
        number = numbers.pop()
    else:
        number = ""
    if not _GRADE.fullmatch(number):
        return None
    grade = float(number)
    return grade if 0.0 <= grade <= 1.0 else None


def _reference(sample: Sample) -> str:
    """Return the accepted answers as one text, in the form of the official prompt."""
    texts = (str(target) for target in sample.targets)
    return " <OR> ".join(texts)
