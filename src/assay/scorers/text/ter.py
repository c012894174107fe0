"""Translation edit rate as sacreBLEU computes it: edits per word of the reference. Moving a block is one edit.

Lower is better. The value of one sample is its own rate. The number to report pools edits and lengths over the corpus.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from ...core import Output, Requirement, Sample, Score
from ...registry import scorers
from ..answers import accepted, no_target, with_counts
from .translation import SACREBLEU

if TYPE_CHECKING:
    from sacrebleu.metrics.ter import TER

LONG = 20_000
"""Length in characters above which `_score` tries a faster way than sacreBLEU."""


@scorers.register("ter")
@dataclass(frozen=True)
class Ter:
    """TER of one translation. 0 is perfect; above 100 there are more edits than words in the reference."""

    normalized: bool = False
    """Use Tercom's own tokenization; otherwise words are split at blanks."""
    no_punct: bool = False
    asian_support: bool = False
    """Split Chinese and Japanese by character."""
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
    """Return the rate, the edits and the mean length of the references.

    If a very long text shares no word with any reference, there is nothing to move or keep. It needs as many edits
    as it has words; sacreBLEU would take seconds to find that.
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
