"""Error rates of transcripts: by word (WER), by character (CER), by Han character or Latin word (MER).

Each score is the rate of one sample. The number to report pools the counts S, D, I, N over the corpus. The
normalizer is part of the metric's name: `wer[whisper-en]` and `wer[none]` are different metrics.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ...core import Output, Requirement, Sample, Score, Spec
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..edits import Edits, count_edits, error_rate
from ..plain_text import plain_text
from .chinese_text import HAN
from .speech_normalize import REQUIRES, check_normalizer, check_script, normalizer

_MIXED = re.compile(rf"{HAN}|(?:(?!{HAN})\S)+")


class PooledRate:
    """Name, direction and summarizers of an error rate. The normalizer is part of its name."""

    normalize: str
    kind: ClassVar[str]
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        check_normalizer(self.normalize, self.kind)

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The libraries of the normalizer."""
        return REQUIRES.get(self.normalize, ())

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return f"{self.kind}[{self.normalize}]"

    @property
    def summarizers(self) -> tuple[Spec, ...]:
        """All errors over all reference tokens, and the number of samples with more errors than tokens."""
        return (
            Spec(
                "pooled",
                {
                    "numerator": ("S", "D", "I"),
                    "denominator": "N",
                    "metric": self.metric,
                },
            ),
            # A model caught in a loop shows here before it spoils the pooled rate.
            Spec(
                "pooled",
                {
                    "numerator": "above_one",
                    "denominator": "utterances",
                    "metric": f"{self.metric}>1",
                },
            ),
        )


class ErrorRate(PooledRate, ABC):
    """Base of the three rates, which differ in their tokens."""

    any_script: bool
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keep_blanks: ClassVar[bool] = True
    compares_text: ClassVar[bool] = True
    measures_transcripts: ClassVar[bool] = True
    """Marks a scorer for which a transcript in the prompt is a fault of the task."""

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        edits, answer = self.compare(references, output.text)
        details = rate_details(edits, self.metric)
        silence = no_answer(output)
        if silence:
            # Words that were not transcribed stay in the corpus as deletions.
            return Score(edits.rate, silence.outcome, details=details)
        return Score(edits.rate, answer=answer, details=details)

    def compare(self, references: Sequence[str], text: str) -> tuple[Edits, str]:
        """Return the edits to the nearest reference, and the normalized text."""
        plain = normalizer(self.normalize, keep_blanks=self.keep_blanks)(text)
        tokens = self.tokens(plain)
        expected = [self._expected(reference) for reference in references]
        if len(expected) == 1:
            nearest = expected[0]
        else:
            nearest = min(
                expected,
                key=lambda reference_tokens: error_rate(reference_tokens, tokens),
            )
        return count_edits(nearest, tokens), plain

    def _expected(self, reference: str) -> Sequence[str]:
        """Return the tokens of a reference."""
        if not self.any_script:
            check_script(self.normalize, reference, self.kind)
        if self.normalize == "none":
            return self.tokens(plain_text(reference))
        return self.tokens(_plain(self.normalize, self.keep_blanks, reference))

    @staticmethod
    @abstractmethod
    def tokens(text: str) -> Sequence[str]:
        """Return the tokens that are counted."""


@scorers.register("wer")
@dataclass(frozen=True)
class WordErrorRate(ErrorRate):
    """Word error rate: wrong, missing and added words per word of the reference.

    It exceeds 1 if the model keeps talking.
    """

    normalize: str = "none"
    """`none`, `whisper-en`, `whisper-basic` or `zh`."""
    any_script: bool = False
    """Allow `whisper-basic` for scripts whose vowels it deletes, to reproduce a published number."""
    kind: ClassVar[str] = "wer"

    @staticmethod
    def tokens(text: str) -> Sequence[str]:
        return text.split()


@scorers.register("cer")
@dataclass(frozen=True)
class CharacterErrorRate(ErrorRate):
    """Character error rate. Blanks between words count, as in jiwer, unless the normalizer removes them."""

    normalize: str = "none"
    any_script: bool = False
    kind: ClassVar[str] = "cer"
    keep_blanks: ClassVar[bool] = False

    @staticmethod
    def tokens(text: str) -> Sequence[str]:
        return text.strip()


@scorers.register("mer")
@dataclass(frozen=True)
class MixedErrorRate(ErrorRate):
    """Mixed error rate for Chinese with other languages in it: a token is a Han character or a Latin word."""

    normalize: str = "none"
    any_script: bool = False
    kind: ClassVar[str] = "mer"

    @staticmethod
    def tokens(text: str) -> Sequence[str]:
        return _MIXED.findall(text)


def rate_details(edits: Edits, metric: str) -> dict[str, int | str]:
    """Return the counts that a summarizer pools, and the name of the metric."""
    substitutions, deletions, insertions, size = edits
    return {
        "S": substitutions,
        "D": deletions,
        "I": insertions,
        "N": size,
        "utterances": 1,
        "above_one": int(substitutions + deletions + insertions > max(size, 1)),
        "metric": metric,
    }


@lru_cache(maxsize=8192)
def _plain(normalize: str, keep_blanks: bool, reference: str) -> str:
    """Return a normalized reference from a cache: references repeat over candidates, epochs and models."""
    return normalizer(normalize, keep_blanks=keep_blanks)(reference)
