"""Captions: what BLEU, ROUGE-L and CIDEr of a whole run are made from, sample by sample.

The value of one sample is its ROUGE-L; the summarizer `caption` makes the rest, because CIDEr weighs words by how many
images of the run mention them. Captions are tokenized as coco-caption does it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...core import Output, Sample, Score
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..options import check_option
from ..text._ptb import ptb_tokens

ORDERS = 4
BETA = 1.2


@scorers.register("caption")
@dataclass(frozen=True)
class Caption:
    """ROUGE-L of one caption; `details` has its BLEU counts and the tokens CIDEr counts."""

    tokenize: str = "ptb"
    """`ptb` as coco-caption; `none` takes captions as they are, split at blanks."""
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
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
        # The counts stay even where nothing was said: a missing caption lowers the score of the run.
        if silence := no_answer(output):
            return Score(value, silence.outcome, details=details)
        return Score(value, answer=details["tokens"], details=details)

    def _tokens(self, text: str) -> list[str]:
        return ptb_tokens(text) if self.tokenize == "ptb" else text.split()


def bleu_counts(
    tokens: Sequence[str], references: Sequence[Sequence[str]]
) -> list[int]:
    """Length, length of the closest reference, then n-grams said and n-grams matched for each of four orders."""
    closest = min(
        (abs(len(reference) - len(tokens)), len(reference)) for reference in references
    )[1]
    totals = [max(0, len(tokens) - n + 1) for n in range(1, ORDERS + 1)]
    matched = []
    for n in range(1, ORDERS + 1):
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= ngrams(reference, n)
        matched.append((ngrams(tokens, n) & most).total())
    return [len(tokens), closest, *totals, *matched]


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each run of `n` tokens occurs."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def rouge_l(tokens: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """F-measure with beta 1.2 of the best precision and the best recall, which may come from different references."""
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
