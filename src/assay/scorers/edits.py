"""Edit counts between two sequences: the sufficient statistics of every error rate.

Rates of single samples cannot be averaged into the rate of a corpus; the counts can be added.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein


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
        return self.errors / self.reference if self.reference else float(self.errors)

    def details(self) -> dict[str, int]:
        """The counts under the names a summarizer pools: S, D, I, N."""
        return {"S": self.substitutions, "D": self.deletions, "I": self.insertions, "N": self.reference}


def count_edits(reference: Sequence[str], hypothesis: Sequence[str]) -> Edits:
    """The edits between two token lists, or between the characters of two texts."""
    size, said = len(reference), len(hypothesis)
    if reference == hypothesis:
        return Edits(0, 0, 0, size)
    if not size or not said:
        return Edits(0, size, said, size)
    tags = [edit[0] for edit in Levenshtein.editops(reference, hypothesis).as_list()]
    substitutions = tags.count("replace")
    # The path fixes deletions minus insertions by the lengths, so two counts give the third.
    deletions = (len(tags) - substitutions + size - said) // 2
    return Edits(substitutions, deletions, len(tags) - substitutions - deletions, size)
