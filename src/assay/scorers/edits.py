"""Edit counts between two sequences: the sufficient statistics of every error rate.

The rates of single samples cannot be averaged into the rate of a corpus; the counts can be added.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rapidfuzz.distance import LCSseq, Levenshtein

_SHORT = 1024
"""Up to this product of lengths, filling the whole table is cheaper than two calls."""
_EDIT = 4096
_WEIGHTS = (_EDIT, _EDIT, _EDIT + 1)
"""Costs of insertion, deletion and substitution. A substitution costs 1 more, so that the sum gives both counts."""


class Edits(NamedTuple):
    """The edits that turn the reference into the hypothesis, along one shortest path."""

    substitutions: int
    deletions: int
    insertions: int
    reference: int
    """The number of tokens in the reference."""

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
        """Return the counts under the names that summarizers pool: S, D, I, N."""
        return {
            "S": self.substitutions,
            "D": self.deletions,
            "I": self.insertions,
            "N": self.reference,
        }


def error_rate(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """Return only the error rate, without the kinds of edits.

    It is twice as fast, and enough to choose a reference.
    """
    distance = Levenshtein.distance(reference, hypothesis)
    if reference:
        return distance / len(reference)
    return float(distance)


_edits = partial(tuple.__new__, Edits)
"""Makes an `Edits` from a plain tuple, in half the time of its constructor."""


def count_edits(reference: Sequence[str], hypothesis: Sequence[str]) -> Edits:
    """Return the edits between two token lists, or between the characters of two texts.

    The lengths fix insertions minus deletions, so errors and substitutions determine the other counts. The errors
    beyond the difference of lengths are substitutions, unless a shortest path has an insertion and a deletion
    instead of two of them. Only if such a path exists, the path that jiwer takes is traced, which costs more than
    all the rest.
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
