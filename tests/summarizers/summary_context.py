"""A context and short records for the tests of summarizers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core import ScoreRecord, SummaryContext


@dataclass(frozen=True)
class Context(SummaryContext):
    """A `SummaryContext` whose fields have defaults."""

    task: str = "demo"
    model: str = "scripted"
    protocol: str = "demo@1"
    scorer: str = "exact_match"
    n_expected: int | None = None
    seed: int = 7


def record(
    id: str, value: Any = None, outcome: str = "scored", **more: Any
) -> ScoreRecord:
    """A score record; `value` is a number, a dict of named numbers, or `None` for none at all."""
    values = (
        value
        if isinstance(value, Mapping)
        else {}
        if value is None
        else {"exact_match": value}
    )
    return ScoreRecord(
        "demo", "scripted", id, "exact_match", "d", values, outcome, **more
    )
