"""Recipes: how a corpus metric is computed from the counts of its samples, as plain data in a result.

A recipe names a formula and the members of `details` that it sums. With it, two runs can be compared on the same
samples long after they were summarized: `{"formula": "ratio", "counts": [["S", "D", "I"], ["N"]]}` is a word error
rate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..core import COUNTED_AS_ZERO, EMPTY, ScoreRecord
from .expressions import Expression
from .record_numbers import number_named
from .statistics import POSITIVE
from .statistics.estimate import Ends, Floats

Formula = Callable[["Floats"], "Floats"]
"""Takes many rows of sums, and gives one value for each."""

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
    "expression": (-math.inf, math.inf),
}
"""The formulas, and the lowest and highest value of each."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the counts of a user's formula are read: as expressions of the numbers in a record."""

    unread: float | None = 0.0
    """The value of an answer that could not be read; None leaves it out."""
    is_joint: bool = False
    """True if the counts come from several scorers of the task."""

    def count(self, record: ScoreRecord, members: Sequence[str]) -> float | None:
        """Return the sum of some expressions for one answer; None if a number is missing."""
        total = 0.0
        for member in members:
            try:
                number = _parsed(member).evaluate(
                    lambda name: self._number(record, name)
                )
            except (LookupError, ZeroDivisionError, ValueError):
                return None
            if not math.isfinite(number):
                return None
            total += float(number)
        return total

    def _number(self, record: ScoreRecord, name: str) -> object:
        """Return a number of the record; that of an unread answer if it has none."""
        number = number_named(record, name)
        if number is not None:
            return number
        if record.outcome in COUNTED_AS_ZERO and self.unread is not None:
            return self.unread
        raise LookupError(name)

    def to_plain(self) -> dict[str, Any]:
        """Return the reading as JSON."""
        return {"unread": self.unread, "is_joint": self.is_joint}


@lru_cache(maxsize=256)
def _parsed(text: str) -> Expression:
    """Parse the formula of a recipe."""
    return Expression.parse(text, "a count of a formula")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A formula, the counts it sums, and its options."""

    formula: str
    counts: str | Sequence[Sequence[str]]
    """A member of `details` that has all counts; or for each count the members to add."""
    weights: Sequence[Sequence[float]] | None = None
    """How the counts are added to the sums of a ratio, one row for each sum; by default unchanged."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    reading: Reading | None = None
    """Set for a user's formula: `counts` are then expressions."""

    @property
    def ends(self) -> Ends:
        """The lowest and the highest value of the number."""
        return SCALES[self.formula]

    @property
    def is_share(self) -> bool:
        """True for a mean between two ends: its first sum divided by its second."""
        return self.formula == "share"

    def read(self, record: ScoreRecord) -> Sequence[float] | None:
        """Return the counts of one answer; None if one of them is missing or is not a finite number."""
        if isinstance(self.counts, str):
            counts = record.details.get(self.counts)
        else:
            counts = [self._count(record, names) for names in self.counts]
            if any(count is None for count in counts):
                return None
        if counts is None:
            return None
        if self.reading is not None and record.weight is not None:
            counts = [count * record.weight for count in counts]
        if self.weights is None:
            return counts
        sums = []
        for row in self.weights:
            sums.append(
                math.fsum(w * count for w, count in zip(row, counts, strict=True))
            )
        return sums

    def _count(self, record: ScoreRecord, names: Sequence[str]) -> float | None:
        """Return one count of a record, or None if it has none."""
        if self.reading is None:
            return _sum(record.details, names)
        return self.reading.count(record, names)

    def function(self) -> Formula:
        """Return the formula, for many rows of sums at once."""
        return _formula(self.formula, **self.options)

    def to_plain(self) -> dict[str, Any]:
        """Return the recipe as JSON for `details` of a result."""
        plain: dict[str, Any] = {
            "formula": self.formula,
            "counts": _listed(self.counts),
        }
        if self.weights is not None:
            plain["weights"] = _listed(self.weights)
        if self.reading is not None:
            plain["reading"] = self.reading.to_plain()
        if self.options:
            return {**plain, "options": dict(self.options)}
        return plain

    @classmethod
    def from_plain(cls, plain: object) -> "Recipe | None":
        """Return the recipe of a result; `None` if it has none, or an unknown one."""
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
            Reading(**plain["reading"]) if plain.get("reading") else None,
        )


def _formula(name: str, **options: object) -> Formula:
    """Return the formula with a name. The imports are here because those modules import this one."""
    from .caption_summary import bleu_from
    from .statistics.jackknife import ratio_of_sums
    from .text_corpora import (
        bits_from,
        corpus_bleu_from,
        corpus_chrf_from,
        corpus_meteor_from,
        corpus_ter_from,
        perplexity_from,
    )

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
        "expression": expression_of_sums,
    }
    return lambda sums: formulas[name](sums, **options)


def expression_of_sums(sums: "Floats", value: str, names: Sequence[str]) -> "Floats":
    """Return a user's formula for each row of sums; `names` are those of the columns."""
    import numpy as np

    columns = {name: sums[:, index] for index, name in enumerate(names)}
    expression = _parsed(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = expression.evaluate(columns.__getitem__)
    numbers = np.asarray(result, float)
    # A formula without any name gives one number for all rows.
    shape = (len(sums),)
    return np.broadcast_to(numbers, shape).copy()


def _sum(details: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """Return the sum of the named counts; `None` if one is missing or not a finite number."""
    total = 0.0
    for name in names:
        is_constant = name == ONE
        count = 1.0 if is_constant else details.get(name)
        if not isinstance(count, (int, float)) or not math.isfinite(count):
            return None
        total += count
    return total


ONE = "1"
"""Counts every answer once, instead of naming a member of `details`."""


def _listed(names: Any) -> Any:
    """Return nested names as JSON: tuples become lists."""
    if isinstance(names, (str, int, float)):
        return names
    return [_listed(name) for name in names]
