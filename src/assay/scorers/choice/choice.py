"""Multiple choice from generated text: which option did the model take?

The rules that read the answer are in `choice_rules`; the one that fired is kept with every score. With `extractor:
judge` a model reads the answer instead (`read_by_judge`).
"""

import string
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Outcome, Output, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..spans import evidence_span, with_span
from .choice_rules import BEFORE_LETTER, Extraction, extract_choice

LETTERS = string.ascii_uppercase


@scorers.register("choice")
@dataclass(frozen=True)
class Choice:
    """1 if the option the answer takes is the target's letter; an answer that cannot be read is `unparsed`."""

    letters: str = ""
    """The letters to choose from where the options stand only in the question: `ABCD`."""
    extractor: str = "rules"
    """Who reads the answer: `rules`, or `judge`, a model named with `--judge`."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __new__(
        cls, letters: str = "", extractor: str = "rules", **_options: Any
    ) -> "Choice":
        """A scorer that asks a model must wait for it, and is another class."""
        from .read_by_judge import JudgedChoice

        if extractor not in ("rules", "judge"):
            raise UsageError(
                f"scorer 'choice' has no extractor {extractor!r}", fix="rules or judge"
            )
        return super().__new__(JudgedChoice if extractor == "judge" else cls)

    def __call__(self, sample: Sample, output: Output) -> Score:
        options = self.options_of(sample)
        if isinstance(options, Score):
            return options
        return self.score(
            sample,
            output,
            extract_choice(output.text, options, is_cut=output.stop_reason == "length"),
        )

    def options_of(self, sample: Sample) -> dict[str, str] | Score:
        """The options by letter, or the score of a sample that cannot be judged."""
        if not sample.targets:
            return no_target(sample)
        options = dict(zip(LETTERS, sample.choices, strict=False)) or dict.fromkeys(
            self.letters, ""
        )
        if not options:
            return no_target(sample, "choices")
        golds = _golds(sample)
        if len(sample.choices) > len(LETTERS) or not golds <= options.keys():
            reason = f"target {'/'.join(sorted(golds))} is not among the letters {'/'.join(options)}"
            return Score(None, Outcome.DATA_ERROR, details={"reason": reason})
        return options

    def score(self, sample: Sample, output: Output, found: Extraction) -> Score:
        details = {
            "rule": found.rule,
            "evidence": found.evidence,
            "options": sum(map(bool, sample.choices)),
        }
        if found.answer is not None:
            if len(output.text) > 8:  # in less anybody sees what was read
                comes_first = found.rule not in BEFORE_LETTER
                with_span(
                    details,
                    evidence_span(
                        output.text,
                        found.evidence,
                        found.answer,
                        comes_first=comes_first,
                    ),
                )
            return Score(
                float(found.answer in _golds(sample)),
                answer=found.answer,
                details=details,
            )
        if output.stop_reason == "length":
            return Score(0.0, Outcome.TRUNCATED, details=details)
        silence = no_answer(output)
        return Score(
            0.0, silence.outcome if silence else Outcome(found.outcome), details=details
        )


def _golds(sample: Sample) -> set[str]:
    return {target.strip().upper() for target in accepted(sample)}
