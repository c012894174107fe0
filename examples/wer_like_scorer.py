"""Word errors of a transcript, pooled over a run: `--scorer examples/wer_like_scorer.py:WordErrors`.

A scorer with an option, a direction and counts that a summarizer pools; `assay show wer` is the full one.
"""

from dataclasses import dataclass
from typing import ClassVar

from assay import Output, Sample, Score


@dataclass(frozen=True)
class WordErrors:
    """Insertions, deletions and substitutions over the words of the reference."""

    ignore_case: bool = True
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __call__(self, sample: Sample, output: Output) -> Score:
        """Errors for each word of the reference; the counts stand in the details."""
        wanted, said = self._words(str(sample.target)), self._words(output.text)
        if not wanted:
            return Score.unparsed(reason="the reference has no words")
        errors = distance(wanted, said)
        return Score(
            errors / len(wanted),
            answer=" ".join(said),
            details={"errors": errors, "words": len(wanted)},
        )

    def _words(self, text: str) -> list[str]:
        return (text.casefold() if self.ignore_case else text).split()


def distance(one: list[str], other: list[str]) -> int:
    """Return the smallest number of words to insert, delete or replace."""
    row = list(range(len(other) + 1))
    for count, word in enumerate(one, 1):
        diagonal, row[0] = row[0], count
        for place, said in enumerate(other, 1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (word != said)),
            )
    return row[-1]
