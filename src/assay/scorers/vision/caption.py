"""Captions: the counts of each sample from which BLEU, ROUGE-L and CIDEr of a run are computed.

The value of one sample is its ROUGE-L. The summarizer `caption` computes the rest, because CIDEr weights words by how
many images of the run mention them. Captions are tokenized as in coco-caption.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..scorer_options import check_option
from ..text._ptb import ptb_tokens

ORDERS = 4
BETA = 1.2


@scorers.register("caption")
@dataclass(frozen=True)
class Caption:
    """ROUGE-L of one caption. `details` has its BLEU counts and the tokens for CIDEr."""

    tokenize: str = "ptb"
    """`ptb` as in coco-caption; `none` splits captions at blanks."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True
    summarizers: ClassVar[tuple[str, ...]] = ("caption",)

    def __post_init__(self) -> None:
        check_option("caption", "tokenize", self.tokenize, ("ptb", "none"))

    def __call__(self, sample: Sample, output: Output) -> Score:
        targets = accepted(sample)
        if not targets:
            return no_target(sample)
        tokens = self._tokens(output.text)
        references = [self._tokens(target) for target in targets]
        details: dict[str, Any] = {
            "bleu": bleu_counts(tokens, references),
            "tokens": " ".join(tokens),
            "references": [" ".join(reference) for reference in references],
            "tokenizer": self.tokenize,
        }
        value = {"rouge_l": rouge_l(tokens, references)}
        # The counts stay even without an answer: a missing caption lowers the score of the run.
        silence = no_answer(output)
        if silence:
            return Score(value, silence.outcome, details=details)
        return Score(value, answer=details["tokens"], details=details)

    def _tokens(self, text: str) -> list[str]:
        if self.tokenize == "ptb":
            return ptb_tokens(text)
        return text.split()


def bleu_counts(
    tokens: Sequence[str],
    references: Sequence[Sequence[str]],
) -> list[int]:
    """Return the counts of BLEU.

    These are the length, the length of the closest reference, and for each of four orders the number of n-grams of
    the caption, then for each order the number of matching ones.
    """
    length = len(tokens)
    # Of two references that are equally close, the shorter one counts.
    distances = []
    for reference in references:
        distances.append((abs(len(reference) - length), len(reference)))
    closest = min(distances)[1]
    totals = []
    matched = []
    for n in range(1, ORDERS + 1):
        totals.append(max(0, length - n + 1))
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        common = ngrams(tokens, n) & most
        matched.append(common.total())
    return [length, closest, *totals, *matched]


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Return how often each run of `n` tokens occurs."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def rouge_l(tokens: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return the F-measure with beta 1.2 of the best precision and the best recall.

    They may come from different references.
    """
    from rapidfuzz.distance import LCSseq

    if not tokens:
        return float(any(not reference for reference in references))
    common = [int(LCSseq.similarity(tokens, reference)) for reference in references]
    precision = max(common) / len(tokens)
    recall = max(
        shared / max(len(reference), 1)
        for shared, reference in zip(common, references, strict=True)
    )
    if not precision or not recall:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)
