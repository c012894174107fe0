"""Recipes: how a corpus metric is made of the counts its samples stored, as plain data that a result keeps.

A recipe names a formula and the members of `details` it sums. With it two runs can be compared on the same samples long
after they were summarized: `{"formula": "ratio", "counts": [["S", "D", "I"], ["N"]]}` is a word error rate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import EMPTY, ScoreRecord
from .statistics import POSITIVE
from .statistics.estimate import Ends, Floats

Formula = Callable[["Floats"], "Floats"]
"""Many rows of sums in, one value for each out."""

SCALES: Mapping[str, Ends] = {
    "ratio": POSITIVE,
    "share": (0.0, 1.0),
    "bleu": (0.0, 100.0),
    "chrf": (0.0, 100.0),
    "ter": POSITIVE,
    "meteor": (0.0, 1.0),
    "caption_bleu": (0.0, 1.0),
    "perplexity": POSITIVE,
    "bits": POSITIVE,
}
"""The formulas, and between which values each lies."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A formula, what it sums, and its options."""

    formula: str
    counts: str | Sequence[Sequence[str]]
    """A member of `details` that holds all counts; or for each count the members that are added up."""
    weights: Sequence[Sequence[float]] | None = None
    """How the counts are added up to the sums of a ratio, one row for each sum; left out, as they are."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def ends(self) -> Ends:
        """Between which values the number lies."""
        return SCALES[self.formula]

    @property
    def is_share(self) -> bool:
        """Whether it is a mean between two ends, its first sum over its second."""
        return self.formula == "share"

    def read(self, record: ScoreRecord) -> Sequence[float] | None:
        """The counts of one answer; `None` if one of them is missing or is not a finite number."""
        if isinstance(self.counts, str):
            found = record.details.get(self.counts)
        else:
            found = [_sum(record.details, names) for names in self.counts]
            found = None if any(count is None for count in found) else found
        if found is None or self.weights is None:
            return found
        return [
            math.fsum(w * count for w, count in zip(row, found, strict=True))
            for row in self.weights
        ]

    def function(self) -> Formula:
        """The formula, for many rows of sums at once."""
        return _formula(self.formula, **self.options)

    def to_plain(self) -> dict[str, Any]:
        """The recipe as it stands in `details` of a result."""
        plain: dict[str, Any] = {
            "formula": self.formula,
            "counts": _listed(self.counts),
        }
        if self.weights is not None:
            plain["weights"] = _listed(self.weights)
        return {**plain, "options": dict(self.options)} if self.options else plain

    @classmethod
    def from_plain(cls, plain: Any) -> "Recipe | None":
        """The recipe a result holds; `None` if it holds none that is known."""
        if (
            not isinstance(plain, Mapping)
            or plain.get("formula") not in SCALES
            or "counts" not in plain
        ):
            return None
        return cls(
            plain["formula"],
            plain["counts"],
            plain.get("weights"),
            plain.get("options", EMPTY),
        )


def _formula(name: str, **options: Any) -> Formula:
    """Imported here: the summarizers that own the formulas import this module."""
    from .caption import bleu_from
    from .meteor import corpus_meteor_from
    from .perplexity import bits_from, perplexity_from
    from .statistics.jackknife import ratio_of_sums
    from .ter import corpus_ter_from
    from .translation import corpus_bleu_from, corpus_chrf_from

    formulas: dict[str, Callable[..., Floats]] = {
        "ratio": ratio_of_sums,
        "share": ratio_of_sums,
        "bleu": corpus_bleu_from,
        "chrf": corpus_chrf_from,
        "ter": corpus_ter_from,
        "meteor": corpus_meteor_from,
        "caption_bleu": bleu_from,
        "perplexity": perplexity_from,
        "bits": bits_from,
    }
    return lambda sums: formulas[name](sums, **options)


def _sum(details: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The sum of the named counts; `None` if one of them is not there or is not a finite number."""
    total = 0.0
    for name in names:
        count = 1.0 if name == ONE else details.get(name)
        if not isinstance(count, (int, float)) or not math.isfinite(count):
            return None
        total += count
    return total


ONE = "1"
"""In place of a member of `details`: every answer counts once."""


def _listed(names: Any) -> Any:
    return (
        names
        if isinstance(names, (str, int, float))
        else [_listed(name) for name in names]
    )
