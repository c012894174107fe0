"""Score plain VLMEvalKit benchmarks: letters, yes or no, words; also with a judge if one is given.

No answer is drawn at random, unless upstream's rules were chosen. An answer that neither the rules nor the judge
can read counts as unparsed.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ...core import (
    EMPTY,
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
from ...scorers.answers import no_target
from ...scorers.choice.choice import LETTERS, Choice
from ...scorers.choice.choice_rules import extract_choice
from ...scorers.choice.yes_no import YesNo
from ...scorers.vision.vlmeval_published import SEED, TRIES
from ...summarizers.grouped import Grouped
from ...summarizers.mean import Mean
from ...summarizers.pairs import Mme
from ..shapes import Fields
from .letters import LETTER_RULES
from .rules import RuleName, chosen_rules

YES_NO = frozenset({"yes_no", "YesNo"})
"""Names of the yes-or-no scorer in records and tasks."""


def chosen_rule() -> RuleName:
    """Return the name of the rules that this process follows."""
    return chosen_rules().name


@dataclass(frozen=True)
class ExactMatching:
    """The chosen letter, read by rules alone. Records how many rotations the question should have."""

    rule: RuleName = field(default_factory=chosen_rule)
    name: ClassVar[str] = "exact_matching"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __call__(self, sample: Sample, output: Output) -> Score:
        score = (
            Choice()(sample, output)
            if self.rule == "assay"
            else self._as_upstream(sample, output)
        )
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

    def read(self, text: str, options: Mapping[str, str]) -> str | None:
        """Return the letter that a revision's rule reads from a text."""
        return LETTER_RULES[self.rule].either(text, options) or None


def options_of_sample(sample: Sample) -> dict[str, str]:
    """Return the non-empty options of a sample by letter."""
    return {
        letter: text
        for letter, text in zip(LETTERS, sample.choices, strict=False)
        if text
    }


@dataclass(frozen=True)
class JudgedChoice:
    """The chosen letter: by rules if they can read it, else by the judge; never at random."""

    rule: RuleName = field(default_factory=chosen_rule)
    models: Fields = field(
        default_factory=lambda: EMPTY,
        compare=False,
        repr=False,
    )
    name: ClassVar[str] = "judge"
    needs: ClassVar[tuple[str, ...]] = ("judge",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    async def __call__(self, sample: Sample, output: Output) -> Score:
        matching = ExactMatching(self.rule)
        by_rules = matching(sample, output)
        if by_rules.outcome is not Outcome.UNPARSED:
            return by_rules
        if self.rule != "assay":
            return await self._as_upstream(matching, sample, output, by_rules)
        options = dict(zip(LETTERS, sample.choices, strict=False))
        reply: Output = await self.models["judge"].ask(
            _which_option(sample, options, output.text)
        )
        details = {
            "options": by_rules.details["options"],
            "rule": "judge",
            "reply": reply.text[:2000],
        }
        if reply.error is not None:
            return Score(
                None,
                Outcome.JUDGE_ERROR,
                details={**details, "reason": reply.error.message},
            )
        extracted = extract_choice(reply.text, {**options, "Z": "none of the options"})
        if extracted.answer is None:
            return Score(
                None,
                Outcome.JUDGE_ERROR,
                details={**details, "reason": "the judge named no option"},
            )
        if extracted.answer == "Z" and len(options) < len(LETTERS):
            return Score(0.0, Outcome.UNPARSED, details=details)
        return Score(
            float(extracted.answer == sample.target),
            answer=extracted.answer,
            details=details,
        )

    async def _as_upstream(
        self,
        matching: ExactMatching,
        sample: Sample,
        output: Output,
        by_rules: Score,
    ) -> Score:
        """Ask the judge three times and read its replies like answers; then draw a letter, fixed for each sample."""
        options = options_of_sample(sample)
        details = {"options": by_rules.details["options"], "rule": "judge"}
        for chosen in TRIES:
            reply: Output = await self.models["judge"].ask(
                _which_option(sample, options, output.text), chosen
            )
            if reply.error is not None:
                return Score(
                    None,
                    Outcome.JUDGE_ERROR,
                    details={**details, "reason": reply.error.message},
                )
            letter = matching.read(reply.text, options)
            if letter is not None:
                log = {**details, "reply": reply.text[:2000]}
                return Score(float(letter == sample.target), answer=letter, details=log)
        none = "E" if self.rule == "documented" else "Z"
        guess = random.Random(f"{SEED}/{sample.id}").choice([*options, none])
        log = {**details, "reply": "Failed to predict, thus randomly generate one. "}
        return Score(float(guess == sample.target), answer=guess, details=log)


def yes_no_rule() -> YesNo:
    """Return the yes-or-no scorer: by words; in the documented revision also by letters inside words."""
    return YesNo(chosen_rules().yes_no)


def rule_record(task: Task, sample: Sample, text: str) -> ScoreRecord:
    """Return the yes-or-no rule's verdict on an answer as a record."""
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
class JudgedYesNo:
    """Yes or no: by the words of the answer, else by the judge."""

    models: Fields = field(
        default_factory=lambda: EMPTY,
        compare=False,
        repr=False,
    )
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
            return Score(
                None,
                Outcome.JUDGE_ERROR,
                details={**details, "reason": reply.error.message},
            )
        judged = rule(sample, reply)
        return replace(judged, details={**judged.details, **details})


@dataclass(frozen=True)
class Circular:
    """Share of questions with all rotations right, if there are rotations, shown with the mean over rows.

    A question that lacks a rotation is unresolved. The remaining rotations do not decide it.
    """

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        sizes, expected = _sizes(records)
        if max(sizes.values(), default=1) < 2:
            yield from Mean()(records, context)
            return
        lacking = {
            group: expected[group] - size
            for group, size in sizes.items()
            if expected[group] > size
        }
        # A group combines all rotations, so rotations are not a breakdown of it.
        padded = [
            replace(
                record,
                tags={
                    name: tag for name, tag in record.tags.items() if name != "rotation"
                },
            )
            for record in (*records, *_missing(records, lacking))
        ]
        name = f"{context.scorer}.circular"
        for result in Grouped(label="circular")(padded, context):
            if result.metric == name:
                flags = result.flags
                if lacking:
                    flags = (
                        *flags,
                        f"{len(lacking)} questions lack {sum(lacking.values())} rotations: unresolved",
                    )
                yield replace(result, flags=flags)
        yield from (
            result
            for result in Grouped()(records, context)
            if not result.metric.endswith(".grouped")
        )


@dataclass(frozen=True)
class MmeScores:
    """MME's sums under VLMEvalKit's names: perception and reasoning."""

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


def _sizes(records: Sequence[ScoreRecord]) -> tuple[Counter[str], dict[str, int]]:
    """Count the rows of each question, and the expected rows: one for each option."""
    sizes: Counter[str] = Counter()
    expected: dict[str, int] = {}
    for record in records:
        group = record.group
        if group is None or record.epoch != 0:
            continue
        sizes[group] += 1
        options = int(record.details.get("options", 0))
        expected[group] = max(expected.get(group, 0), options)
    return sizes, expected


def _missing(
    records: Sequence[ScoreRecord],
    lacking: Mapping[str, int],
) -> Iterator[ScoreRecord]:
    """Yield a record without a verdict for each missing rotation."""
    left = dict(lacking)
    for record in records:
        count = left.pop(record.group, 0) if record.group is not None else 0
        for number in range(count):
            yield replace(
                record,
                id=f"{record.group}#missing-{number}",
                values={},
                outcome=Outcome.DATA_ERROR.value,
                details={},
            )


def _which_option(sample: Sample, options: Mapping[str, str], answer: str) -> Prompt:
    listed = "\n".join(f"{letter}. {text}" for letter, text in options.items() if text)
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
