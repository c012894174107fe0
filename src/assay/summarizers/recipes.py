"""Recipes: how a corpus metric is computed from the counts of its samples, and how counts are read from a record.

A recipe contains the name of a formula, and the entries of `details` that are added up:
`{"formula": "ratio", "counts": [["S", "D", "I"], ["N"]]}` is a word error rate. It is
stored with the result, so that two runs can be compared on the same samples long after
they were summarized.

A name such as `is_correct` is a value or a detail of the record's own scorer;
`judge.is_correct` also names the scorer.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ..core import COUNTED_AS_ZERO, EMPTY, UNRESOLVED, ScoreRecord
from .expressions import ROUNDS, Expression, is_number
from .statistics import POSITIVE
from .statistics.estimate import Ends, Floats

_ROUND = re.compile(r"(?:^|\.)round_(\d+)$")
__all__ = ["ROUNDS", "names_in", "number_named", "together"]


def number_named(record: ScoreRecord, name: str) -> object:
    """Return the value or detail of a record with this name: a number, or a list for
    `rounds`; None if it is missing.
    """
    if name == ROUNDS:
        return _rounds(record) or None
    for key in (name, f"{record.scorer}.{name}"):
        value = record.values.get(key)
        if value is not None and is_number(value):
            return float(value)
    member = name.removeprefix(f"{record.scorer}.")
    for key in (name, member):
        detail = record.details.get(key)
        if detail is not None and is_number(detail):
            return float(detail)
    return None


def _rounds(record: ScoreRecord) -> list[float]:
    """Return the values of all rounds of a dialogue, in order."""
    numbered = []
    for key, value in record.values.items():
        match = _ROUND.search(key)
        if match is not None and value is not None:
            numbered.append((int(match[1]), float(value)))
    return [value for _, value in sorted(numbered)]


def names_in(records: Iterable[ScoreRecord]) -> set[str]:
    """Return the names of all numeric values and details of the records."""
    names: set[str] = set()
    shapes: set[tuple[str, ...]] = set()
    for record in records:
        members = tuple(k for k, v in record.details.items() if is_number(v))
        shape = (record.scorer, *record.values, "", *members)
        if shape in shapes:
            continue
        shapes.add(shape)
        prefix = f"{record.scorer}."
        for key in record.values:
            names.update((key, key.removeprefix(prefix)))
        for member in members:
            names.update((member, f"{prefix}{member}"))
    return names


def together(beside: Mapping[str, Sequence[ScoreRecord]]) -> Iterator[ScoreRecord]:
    """Yield one record for each answer, with the values of all scorers. Those of the first scorer need no prefix.

    If one of the scorers has no verdict on an answer, its record is unresolved.
    """
    joined: dict[tuple[str, int], ScoreRecord] = {}
    for records in beside.values():
        for record in records:
            key = record.id, record.epoch
            first = joined.get(key)
            prefixed = _with_prefixes(record)
            joined[key] = prefixed if first is None else _merge(first, prefixed)
    yield from joined.values()


def _with_prefixes(record: ScoreRecord) -> ScoreRecord:
    """Return a copy of the record in which each numeric detail is also available as `SCORER.NAME`."""
    details: dict[str, Any] = {}
    for name, value in record.details.items():
        if is_number(value):
            details[name] = value
            details[f"{record.scorer}.{name}"] = value
    return replace(record, details=details, candidates=())


def _merge(first: ScoreRecord, other: ScoreRecord) -> ScoreRecord:
    """Merge two scorers' records of the same answer."""
    values = {**other.values, **first.values}
    details = {**other.details, **first.details}
    outcome = first.outcome
    if other.outcome in UNRESOLVED and first.outcome not in UNRESOLVED:
        outcome = other.outcome
    return replace(
        first,
        values=values,
        details=details,
        outcome=outcome,
    )


Formula = Callable[["Floats"], "Floats"]
"""A function from many rows of sums to one value for each row."""

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
"""The lowest and the highest value of each formula, by the formula's name."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How the counts of a user's formula are computed from a record: with expressions
    of the record's values and details.
    """

    unread: float | None = 0.0
    """The value to use for names that are missing from an unreadable answer. If None, the answer is left out."""
    is_joint: bool = False
    """True if the counts come from several scorers of the task."""

    def count(
        self,
        record: ScoreRecord,
        members: Sequence[str],
    ) -> float | None:
        """Return the sum of the expressions `members` for one answer; None if a value is missing."""
        total = 0.0
        for member in members:
            try:
                number = _parse(member).evaluate(
                    lambda name: self._number(record, name)
                )
            except (LookupError, ArithmeticError, ValueError):
                return None
            if not is_number(number):  # infinite, or the root of a negative number
                return None
            total += float(number)
        return total

    def _number(self, record: ScoreRecord, name: str) -> object:
        """Return the value with this name from a record; `unread` if the answer could
        not be read and has no such value.
        """
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
def _parse(text: str) -> Expression:
    """Parse an expression of a recipe. Results are cached."""
    return Expression.parse(text, "a count of a formula")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to compute a corpus metric: its formula, the counts that are summed, and the options of the formula."""

    formula: str
    counts: str | Sequence[Sequence[str]]
    """The entry of `details` that has all counts; or, for each count, the entries to add up."""
    weights: Sequence[Sequence[float]] | None = None
    """The weight of each count in the sums of a ratio, one row for each sum.

    By default each count is a separate sum.
    """
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    reading: Reading | None = None
    """How `counts` are computed as expressions, for a user's formula; otherwise None."""

    @property
    def ends(self) -> Ends:
        """The lowest and the highest value of the metric."""
        return SCALES[self.formula]

    @property
    def is_share(self) -> bool:
        """True for a share or a bounded mean, whose value is the first sum divided by the second."""
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

    def _count(
        self,
        record: ScoreRecord,
        names: Sequence[str],
    ) -> float | None:
        """Return one count of a record, or None if it has none."""
        if self.reading is None:
            return _sum(record.details, names)
        return self.reading.count(record, names)

    def function(self) -> Formula:
        """Return the formula as a function of many rows of sums at once."""
        return _formula(self.formula, **self.options)

    def to_plain(self) -> dict[str, Any]:
        """Return the recipe as JSON for `details` of a result."""
        plain: dict[str, Any] = {
            "formula": self.formula,
            "counts": _to_lists(self.counts),
        }
        if self.weights is not None:
            plain["weights"] = _to_lists(self.weights)
        if self.reading is not None:
            plain["reading"] = self.reading.to_plain()
        if self.options:
            return {**plain, "options": dict(self.options)}
        return plain

    @classmethod
    def from_plain(cls, plain: object) -> "Recipe | None":
        """Return the recipe in the details of a result; None if it is missing or in an unknown form."""
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
    """Return the formula called `name`. The modules that define formulas import this one, so they are imported here."""
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


def expression_of_sums(
    sums: "Floats",
    value: str,
    names: Sequence[str],
) -> "Floats":
    """Evaluate a user's formula for each row of sums. `names` has the name of each column."""
    import numpy as np

    columns = {name: sums[:, index] for index, name in enumerate(names)}
    expression = _parse(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = expression.evaluate(columns.__getitem__)
    numbers = np.asarray(result, float)
    # A formula without any name gives one number for all rows.
    shape = (len(sums),)
    return np.broadcast_to(numbers, shape).copy()


def _sum(
    details: Mapping[str, Any],
    names: Sequence[str],
) -> float | None:
    """Return the sum of the named counts; `None` if one is missing or not a finite number."""
    total = 0.0
    for name in names:
        is_constant = name == ONE
        count = 1.0 if is_constant else details.get(name)
        if not isinstance(count, (int, float)) or not is_number(count):
            return None
        total += count
    return total


ONE = "1"
"""The name of a count that is 1 for every answer, instead of an entry of `details`."""


def _to_lists(names: object) -> object:
    """Convert the tuples in nested names to lists, for JSON."""
    if isinstance(names, (list, tuple)):
        return [_to_lists(name) for name in names]
    return names
