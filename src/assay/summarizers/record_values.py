"""The values of score records for a user's summarizer: every record has every name.

Names are `SCORER.NAME`; the short `NAME` works, too. A record that could not be read, or that has no verdict, has
the worst value under every name, so that a plain sum over records never fails. `record.outcome` distinguishes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from ..core import COUNTED_AS_ZERO, UNRESOLVED, ScoreRecord, SummaryContext
from ..core.score import ValueScale

FAILED = COUNTED_AS_ZERO | UNRESOLVED


class NamedValues(dict[str, float | None]):
    """The values of one record by name; an unknown name is an error that lists the known ones."""

    def __init__(
        self,
        values: Mapping[str, float | None],
        scorer: str,
        failed: ValueScale | None,
    ) -> None:
        super().__init__(values)
        self._scorer, self._failed = scorer, failed

    def __missing__(self, name: str) -> float | None:
        whole = f"{self._scorer}.{name}"
        if whole in self:
            return self[whole]
        if self._failed is not None:
            return worst_of(self._failed, name.removeprefix(f"{self._scorer}."))
        names = ", ".join(map(repr, self)) or "none"
        raise KeyError(f"no value {name!r} in record.values; it has {names}")

    def get(self, name: str, default: object = None) -> Any:
        """Return a value by its whole or its short name."""
        try:
            return self[name]
        except KeyError:
            return default


def worst_of(scale: ValueScale, name: str) -> float:
    """Return the value of a failed record under a name: the worst value, 0 if it is not known."""
    worst = scale.of(name).worst
    return 0.0 if worst is None else worst


@dataclass(frozen=True, slots=True)
class FilledRecords(Sequence[ScoreRecord]):
    """Records with every name in each. They are created while reading, so that none stays in memory."""

    records: Sequence[ScoreRecord]
    names: tuple[str, ...]
    scale: ValueScale

    @classmethod
    def of(
        cls,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> "FilledRecords":
        """Return wrapped records. The names are those of the scored records and those that the scorer declares."""
        scale = context.scale or ValueScale(context.higher_is_better, context.bounds)
        names = dict.fromkeys(f"{context.scorer}.{name}" for name in scale.names)
        for record in records:
            if record.outcome not in FAILED:
                names.update(dict.fromkeys(record.values))
        return cls(records, tuple(names) or (context.scorer,), scale)

    def __iter__(self) -> Iterator[ScoreRecord]:
        return map(self._filled, self.records)

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, position: int) -> ScoreRecord: ...
    @overload
    def __getitem__(self, position: slice) -> list[ScoreRecord]: ...
    def __getitem__(self, position: int | slice) -> ScoreRecord | list[ScoreRecord]:
        if isinstance(position, slice):
            return [self._filled(record) for record in self.records[position]]
        return self._filled(self.records[position])

    def _filled(self, record: ScoreRecord) -> ScoreRecord:
        """Return the record with a value under every name."""
        if record.outcome not in FAILED:
            values = NamedValues(record.values, record.scorer, None)
            return replace(record, values=values)
        filled: dict[str, float | None] = {}
        for name in self.names:
            value = record.values.get(name)
            short = name.removeprefix(f"{record.scorer}.")
            # A value other than 0 was read by a rule of its own, although others read nothing.
            filled[name] = value or worst_of(self.scale, short)
        return replace(record, values=NamedValues(filled, record.scorer, self.scale))
