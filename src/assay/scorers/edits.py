"""Edit counts between two sequences: the sufficient statistics of every error rate.

Rates of single samples cannot be averaged into the rate of a corpus; the counts can be added.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rapidfuzz.distance import LCSseq, Levenshtein

_SHORT = 1024
"""Up to this product of lengths filling the whole table is cheaper than asking twice."""
_EDIT = 4096
_WEIGHTS = (_EDIT, _EDIT, _EDIT + 1)
"""Insertion, deletion, substitution: the last costs a little more, and the sum tells edits and substitutions apart."""


class Edits(NamedTuple):
    """What turns the reference into the hypothesis, along one shortest path."""

    substitutions: int
    deletions: int
    insertions: int
    reference: int
    """Tokens of the reference."""

    @property
    def errors(self) -> int:
        """All edits together."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors for each token of the reference; without a reference, the number of insertions."""
        errors = self[0] + self[1] + self[2]
        return errors / self[3] if self[3] else float(errors)

    def details(self) -> dict[str, int]:
        """The counts under the names a summarizer pools: S, D, I, N."""
        return {
            "S": self.substitutions,
            "D": self.deletions,
            "I": self.insertions,
            "N": self.reference,
        }


def error_rate(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """The rate alone, without the kinds of edits: twice as fast, enough to choose among references."""
    distance = Levenshtein.distance(reference, hypothesis)
    return distance / len(reference) if reference else float(distance)


_edits = partial(tuple.__new__, Edits)
"""An `Edits` of a plain tuple, at half the price of its constructor."""


def count_edits(reference: Sequence[str], hypothesis: Sequence[str]) -> Edits:
    """The edits between two token lists, or between the characters of two texts.

    The lengths fix insertions minus deletions, so that errors and substitutions give the other counts. Substitutions
    are the errors beyond the difference of lengths, unless a shortest path has an insertion and a deletion instead of
    two of them. Only where such a path exists is the one that jiwer takes traced, which costs more than all the rest.
    """
    size, length = len(reference), len(hypothesis)
    surplus = length - size
    if size * length <= _SHORT:
        errors, substitutions = divmod(
            Levenshtein.distance(reference, hypothesis, weights=_WEIGHTS), _EDIT
        )
        is_open = substitutions != errors - abs(surplus)
    else:
        errors = Levenshtein.distance(reference, hypothesis)
        substitutions = errors - abs(surplus)
        # Such a pair instead of two substitutions keeps one token more in common.
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
