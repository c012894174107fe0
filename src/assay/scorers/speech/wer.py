"""Error rates of transcripts by word, character or Han character, from counts of edits.

Every error rate is computed from the edit counts between two sequences. The rates of
samples cannot be averaged into the rate of a corpus, but their counts can be added.

Each score is the rate of one sample. The rate to report pools the counts S, D, I, N
over the corpus. The normalizer is part of the metric's name: `wer[whisper-en]` and
`wer[none]` are different metrics.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

from rapidfuzz.distance import LCSseq, Levenshtein

from ...core import Output, Requirement, Sample, Score, Spec
from ...registry import scorers
from ..answers import accepted, no_answer, no_target
from ..plain_text import plain_text
from .speech_normalize import HAN, REQUIRES, check_normalizer, check_script, normalizer

_SHORT = 1024
"""Texts are short if the product of their lengths is at most this.

For them one weighted edit distance is faster than two.
"""
_EDIT = 4096
_WEIGHTS = (_EDIT, _EDIT, _EDIT + 1)
"""Costs of insertion, deletion and substitution.

A substitution costs slightly more. From the total cost, both the number of edits and
the number of substitutions can then be computed.
"""


class Edits(NamedTuple):
    """The edits that turn the reference into the hypothesis, along one shortest path."""

    substitutions: int
    deletions: int
    insertions: int
    reference: int
    """The number of tokens in the reference, N."""

    @property
    def errors(self) -> int:
        """The number of all edits."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors per token of the reference; the number of insertions if the reference is empty."""
        errors = self[0] + self[1] + self[2]
        if self[3]:
            return errors / self[3]
        return float(errors)

    def details(self) -> dict[str, int]:
        """Return the counts under the names that summarizers add up: S, D, I, N."""
        return {
            "S": self.substitutions,
            "D": self.deletions,
            "I": self.insertions,
            "N": self.reference,
        }


def error_rate(
    reference: Sequence[str],
    hypothesis: Sequence[str],
) -> float:
    """Return the error rate alone. This is twice as fast as `count_edits`, and enough
    to choose the nearest reference.
    """
    distance = Levenshtein.distance(reference, hypothesis)
    if reference:
        return distance / len(reference)
    return float(distance)


_edits = partial(tuple.__new__, Edits)
"""Makes an `Edits` from a tuple, in half the time of its constructor."""


def count_edits(
    reference: Sequence[str],
    hypothesis: Sequence[str],
) -> Edits:
    """Return the edits between two token lists, or between the characters of two texts.

    Insertions minus deletions equals the difference in length. So two numbers, errors
    and substitutions, determine all counts. Usually each error beyond the difference in
    length is a substitution. But a shortest path may have an insertion and a deletion
    in place of two substitutions. Only in this case, the path that jiwer takes is
    traced, which is by far the slowest step.
    """
    size = len(reference)
    length = len(hypothesis)
    surplus = length - size
    if size * length <= _SHORT:
        errors, substitutions = divmod(
            Levenshtein.distance(reference, hypothesis, weights=_WEIGHTS), _EDIT
        )
        is_open = substitutions != errors - abs(surplus)
    else:
        errors = Levenshtein.distance(reference, hypothesis)
        substitutions = errors - abs(surplus)
        # An insertion and a deletion instead of two substitutions keep one token more in common.
        is_open = (
            substitutions > 1
            and LCSseq.similarity(reference, hypothesis)
            > min(size, length) - substitutions
        )
    if is_open:
        path = Levenshtein.editops(reference, hypothesis).as_list()
        substitutions = [edit[0] for edit in path].count("replace")
    insertions = (errors - substitutions + surplus) // 2
    return _edits(
        (substitutions, errors - substitutions - insertions, insertions, size)
    )


_MIXED = re.compile(rf"{HAN}|(?:(?!{HAN})\S)+")


class PooledRate:
    """Mixin with the name, direction and summarizers of an error rate. The normalizer is part of the name."""

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
        """The pooled rate (all errors over all reference tokens), and the share of samples with a rate above 1."""
        return (
            Spec(
                "pooled",
                {
                    "numerator": ("S", "D", "I"),
                    "denominator": "N",
                    "metric": self.metric,
                },
            ),
            # A model that repeats itself endlessly is visible in this share before it distorts the pooled rate.
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
    """Base of the three error rates. They differ in their tokens: words, characters or Han characters."""

    any_script: bool
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keep_blanks: ClassVar[bool] = True
    compares_text: ClassVar[bool] = True
    measures_transcripts: ClassVar[bool] = True
    """Marks a scorer of transcripts. A run then warns if the prompt of the task already contains the transcript."""

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        edits, answer = self.compare(references, output.text)
        details = rate_details(edits, self.metric)
        silence = no_answer(output)
        if silence:
            # Words that were not transcribed are counted as deletions in the corpus.
            return Score(edits.rate, silence.outcome, details=details)
        return Score(
            edits.rate,
            answer=answer,
            details=details,
        )

    def compare(
        self,
        references: Sequence[str],
        text: str,
    ) -> tuple[Edits, str]:
        """Return the score of a transcript against the nearest reference."""
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
        """Return the tokens of a normalized reference.

        Raise if the normalizer would delete letters of the reference's script.
        """
        if not self.any_script:
            check_script(self.normalize, reference, self.kind)
        if self.normalize == "none":
            return self.tokens(plain_text(reference))
        return self.tokens(_plain(self.normalize, self.keep_blanks, reference))

    @staticmethod
    @abstractmethod
    def tokens(text: str) -> Sequence[str]:
        """Return the tokens of a text that are counted: words or characters."""


@scorers.register("wer")
@dataclass(frozen=True)
class WordErrorRate(ErrorRate):
    """Word error rate: wrong, missing and added words, divided by the words of the reference.

    It exceeds 1 if the model writes many more words than the reference has.
    """

    normalize: str = "none"
    """The normalizer: `none`, `whisper-en`, `whisper-basic` or `zh`."""
    any_script: bool = False
    """Whether to allow `whisper-basic` even for scripts whose vowels it deletes, to reproduce a published value."""
    kind: ClassVar[str] = "wer"

    @staticmethod
    def tokens(text: str) -> Sequence[str]:
        return text.split()


@scorers.register("cer")
@dataclass(frozen=True)
class CharacterErrorRate(ErrorRate):
    """Character error rate. Spaces between words are characters, as in jiwer, unless the normalizer removes them."""

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
    """Mixed error rate, for Chinese with foreign words: a token is a Han character or a word of another script."""

    normalize: str = "none"
    any_script: bool = False
    kind: ClassVar[str] = "mer"

    @staticmethod
    def tokens(text: str) -> Sequence[str]:
        return _MIXED.findall(text)


def rate_details(edits: Edits, metric: str) -> dict[str, int | str]:
    """Return the details of a score: the counts that a summarizer pools, and the name of the metric."""
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
def _plain(
    normalize: str,
    keep_blanks: bool,
    reference: str,
) -> str:
    """Return a normalized reference. Results are cached, because candidates, epochs and models share references."""
    return normalizer(normalize, keep_blanks=keep_blanks)(reference)
