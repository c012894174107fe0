"""Verdicts as VLMEvalKit computes them, for comparison with its leaderboard; never the default.

A judge reads the answers that VLMEvalKit's patterns cannot read. If the judge's reply
cannot be read either, the verdict is a random letter, a wrong yes or no, or a grade of
0. Here the random letter depends only on the sample, so that a run can be repeated. If
the judge gives no reply at all, the outcome is `judge_error`; VLMEvalKit draws a random
letter even then. The wording of the question to the judge is assay's.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any, ClassVar

from ...core import DEFAULT_OPTIONS, Message, Outcome, Output, Prompt, Sample, Score
from ...registry import scorers
from ..answers import accepted, no_target
from ..choice.choice_vlmeval import NONE, match_as_vlmeval
from ..choice.yes_no import Verdict, read_words
from ..given_models import GivenModels
from ..judge.exchange import question_of
from .mmvet import HOTTER, ask_again, grading_prompt

TRIES = (DEFAULT_OPTIONS, *(DEFAULT_OPTIONS.set(seed=again) for again in (1, 2)))
SEED = 2680
"""VLMEvalKit's seed for random letters. It is that of the VLMEvalKit revision named in the documentation."""


@scorers.register("choice_vlmeval_judged")
@dataclass(frozen=True)
class ChoiceVlmevalJudged(GivenModels):
    """1 if the letter is right. It is found by exact matching, by a judge in up to
    three requests, or drawn at random.
    """

    seed: int = SEED
    reads: ClassVar[tuple[str, ...]] = ("text",)
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None or not sample.choices:
            return no_target(sample, "target" if sample.choices else "choices")
        options = {}
        for k, text in zip(ascii_uppercase, sample.choices, strict=False):
            if text:
                options[k] = text
        letter, rule = match_as_vlmeval(output.text, options)
        if letter is not None:
            return _verdict(letter, sample, rule=rule)
        read, replies = await ask_again(
            self.models,
            which_option(sample, options, output.text),
            TRIES,
            lambda reply: match_as_vlmeval(reply, {**options, NONE: ""})[0],
        )
        if isinstance(read, Score):
            return read
        if read is not None:
            return _verdict(
                read,
                sample,
                rule="judge",
                replies=replies,
            )
        draw = random.Random(f"{self.seed}/{sample.id}")
        return _verdict(
            draw.choice([*options, NONE]),
            sample,
            rule="drawn",
            replies=replies,
        )


@scorers.register("yes_no_vlmeval")
@dataclass(frozen=True)
class YesNoVlmeval(GivenModels):
    """1 if the answer has the target's word, yes or no, and not the opposite. If it has
    both or neither, the judge decides.
    """

    reads: ClassVar[tuple[str, ...]] = ("text",)
    needs: ClassVar[tuple[str, ...]] = ("judge",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        gold = targets[0].strip().lower()
        answer: Verdict | Score | None = read_words(output.text)
        details: dict[str, Any] = {"rule": "words"}
        if answer is None:
            answer, replies = await ask_again(
                self.models,
                yes_or_no(sample, output.text),
                HOTTER,
                read_words,
            )
            details = {"rule": "judge", "replies": replies}
        if answer is None or isinstance(answer, Score):
            return answer or Score.unparsed(**details)
        return Score(
            float(answer == gold),
            answer=answer,
            details=details,
        )


@scorers.register("mmvet_vlmeval")
@dataclass(frozen=True)
class MmVetVlmeval(GivenModels):
    """The judge's grade, if its whole reply is a number from 0 to 1. After five other replies the grade is 0."""

    reads: ClassVar[tuple[str, ...]] = ("text",)
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    summarizers: ClassVar[tuple[str, ...]] = ("mmvet",)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        if sample.target is None:
            return no_target(sample)
        prompt = grading_prompt(
            question_of(sample),
            " <OR> ".join(map(str, sample.targets)),
            output.text,
        )
        grade, replies = await ask_again(self.models, prompt, HOTTER, whole_grade)
        if isinstance(grade, Score):
            return grade
        if grade is None:
            return Score(
                0.0,
                answer=output.text,
                details={"replies": replies, "rule": "no grade is 0"},
            )
        return Score(
            grade,
            answer=output.text,
            details={"replies": replies},
        )


def whole_grade(reply: str) -> float | None:
    """Return the grade in a reply that consists of a number from 0 to 1; None for any other reply."""
    try:
        grade = float(reply.strip())
    except ValueError:
        return None
    return grade if 0.0 <= grade <= 1.0 else None


def which_option(
    sample: Sample,
    options: Mapping[str, str],
    answer: str,
) -> Prompt:
    """Return the prompt that asks the judge which option an answer means."""
    listed = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    return _prompt_of(
        "Somebody answered a multiple-choice question in free words. Which option is closest in meaning to the answer? "
        f"Reply with its letter alone; reply {NONE} if the answer means none of the options.\n\n"
        f"Question: {question_of(sample)}\nOptions:\n{listed}\n\nAnswer given:\n<<<\n{answer}\n>>>\nLetter:"
    )


def yes_or_no(sample: Sample, answer: str) -> Prompt:
    """Return the prompt that asks the judge whether an answer means yes or no."""
    return _prompt_of(
        "Somebody answered a yes-or-no question in free words. Does the answer mean yes or no? Reply with one word: "
        f"Yes, No, or Unknown.\n\nQuestion: {question_of(sample)}\n\nAnswer given:\n<<<\n{answer}\n>>>\nVerdict:"
    )


def _prompt_of(text: str) -> Prompt:
    return Prompt((Message.of("user", text),))


def _verdict(
    letter: str,
    sample: Sample,
    **details: object,
) -> Score:
    score = Score(
        float(letter == sample.target),
        answer=letter,
        details=details,
    )
    is_none = letter == NONE and details["rule"] in ("judge", "rejected")
    if is_none:
        return replace(score, outcome=Outcome.UNPARSED)
    return score
