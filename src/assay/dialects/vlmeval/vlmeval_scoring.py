"""Scorers for VLMEvalKit benchmarks without their own class: option letters, and yes or no, also with a judge.

No answer is drawn at random, unless VLMEvalKit's rules were chosen. An answer that
neither the rules nor the judge can read is unparsed.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ...core import (
    Message,
    Outcome,
    Output,
    Prompt,
    Result,
    Sample,
    Score,
    ScoreRecord,
    SummaryContext,
    Task,
)
from ...scorers.answers import no_target, no_verdict
from ...scorers.choice.choice import LETTERS, Choice
from ...scorers.choice.choice_rules import extract_choice
from ...scorers.choice.yes_no import YesNo
from ...scorers.given_models import GivenModels
from ...scorers.vision.vlmeval_published import SEED, TRIES
from ...summarizers.grouped import Grouped
from ...summarizers.mean import Mean
from ...summarizers.pairs import Mme
from ..shapes import Fields, Record
from .letters import LETTER_RULES
from .rules import RuleName, chosen_rules

YES_NO = frozenset({"yes_no", "YesNo"})
"""Names of the yes-or-no scorer in tasks, and in the records of a run."""


def chosen_rule() -> RuleName:
    """Return the name of the rules that are in effect: `assay`, `newest` or `documented`."""
    return chosen_rules().name


@dataclass(frozen=True)
class ExactMatching:
    """Scores the chosen letter, read by rules alone.

    A score's details also contain the number of the question's options.
    """

    rule: RuleName = field(default_factory=chosen_rule)
    name: ClassVar[str] = "exact_matching"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __call__(self, sample: Sample, output: Output) -> Score:
        if self.rule == "assay":
            score = Choice()(sample, output)
        else:
            score = self._as_upstream(sample, output)
        return replace(
            score, details={**score.details, "options": sum(map(bool, sample.choices))}
        )

    def _as_upstream(self, sample: Sample, output: Output) -> Score:
        if sample.target is None or not sample.choices:
            return no_target(sample, "target" if sample.choices else "choices")
        options = options_of_sample(sample)
        letter = self.read(output.text, options)
        if letter is None:
            return Score.unparsed(rule="none")
        return Score(
            float(letter == sample.target),
            answer=letter,
            details={"rule": self.rule},
        )

    def read(
        self,
        text: str,
        options: Mapping[str, str],
    ) -> str | None:
        """Return the letter that VLMEvalKit's rule reads from a text, or None."""
        return LETTER_RULES[self.rule].either(text, options) or None


def options_of_sample(sample: Sample) -> dict[str, str]:
    """Return the texts of a sample's options by letter, without empty ones."""
    return {
        letter: text
        for letter, text in zip(LETTERS, sample.choices, strict=False)
        if text
    }


@dataclass(frozen=True)
class JudgedChoice(GivenModels):
    """Scores the chosen letter. Rules are tried first; if they cannot read it, the judge is asked.

    A random letter is drawn only under VLMEvalKit's rules.
    """

    rule: RuleName = field(default_factory=chosen_rule)
    name: ClassVar[str] = "judge"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        matching = ExactMatching(self.rule)
        by_rules = matching(sample, output)
        if by_rules.outcome is not Outcome.UNPARSED:
            return by_rules
        prompt = _which_option(sample, output.text)
        details = {"options": by_rules.details["options"], "rule": "judge"}
        if self.rule != "assay":
            return await self._as_upstream(matching, sample, prompt, details)
        reply: Output = await self.models["judge"].ask(prompt)
        details["reply"] = reply.text[:2000]
        if reply.error is not None:
            return no_verdict(reply.error.message, **details)
        options = dict(zip(LETTERS, sample.choices, strict=False))
        letter = extract_choice(
            reply.text, {**options, "Z": "none of the options"}
        ).answer
        if letter is None:
            return no_verdict("the judge named no option", **details)
        if letter == "Z" and len(options) < len(LETTERS):
            return Score(0.0, Outcome.UNPARSED, details=details)
        return _verdict(letter, sample, details)

    async def _as_upstream(
        self,
        matching: ExactMatching,
        sample: Sample,
        prompt: Prompt,
        details: Record,
    ) -> Score:
        """Score by VLMEvalKit's rules: ask the judge up to three times, and search its replies like answers.

        If no reply contains an option, draw a random letter. It is the same letter in
        every run.
        """
        options = options_of_sample(sample)
        for chosen in TRIES:
            reply: Output = await self.models["judge"].ask(prompt, chosen)
            if reply.error is not None:
                return no_verdict(reply.error.message, **details)
            letter = matching.read(reply.text, options)
            if letter is not None:
                return _verdict(letter, sample, {**details, "reply": reply.text[:2000]})
        none = "E" if self.rule == "documented" else "Z"
        guess = random.Random(f"{SEED}/{sample.id}").choice([*options, none])
        why = "Failed to predict, thus randomly generate one. "
        return _verdict(guess, sample, {**details, "reply": why})


def _verdict(
    letter: str,
    sample: Sample,
    details: Fields,
) -> Score:
    return Score(
        float(letter == sample.target),
        answer=letter,
        details=details,
    )


def yes_no_rule() -> YesNo:
    """Return the yes-or-no scorer of the rules in effect.

    The rule of VLMEvalKit's documented revision also finds yes and no inside words.
    """
    return YesNo(chosen_rules().yes_no)


def rule_record(
    task: Task,
    sample: Sample,
    text: str,
) -> ScoreRecord:
    """Return the score of an answer by the yes-or-no rule, as a record of a run."""
    score = yes_no_rule()(sample, Output.of(text))
    values = {"": float(score.value == 1.0)}
    return ScoreRecord(
        task.name,
        "",
        sample.id,
        "yes_no",
        "",
        values,
        score.outcome.value,
        answer=score.answer,
    )


@dataclass(frozen=True)
class JudgedYesNo(GivenModels):
    """Scores yes or no. Words in the answer decide; if they are unclear, the judge is asked."""

    name: ClassVar[str] = "judge"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        rule = yes_no_rule()
        by_rules = rule(sample, output)
        if by_rules.outcome is not Outcome.UNPARSED:
            return by_rules
        reply: Output = await self.models["judge"].ask(_yes_or_no(sample, output.text))
        details = {"rule": "judge", "reply": reply.text[:2000]}
        if reply.error is not None:
            return no_verdict(reply.error.message, **details)
        judged = rule(sample, reply)
        return replace(judged, details={**judged.details, **details})


@dataclass(frozen=True)
class Circular:
    """Summarizes the fraction of questions with all rotations correct.

    Without rotations, this is the mean score. A question with a missing rotation is
    unresolved, even if another rotation is wrong. The mean over rows is also shown.
    """

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        sizes = Counter(r.group for r in records if r.group is not None and not r.epoch)
        if max(sizes.values(), default=1) < 2:
            yield from Mean()(records, context)
            return
        # A group combines all rotations, so rotations are not a breakdown of it.
        questions = [replace(r, tags=_without_rotation(r.tags)) for r in records]
        for result in Grouped("options", "circular")(questions, context):
            if result.metric.endswith(".circular"):
                yield result
        for result in Grouped()(records, context):
            if not result.metric.endswith(".grouped"):
                yield result


def _without_rotation(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: tag for name, tag in tags.items() if name != "rotation"}


@dataclass(frozen=True)
class MmeScores:
    """Summarizes MME: the sums under VLMEvalKit's names (perception and reasoning), and the mean score."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        for result in Mme()(records, context):
            yield (
                replace(result, metric="reasoning")
                if result.metric == "cognition"
                else result
            )
        yield from Mean()(records, context)


def _which_option(sample: Sample, answer: str) -> Prompt:
    options = options_of_sample(sample)
    listed = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    text = (
        "Somebody answered a multiple-choice question in free words. Say which option the answer means. "
        "Do not solve the question yourself. Reply with the letter alone; reply Z if the answer means none of "
        f"the options.\n\nQuestion: {sample.input}\nOptions:\n{listed}\n\nAnswer given:\n<<<\n{answer}\n>>>\nLetter:"
    )
    return Prompt((Message.of("user", text),))


def _yes_or_no(sample: Sample, answer: str) -> Prompt:
    text = (
        "Somebody answered a yes-or-no question in free words. Does the answer mean yes or no? Do not answer "
        "the question yourself. Reply with one word: Yes, No, or Unknown.\n\n"
        f"Question: {sample.input}\n\nAnswer given:\n<<<\n{answer}\n>>>\nVerdict:"
    )
    return Prompt((Message.of("user", text),))
