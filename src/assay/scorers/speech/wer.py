"""Error rates of transcripts: by word (WER), by character (CER), by Han character or Latin word (MER).

Each is a rate of one sample; the number to report pools the counts S, D, I, N over the corpus. The normalizer is part
of the metric's name: `wer[whisper-en]` and `wer[none]` are different metrics.
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
from .chinese_text import HAN
from .speech_normalize import REQUIRES, check_normalizer, check_script, normalizer

_MIXED = re.compile(rf"{HAN}|(?:(?!{HAN})\S)+")


class PooledRate:
    """What every error rate says of itself; the normalizer is part of its name."""

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
        """The name that stands beside the number."""
        return f"{self.kind}[{self.normalize}]"

    @property
    def summarizers(self) -> tuple[Spec, ...]:
        """All errors over all reference tokens, and how many samples have more errors than tokens."""
        return (
            Spec(
                "pooled",
                {
                    "numerator": ("S", "D", "I"),
                    "denominator": "N",
                    "metric": self.metric,
                },
            ),
            # A model caught in a loop shows here before it ruins the first.
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
    """What the three rates share; they differ in what counts as one token."""

    any_script: bool
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keep_blanks: ClassVar[bool] = True
    measures_transcripts: ClassVar[bool] = True
    """A transcript that stands in the prompt of its recording is a fault of the task."""

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        edits, answer = self.compare(references, output.text)
        details = rate_details(edits, self.metric)
        if silence := no_answer(output):
            # The words that were not transcribed stay in the corpus as deletions.
            return Score(edits.rate, silence.outcome, details=details)
        return Score(edits.rate, answer=answer, details=details)

    def compare(self, references: Sequence[str], text: str) -> tuple[Edits, str]:
        """The edits to the nearest of the references, and the text as it was compared."""
        plain = normalizer(self.normalize, keep_blanks=self.keep_blanks)(text)
        tokens = self.tokens(plain)
        expected = [self._expected(reference) for reference in references]
        nearest = (
            expected[0]
            if len(expected) == 1
            else min(expected, key=lambda one: error_rate(one, tokens))
        )
        return count_edits(nearest, tokens), plain

    def _expected(self, reference: str) -> Sequence[str]:
        if not self.any_script:
            check_script(self.normalize, reference, self.kind)
        if self.normalize == "none":
            return self.tokens(reference)
        return self.tokens(_plain(self.normalize, self.keep_blanks, reference))

    @staticmethod
    @abstractmethod
    def tokens(text: str) -> Sequence[str]:
        """What is counted."""


@scorers.register("wer")
@dataclass(frozen=True)
class WordErrorRate(ErrorRate):
    """Word error rate: words wrong, left out or made up, for each word that was said; above 1 when it talks on."""

    normalize: str = "none"
    """`none`, `whisper-en`, `whisper-basic` or `zh`."""
    any_script: bool = False
    """Lets `whisper-basic` loose on scripts it mutilates, to reproduce a published number."""
    kind: ClassVar[str] = "wer"

    @staticmethod
    def tokens(text: str) -> Sequence[str]:
        return text.split()


@scorers.register("cer")
@dataclass(frozen=True)
class CharacterErrorRate(ErrorRate):
    """Character error rate; blanks between words count, as in jiwer, unless the normalizer takes them out."""

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
    """What a summarizer pools, and the name of what was counted."""
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
    """A normalized reference, remembered: references repeat over candidates, epochs and models."""
    return normalizer(normalize, keep_blanks=keep_blanks)(reference)
