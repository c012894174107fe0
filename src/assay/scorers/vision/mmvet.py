"""MM-Vet: a judge grades each answer from 0 to 1.

References say with `<AND>` what must all be there and with `<OR>` what may stand for it. A reply without a grade is
asked for again at a higher temperature, five times in all; then the item is a judge error, not a 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...core import DEFAULT_OPTIONS, EMPTY, Message, Outcome, Output, Prompt, Sample, Score
from ...registry import scorers
from ..answers import no_answer, no_target
from ..judge.exchange import exchanges

TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
_NUMBER = re.compile(r"[-+−–]?(?:\d+(?:[.,]\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?:\s?[%/]\s?\d*)?")
_GRADE = re.compile(r"\+?(?:\d+(?:\.\d+)?|\.\d+)")
_EXAMPLES = (
    ("What is x in the equation?", "-1 <AND> -5", "x = 3", "0.0"),
    ("What is x in the equation?", "-1 <AND> -5", "x = -1", "0.5"),
    ("What is x in the equation?", "-1 <AND> -5", "x = -5 or x = -1", "1.0"),
    ("Which animal is this?", "a rabbit <OR> a hare", "It looks like a hare.", "1.0"),
)


@scorers.register("mmvet")
@dataclass(frozen=True)
class MmVet:
    """The judge's grade of one answer, from 0 to 1."""

    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    reads: ClassVar[tuple[str, ...]] = ("text",)
    name: ClassVar[str] = "mmvet"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    summarizers: ClassVar[tuple[str, ...]] = ("mmvet",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None:
            return no_target(sample)
        if silence := no_answer(output):
            return silence
        prompt = grading_prompt(exchanges(sample, output)[-1].question, _reference(sample), output.text)
        replies: list[str] = []
        for temperature in TEMPERATURES:
            reply: Output = await self.models["judge"].ask(prompt, DEFAULT_OPTIONS.set(temperature=temperature))
            if reply.error is not None:
                details = {"reason": reply.error.message, "replies": replies}
                return Score(None, Outcome.JUDGE_ERROR, details=details)
            replies.append(reply.text[:200])
            grade = read_grade(reply.text)
            if grade is not None:
                return Score(grade, answer=output.text, details={"replies": replies})
        details = {"reason": f"no grade in {len(replies)} replies", "replies": replies}
        return Score(None, Outcome.JUDGE_ERROR, details=details)


def grading_prompt(question: str, reference: str, answer: str) -> Prompt:
    """What the judge is asked."""
    examples = "\n".join(" | ".join(example) for example in _EXAMPLES)
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
    """The one number of a reply, if it is one from 0 to 1; `-1`, `1/10`, `10%` and several numbers are no grade."""
    found = set(_NUMBER.findall(reply))
    if len(found) != 1 or not _GRADE.fullmatch(number := found.pop()):
        return None
    grade = float(number)
    return grade if 0.0 <= grade <= 1.0 else None


def _reference(sample: Sample) -> str:
    return " <OR> ".join(str(target) for target in sample.targets)
