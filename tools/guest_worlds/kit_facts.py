"""What rows, answers and judges' words a dataset of the kits reads, where its code alone does not tell.

By the stem of its file. Facts about formats only: every text is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Facts:
    """One dataset: what differs from the rows that every class is tried with."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    """A value for all rows, or a list with one for each."""
    answer: Any = "A"
    """The column `answer`."""
    says: str | None = None
    """What the scripted model answers; the answer itself where nothing is named."""
    reply: str = "1"
    """What the judge says."""
    judge: str | None = "gpt-4o"
    """The judge's name; none leaves the argument out."""
    cls: str | None = None
    name: str | None = None
    without: tuple[str, ...] = ()
    """Columns that rows must not have."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the constructor."""
    files: tuple[str, ...] = ()
    """Files that the class looks for, below `$LMUData`; they are made as their suffix says."""


FACTS: dict[str, Facts] = {}
