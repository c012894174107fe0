"""The overlap of words with a target: ROUGE and token F1.

ROUGE counts the n-grams, or the longest common subsequence, that a summary shares with
its reference. The values equal those of the rouge-score library. The longest common
subsequence is computed with rapidfuzz, because the library's own code for it is slow.
With `words: ascii`, texts in other scripts have no words.

Token F1 is the overlap of the answer's words with the target's words, counted as
multisets: the answer `no no no` scores 0.5 against `no`. If there are several
targets, the best one is used.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, ClassVar

from rapidfuzz.distance import LCSseq

from ...core import Output, Requirement, Sample, Score
from ...registry import scorers
from ..answers import AgainstTargets, accepted, named, no_answer, no_target
from ..scorer_options import check_option
from .normalize_text import (
    ascii_words,
    cjk_words,
    cjk_words_of_target,
    squad_words,
    squad_words_of_target,
)

_NAMES = ("rouge1", "rouge2", "rougeL")
_ROUGE_SCORE = Requirement("rouge_score", "rouge-score", "assay[metrics]")


@scorers.register("rouge")
@dataclass(frozen=True)
class Rouge:
    """F-measures `rouge1`, `rouge2` and `rougeL`, each against its best reference."""

    stemmer: bool = False
    """Whether English word endings are removed first, as in many papers."""
    words: str = "ascii"
    """How a text is split into words: `ascii` as in the published script, `cjk` for
    text that contains Chinese, Japanese or Korean.
    """
    lsum: bool = False
    """Whether `rougeLsum` is also computed, with lines as sentences.

    It is slow on long texts, because the library fills a table in Python.
    """
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_option("rouge", "words", self.words, ("ascii", "cjk"))

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The rouge-score library if the stemmer or `rougeLsum` is used; otherwise nothing."""
        if self.stemmer or self.lsum:
            return (_ROUGE_SCORE,)
        return ()

    @property
    def _names(self) -> tuple[str, ...]:
        if self.lsum:
            return (*_NAMES, "rougeLsum")
        return _NAMES

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        silence = no_answer(output)
        if silence:
            return named(silence, *self._names)
        answer = self._tokens(output.text)
        scores = [
            self._against(self._tokens(reference), answer) for reference in references
        ]
        if self.lsum:
            for score, reference in zip(scores, references, strict=True):
                score["rougeLsum"] = self._by_lines(reference, output.text)
        best = {name: max(score[name] for score in scores) for name in self._names}
        details = {name: list(best[name]) for name in self._names}
        return Score(
            {name: f for name, (f, _, _) in best.items()},
            details=details,
        )

    def rouge_l(self, reference: str, answer: str) -> float:
        """Return the F-measure of ROUGE-L between two texts."""
        reference_tokens = self._tokens(reference)
        answer_tokens = self._tokens(answer)
        return _f_measure(
            _common(reference_tokens, answer_tokens),
            len(reference_tokens),
            len(answer_tokens),
        )[0]

    def _by_lines(self, reference: str, answer: str) -> tuple[float, float, float]:
        """Return F-measure, precision and recall of `rougeLsum`, which compares line by line."""
        module = _ROUGE_SCORE.library(
            "rouge_score.rouge_scorer", "scorer 'rouge', option `lsum`"
        )
        score = module.RougeScorer(["rougeLsum"], tokenizer=_Tokens(self)).score(
            reference, answer
        )["rougeLsum"]
        return float(score.fmeasure), float(score.precision), float(score.recall)

    def _tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, stemmed if the option is set."""
        if self.words == "cjk":
            return cjk_words(text)
        words = ascii_words(text)
        if self.stemmer:
            return [_stemmed()(word) if len(word) > 3 else word for word in words]
        return words

    def _against(
        self,
        reference: Sequence[str],
        answer: Sequence[str],
    ) -> dict[str, tuple[float, float, float]]:
        """Return F-measure, precision and recall of each ROUGE metric against one reference."""
        return {
            "rouge1": _ngram_score(reference, answer, 1),
            "rouge2": _ngram_score(reference, answer, 2),
            "rougeL": _f_measure(
                _common(reference, answer),
                len(reference),
                len(answer),
            ),
        }


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Lets the rouge-score library split texts with the tokenizer of a `Rouge` scorer."""

    rouge: Rouge

    def tokenize(self, text: str) -> list[str]:
        return self.rouge._tokens(text)


def _common(
    reference: Sequence[str],
    answer: Sequence[str],
) -> int:
    """Return the length of the longest common subsequence of two token lists."""
    return int(LCSseq.similarity(reference, answer))


def _ngram_score(
    reference: Sequence[str],
    answer: Sequence[str],
    n: int,
) -> tuple[float, float, float]:
    """Return F-measure, precision and recall of the n-grams that two token lists share."""
    reference_grams = _ngrams(reference, n)
    grams = _ngrams(answer, n)
    left = Counter(reference_grams)
    shared = 0
    for gram in grams:
        if left[gram] > 0:
            left[gram] -= 1
            shared += 1
    return _f_measure(shared, len(reference_grams), len(grams))


def _ngrams(
    tokens: Sequence[str],
    n: int,
) -> Sequence[Any]:
    if n == 1:
        return tokens
    return [*pairwise(tokens)]


def _f_measure(
    shared: int,
    in_reference: int,
    in_answer: int,
) -> tuple[float, float, float]:
    """Return F-measure, precision and recall from the counts of shared, reference and answer tokens."""
    if not shared:
        return 0.0, 0.0, 0.0
    precision = shared / in_answer
    recall = shared / in_reference
    return 2 * precision * recall / (precision + recall), precision, recall


@cache
def _stemmed() -> Callable[[str], str]:
    module = _ROUGE_SCORE.library(
        "nltk.stem.porter", "scorer 'rouge', option `stemmer`"
    )
    return lru_cache(maxsize=65536)(module.PorterStemmer().stem)


@scorers.register("f1")
@dataclass(frozen=True)
class TokenF1(AgainstTargets):
    """F1 of the answer's words against the best target, normalized as in SQuAD."""

    compares_text: ClassVar[bool] = True
    tokens: str = "words"
    """How words are compared. `words` is SQuAD's normalizer. `cjk` removes all
    punctuation, and compares Chinese, Japanese and Korean text character by character.
    """

    def __post_init__(self) -> None:
        check_option("f1", "tokens", self.tokens, ("words", "cjk"))

    def compare(
        self,
        output: Output,
        targets: tuple[str, ...],
    ) -> Score:
        """Return the score of an answer against the target that fits best."""
        is_cjk = self.tokens == "cjk"
        if is_cjk:
            words = cjk_words(output.text)
        else:
            words = squad_words(output.text)
        expected = cjk_words_of_target if is_cjk else squad_words_of_target
        return Score(
            max(token_f1(words, expected(target)) for target in targets),
            answer=" ".join(words),
        )


def token_f1(
    answer: Sequence[str],
    target: Sequence[str],
) -> float:
    """Return the F1 of two multisets of words; 1 if both are empty, 0 if one is."""
    if not answer or not target:
        return float(not answer and not target)
    if len(answer) == 1:
        shared = int(answer[0] in target)
    elif len(target) == 1:
        shared = int(target[0] in answer)
    else:
        # A dict is used because the checks in `Counter` cost more than counting short answers.
        left: dict[str, int] = {}
        for word in target:
            left[word] = left.get(word, 0) + 1
        shared = 0
        for word in answer:
            if left.get(word, 0) > 0:
                left[word] -= 1
                shared += 1
    return 2 * shared / (len(answer) + len(target))
