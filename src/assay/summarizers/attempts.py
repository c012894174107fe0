"""How results are computed from the n candidates and e epochs of a sample.

All answers to a sample have the same weight, whether they are candidates of one request
or answers of different epochs. A journal has one score record for each request. A
summarizer gets one record for each answer, n · e for each sample. The bootstrap draws
samples, not answers.

- Mean: the reducer of the run is applied once, to all answers of a sample. Each answer has a separate outcome. An
  answer that could not be read is `unparsed`. An answer without a verdict is counted, widens the bounds, and is judged
  again by the next run; the other answers to the request are used meanwhile.
- Sums over a corpus (BLEU, chrF, TER, METEOR, WER, yes/no and others that read `details`): the counts of all answers
  are added up. Only the mean is a meaningful reducer there. `pools` marks these summarizers. Their rows note that
  another reducer was not applied. If a run has no other metrics, it refuses the reducer before it starts.
- pass@k, pass^k: the unbiased estimates over all answers of a sample.
- Majority: every answer that could be read has one vote.
- Metrics of groups (pairs, circular questions): the first answers of all members form one group, the second answers
  another. The reducer is applied to the verdicts on these groups.
- A scorer of the whole set scores one set for each candidate of each epoch; its value is the mean over those sets.

A request without an answer counts as several missing answers: as many as the first
answered request has. A request that was refused as a whole counts as that many refused
answers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar, overload

from ..core import EMPTY, UNRESOLVED, Outcome, ScoreRecord

T = TypeVar("T")


def pools(summarizer: T) -> T:
    """Mark a summarizer that uses every single answer. No reducer is applied before it."""
    summarizer.pools = True  # type: ignore[attr-defined]
    return summarizer


@dataclass(frozen=True, slots=True)
class Attempts(Sequence[ScoreRecord]):
    """Score records with one record for each answer. Each is created when it is read, to save memory.

    The `epoch` of a record is the index of the answer among all answers to its sample.
    """

    records: Iterable[ScoreRecord]
    """The journal's records, which are read twice: to find the number of answers per
    request, and to yield the answers.
    """
    per_request: int = 1
    """The assumed number of answers per request, for a run in which no request was answered."""

    def __iter__(self) -> Iterator[ScoreRecord]:
        width = _width(self.records, self.per_request)
        for record in self.records:
            if record.candidates:
                yield from _answers(record, width)
            elif width == 1:
                yield record
            else:
                for number in range(width if record.outcome in _WHOLE else 1):
                    yield replace(record, epoch=record.epoch * width + number)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, position: int) -> ScoreRecord: ...
    @overload
    def __getitem__(self, position: slice) -> list[ScoreRecord]: ...
    def __getitem__(self, position: int | slice) -> ScoreRecord | list[ScoreRecord]:
        if isinstance(position, slice) or position < 0:
            return list(self)[position]
        for record in islice(self, position, None):
            return record
        raise IndexError(f"there is no answer {position}")


_WHOLE = UNRESOLVED | {Outcome.REFUSED}
"""Outcomes that apply to a whole request, however many answers it should have returned."""


def _width(
    records: Iterable[ScoreRecord],
    default: int,
) -> int:
    """Return the number of answers per request, as in the first request that was answered."""
    answered = (
        record
        for record in records
        if record.candidates or record.outcome not in _WHOLE
    )
    first = next(answered, None)
    if first is not None:
        return max(1, len(first.candidates))
    return default


def _answers(record: ScoreRecord, width: int) -> Iterator[ScoreRecord]:
    """Yield one record for each answer of a request."""
    first = record.epoch * max(width, len(record.candidates))
    details = record.details
    for index, number in enumerate(record.candidates):
        yield replace(
            record,
            values=_values(record, _entry_of(details, "values", index, number)),
            outcome=_entry_of(details, "outcomes", index, _outcome_of(record, number)),
            epoch=first + index,
            answer=_entry_of(details, "answers", index, None),
            details=_entry_of(details, "candidates", index, EMPTY),
            candidates=(),
        )


def _entry_of(
    details: Mapping[str, Any],
    name: str,
    place: int,
    otherwise: object,
) -> Any:
    """Return the value in the list `details[name]` for the candidate at index `place`;
    `otherwise` if there is none.
    """
    entries = details.get(name)
    if isinstance(entries, Sequence) and place < len(entries):
        return entries[place]
    return otherwise


def _values(
    record: ScoreRecord, value: Mapping[str, float] | float | None
) -> Mapping[str, float | None]:
    if isinstance(value, Mapping):
        numbers = {}
        for name, number in value.items():
            numbers[f"{record.scorer}.{name}"] = number
        return numbers
    if value is None:
        return {}
    return {record.scorer: value}


def _outcome_of(
    record: ScoreRecord,
    number: float | None,
) -> str:
    """Return the outcome of one candidate of a record that does not have the outcomes of its candidates."""
    if number is not None:
        return Outcome.SCORED.value
    if record.outcome in UNRESOLVED:
        return record.outcome
    return Outcome.JUDGE_ERROR.value
