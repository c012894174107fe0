"""The vote of repeated answers: each question gets the verdict on its most frequent answer.

Every candidate of every epoch has one vote.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..core import (
    LIMITS,
    UNRESOLVED,
    WITH_VALUE,
    Outcome,
    Result,
    ScoreRecord,
    SummarizerError,
    SummaryContext,
)
from ..registry import summarizers
from .attempts import Attempts
from .derived import mean_of_units, number_of, verdict
from .score_table import read_table, vote_of


@dataclass(slots=True)
class _Vote:
    """The answers to one question, with the verdict on each."""

    first: ScoreRecord
    ballots: Counter[str] = field(default_factory=Counter)
    verdicts: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """All values of each metric by answer, because a judge may grade the same answer differently."""
    unread: int = 0

    def leaders(self) -> list[str]:
        """Return the answers with the most votes; several are a tie."""
        top = max(self.ballots.values(), default=0)
        return [answer for answer, votes in self.ballots.items() if votes == top]


@summarizers.register("majority")
@dataclass(frozen=True, slots=True)
class Majority:
    """The mean over questions of the verdict on the most frequent answer of all candidates and epochs.

    An answer that could not be read does not vote; a question with no other answer is wrong. A tie counts as the
    mean of the tied verdicts, and the details count ties. Different verdicts on the same answer count as their
    mean.
    """

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield `metric.majority` for each metric."""
        attempts = Attempts(records)
        metrics = read_table(attempts).names(context.scorer)
        votes = _read_votes(attempts, metrics, context)
        leaders = (len(vote.leaders()) > 1 for vote in votes.values())
        ties = sum(leaders)
        for metric in metrics:
            name = f"{metric}.majority"
            table = read_table(
                _verdict(id, vote, metric, name) for id, vote in votes.items()
            )
            result = mean_of_units(table, name, context)
            details = {**result.details, "tied": ties}
            yield replace(result, n_expected=context.n_expected, details=details)


def _read_votes(
    records: Sequence[ScoreRecord],
    metrics: Sequence[str],
    context: SummaryContext,
) -> dict[str, _Vote]:
    """Return the votes and the verdicts on each answer, by sample."""
    votes: dict[str, _Vote] = {}
    for record in records:
        vote = votes.get(record.id)
        if vote is None:
            unresolved = verdict(record, record.id, "", None, record.outcome)
            vote = votes[record.id] = _Vote(unresolved)
        if record.outcome in UNRESOLVED:
            continue
        if record.outcome not in WITH_VALUE:
            vote.unread += 1
            continue
        answer = vote_of(record)
        if answer is None and record.outcome in LIMITS:
            vote.unread += 1
            continue
        if answer is None:
            raise SummarizerError(
                f"sample {record.id!r} was scored without an extracted answer: there is nothing to vote on",
                where="summarizer 'majority'",
                fix="let the scorer set `answer`",
            )
        vote.ballots[answer] += 1
        numbers = vote.verdicts.setdefault(answer, {})
        for metric in metrics:
            number = number_of(record, metric, context)
            if number is not None:
                values = numbers.setdefault(metric, [])
                values.append(number)
    return votes


def _verdict(
    id: str,
    vote: _Vote,
    metric: str,
    name: str,
) -> ScoreRecord:
    """Return a record with the mean verdict on the answers with the most votes."""
    value_lists = []
    for answer in vote.leaders():
        verdicts = vote.verdicts[answer]
        if metric in verdicts:
            value_lists.append(verdicts[metric])
    numbers = [sum(values) / len(values) for values in value_lists]
    if numbers:
        return verdict(
            vote.first,
            id,
            name,
            sum(numbers) / len(numbers),
            Outcome.SCORED.value,
        )
    if vote.unread and not vote.ballots:
        outcome = Outcome.UNPARSED
    else:
        outcome = Outcome.MODEL_ERROR
    return verdict(vote.first, id, name, None, outcome.value)
