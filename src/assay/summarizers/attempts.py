"""The answers to a sample: what its n candidates and its e epochs mean for every number of a run.

One rule holds everywhere: an answer is an answer, whether it is a candidate of one request or the answer of another
epoch. A journal keeps one score record for each request; a summarizer is handed one record for each answer, n · e for
each sample, and the sample stays the unit that is drawn.

- Mean: the reducer of the run is applied once, to all answers of a sample. Each answer has its own outcome: one that
  could not be read counts as such, one without a verdict is counted, widens the bounds and is judged again by the next
  run, and the others of its request still count.
- Sums over a corpus (BLEU, chrF, TER, METEOR, WER, yes/no and whatever else reads `details`): every answer is pooled.
  No reducer but the mean has a meaning there: `pools` marks them, their rows say that another was not applied, and a
  run that has no other numbers refuses it before it starts.
- Means of groups, worst case: the samples are reduced first, and each counts once.
- pass@k, pass^k: the unbiased estimates over all answers of a sample.
- Majority: every answer that could be read has one vote.
- Numbers of groups (pairs, circular questions): the first answers of all members belong together, then the second; the
  reducer is applied to the verdicts on the group.
- A scorer of the whole set judges one set for each candidate of each epoch; its number is the mean over those sets.

A request that was not answered has lost as many answers as the first that was answered gave; one that was refused as a
whole has refused as many.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar, overload

from ..core import EMPTY, UNRESOLVED, Outcome, ScoreRecord

T = TypeVar("T")


def pools(summarizer: T) -> T:
    """Marks a summarizer to which every answer counts by itself: it has no reducer."""
    summarizer.pools = True  # type: ignore[attr-defined]
    return summarizer


@dataclass(frozen=True, slots=True)
class Attempts(Sequence[ScoreRecord]):
    """Score records with one for each answer; made anew each time they are read, so that none is kept.

    The epoch of each is the number of the attempt: repeats of a sample differ in it, as those of several requests do.
    """

    records: Iterable[ScoreRecord]
    """Read more than once."""
    asked: int = 1
    """Answers to a request, where none was given that could tell."""

    def __iter__(self) -> Iterator[ScoreRecord]:
        width = _width(self.records, self.asked)
        for record in self.records:
            if record.candidates:
                yield from _answers(record, width)
            elif width == 1:
                yield record
            else:
                for place in range(width if record.outcome in _WHOLE else 1):
                    yield replace(record, epoch=record.epoch * width + place)

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
"""What becomes of a request as a whole, whatever number of answers was asked for."""


def _width(records: Iterable[ScoreRecord], default: int) -> int:
    """How many answers a request gives, as the first that was answered says."""
    answered = (
        record
        for record in records
        if record.candidates or record.outcome not in _WHOLE
    )
    return (
        max(1, len(first.candidates))
        if (first := next(answered, None)) is not None
        else default
    )


def _answers(record: ScoreRecord, width: int) -> Iterator[ScoreRecord]:
    """Each answer of one request."""
    first = record.epoch * max(width, len(record.candidates))
    found = record.details
    for place, number in enumerate(record.candidates):
        yield replace(
            record,
            values=_values(record, _at(found, "values", place, number)),
            outcome=_at(found, "outcomes", place, _outcome_of(record, number)),
            epoch=first + place,
            answer=_at(found, "answers", place, None),
            details=_at(found, "candidates", place, EMPTY),
            candidates=(),
        )


def _at(details: Mapping[str, Any], name: str, place: int, otherwise: Any) -> Any:
    """What was kept of one candidate under a name, or else what its place among the values says."""
    entries = details.get(name)
    return (
        entries[place]
        if isinstance(entries, Sequence) and place < len(entries)
        else otherwise
    )


def _values(record: ScoreRecord, value: Any) -> Mapping[str, float | None]:
    if isinstance(value, Mapping):
        return {f"{record.scorer}.{name}": number for name, number in value.items()}
    return {} if value is None else {record.scorer: value}


def _outcome_of(record: ScoreRecord, number: float | None) -> str:
    """Of a record that does not say what became of each candidate."""
    if number is not None:
        return Outcome.SCORED.value
    return record.outcome if record.outcome in UNRESOLVED else Outcome.JUDGE_ERROR.value
