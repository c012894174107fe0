"""Edit counts between two sequences: the sufficient statistics of every error rate.

Rates of single samples cannot be averaged into the rate of a corpus; the counts can be added.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq, Levenshtein


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
        return {"S": self.substitutions, "D": self.deletions, "I": self.insertions, "N": self.reference}


def error_rate(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """The rate alone, without the kinds of edits: twice as fast, enough to choose among references."""
    distance = Levenshtein.distance(reference, hypothesis)
    return distance / len(reference) if reference else float(distance)


def count_edits(reference: Sequence[str], hypothesis: Sequence[str]) -> Edits:
    """The edits between two token lists, or between the characters of two texts."""
    size, said = len(reference), len(hypothesis)
    surplus = said - size
    errors = Levenshtein.distance(reference, hypothesis)
    # Errors beyond the difference of lengths are substitutions, or insertions that pair with deletions.
    substitutions = errors - abs(surplus)
    # Such a pair instead of two substitutions keeps one token more in common; only where there may be one is the
    # path traced, which costs more than all the rest.
    if substitutions > 1 and LCSseq.similarity(reference, hypothesis) > min(size, said) - substitutions:
        path = Levenshtein.editops(reference, hypothesis).as_list()
        substitutions = [edit[0] for edit in path].count("replace")
    # The lengths fix insertions minus deletions, so that one count gives the others.
    insertions = (errors - substitutions + surplus) // 2
    return Edits(substitutions, errors - substitutions - insertions, insertions, size)
