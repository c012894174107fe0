"""OCRBench: the answer is right if a target stands somewhere in it.

Case and line ends aside; in written formulas blanks do not count and case does.
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
    """The column that says which samples are formulas."""
    reads: ClassVar[tuple[str, ...]] = ("text",)

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        is_formula = (
            sample.fields.get(self.category, sample.tags.get(self.category)) == FORMULAS
        )
        wanted = [_plain(target, is_formula) for target in targets]
        if "" in wanted:
            return in_every_answer(targets[wanted.index("")])
        if silence := no_answer(output):
            return silence
        answer = _plain(output.text, is_formula)
        return Score(float(any(one in answer for one in wanted)), answer=answer)


def _plain(text: str, is_formula: bool) -> str:
    flat = text.strip().replace("\n", " ")
    return flat.replace(" ", "") if is_formula else flat.lower()
