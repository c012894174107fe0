"""MM-Vet: a judge grades each answer from 0 to 1; means of 100 by capability, by combination of them, and overall.

References say with `<AND>` what must all be there and with `<OR>` what may stand for it. A reply without a grade is
asked for again at a higher temperature, five times in all; then the item is a judge error, not a 0.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ...core import DEFAULT_OPTIONS, EMPTY, Message, Outcome, Output, Prompt, Result, Sample, Score, ScoreRecord
from ...core import SummaryContext as Context
from ...scorers.answers import no_target
from ...summarizers.mean import Mean

CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")
TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
_GRADE = re.compile(r"(?<![\d.])(?:0(?:\.\d+)?|1(?:\.0+)?|\.\d+)(?![\d.])")
_EXAMPLES = (
    ("What is x in the equation?", "-1 <AND> -5", "x = 3", "0.0"),
    ("What is x in the equation?", "-1 <AND> -5", "x = -1", "0.5"),
    ("What is x in the equation?", "-1 <AND> -5", "x = -5 or x = -1", "1.0"),
    ("Which animal is this?", "a rabbit <OR> a hare", "It looks like a hare.", "1.0"),
)


@dataclass(frozen=True)
class MmVet:
    """The judge's grade of one answer, from 0 to 1."""

    models: Mapping[str, Any] = field(default_factory=lambda: EMPTY, compare=False, repr=False)
    name: ClassVar[str] = "mmvet"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None:
            return no_target(sample)
        prompt = grading_prompt(str(sample.input), _reference(sample), output.text)
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


@dataclass(frozen=True)
class MmVetScores:
    """The overall mean of 100, with one line for each capability and one for each combination of several."""

    def __call__(self, records: Sequence[ScoreRecord], context: Context) -> Iterator[Result]:
        (overall, *_) = Mean()([replace(record, tags={}) for record in records], context)
        groups: dict[str, dict[str, Result]] = {"capability": {}, "combination": {}}
        for capability in CAPABILITIES:
            own = [record for record in records if capability in record.tags.get("category", "")]
            if own:
                groups["capability"][capability] = _mean_of(own, context)
        combinations = sorted({record.tags.get("category", "") for record in records})
        for combination in combinations:
            own = [record for record in records if record.tags.get("category", "") == combination]
            groups["combination"][combination] = _mean_of(own, context)
        yield replace(_percent(overall), metric="mmvet", groups=groups)


def _mean_of(records: Sequence[ScoreRecord], context: Context) -> Result:
    (result, *_) = Mean()([replace(record, tags={}) for record in records], context)
    return replace(_percent(result), n_expected=len(records))


def _percent(result: Result) -> Result:
    def times(value: float | None) -> float | None:
        return None if value is None else 100 * value

    def both(ends: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if ends is None else (100 * ends[0], 100 * ends[1])

    return replace(
        result,
        value=times(result.value),
        stderr=times(result.stderr),
        ci=both(result.ci),
        bounds=both(result.bounds),
        parsed_value=times(result.parsed_value),
    )


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
    """The one number from 0 to 1 in a reply; `None` where there is none, or several."""
    found = {float(number) for number in _GRADE.findall(reply)}
    return found.pop() if len(found) == 1 else None


def _reference(sample: Sample) -> str:
    return " <OR> ".join(str(target) for target in sample.targets)
