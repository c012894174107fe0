"""Text in an image: how much of the expected text was recognised.

The recognised text is the saved entry `recognised`, or the output's own text. With any number, name the recogniser.
"""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, named, no_answer, no_target
from ..saved_media import saved

_NAMES = ("word_accuracy", "ned", "line_match")


@scorers.register("ocr_text")
@dataclass(frozen=True)
class OcrText:
    """Expected words and lines that were recognised, and edit similarity, each 0 to 1, against the best target."""

    ignore_case: bool = True
    reads: ClassVar[tuple[str, ...]] = ()

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        recognised = saved(sample, output, "recognised")
        if recognised is None:
            silence = no_answer(output)
            if silence:
                return named(silence, *_NAMES)
            recognised = output.text
        lines = _lines(
            recognised
            if isinstance(recognised, str)
            else "\n".join(map(str, recognised)),
            self.ignore_case,
        )
        scores = [
            _against(_lines(target, self.ignore_case), lines) for target in targets
        ]
        best = max(scores, key=lambda score: score["ned"])
        return Score(best, answer="\n".join(lines))


def _against(wanted: list[str], answer: list[str]) -> dict[str, float]:
    """Return the three values of an answer against one target."""
    words = Counter(" ".join(wanted).split())
    answer_words = Counter(" ".join(answer).split())
    lines = Counter(wanted)
    return {
        "word_accuracy": (words & answer_words).total() / words.total()
        if words
        else float(not answer_words),
        "ned": edit_similarity("\n".join(wanted), "\n".join(answer)),
        "line_match": (lines & Counter(answer)).total() / lines.total()
        if lines
        else float(not answer),
    }


def edit_similarity(wanted: str, answer: str) -> float:
    """Return 1 - edits / length of the longer text; two empty texts are equal."""
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(wanted, answer))


def _lines(text: str, ignore_case: bool) -> list[str]:
    """Return the lines that are not blank, with single blanks."""
    folded = text.casefold() if ignore_case else text
    kept_lines = []
    for line in (" ".join(line.split()) for line in folded.splitlines()):
        if line:
            kept_lines.append(line)
    return kept_lines
