"""Multiple choice from generated text: which option did the model take?

The rules that read the answer are in `choice_rules`; the one that fired is kept with every score.
"""

import string
from dataclasses import dataclass
from typing import ClassVar

from ..core import Outcome, Output, Sample, Score
from ..registry import scorers
from .answers import accepted, no_answer, no_target
from .choice_rules import extract_choice

LETTERS = string.ascii_uppercase


@scorers.register("choice")
@dataclass(frozen=True)
class Choice:
    """1 if the option the answer takes is the target's letter; an answer that cannot be read is `unparsed`."""

    letters: str = ""
    """The letters to choose from where the options stand only in the question: `ABCD`."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __call__(self, sample: Sample, output: Output) -> Score:
        if not sample.targets:
            return no_target(sample)
        options = dict(zip(LETTERS, sample.choices, strict=False)) or dict.fromkeys(self.letters, "")
        if not options:
            return no_target(sample, "choices")
        golds = {target.strip().upper() for target in accepted(sample)}
        if len(sample.choices) > len(LETTERS) or not golds <= options.keys():
            reason = f"target {'/'.join(sorted(golds))} is not among the letters {'/'.join(options)}"
            return Score(None, Outcome.DATA_ERROR, details={"reason": reason})
        found = extract_choice(output.text, options, is_cut=output.stop_reason == "length")
        details = {"rule": found.rule, "evidence": found.evidence, "options": sum(map(bool, sample.choices))}
        if found.answer is not None:
            return Score(float(found.answer in golds), answer=found.answer, details=details)
        if output.stop_reason == "length":
            return Score(0.0, Outcome.TRUNCATED, details=details)
        silence = no_answer(output)
        return Score(0.0, silence.outcome if silence else Outcome(found.outcome), details=details)
