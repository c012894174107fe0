"""OCRBench: the answer is right if it contains a target.

Case and line ends are ignored. In formulas, spaces are ignored but case matters.
"""

from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, in_every_answer, no_answer, no_target

FORMULAS = "Handwritten Mathematical Expression Recognition"


@scorers.register("ocrbench")
@dataclass(frozen=True)
class OcrBench:
    """1 if a target is contained in the answer."""

    category: str = "category"
    """The column that marks formulas."""
    reads: ClassVar[tuple[str, ...]] = ("text",)
    keeps_unicode_form: ClassVar[bool] = True

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        category = sample.fields.get(self.category, sample.tags.get(self.category))
        is_formula = category == FORMULAS
        expected = [_plain(target, is_formula) for target in targets]
        if "" in expected:
            return in_every_answer(targets[expected.index("")])
        silence = no_answer(output)
        if silence:
            return silence
        answer = _plain(output.text, is_formula)
        is_right = any(text in answer for text in expected)
        return Score(float(is_right), answer=answer)


def _plain(text: str, is_formula: bool) -> str:
    flat = text.strip().replace("\n", " ")
    if is_formula:
        return flat.replace(" ", "")
    return flat.lower()
