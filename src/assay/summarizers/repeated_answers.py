"""Repeated answers to a question: pass@k, pass^k, and the verdict of the majority.

pass@k is the probability that at least one of k answers to a question is right, pass^k
that all of them are. Candidates of a request and answers of other epochs are treated alike.
Both are unbiased estimates.

The majority verdict on a question is the verdict on its most frequent answer. Each
candidate of each epoch has one vote.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..core import (
    COUNTED_AS_ZERO,
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
from .mean import mean_of, mean_of_units, number_of, verdict
from .score_table import read_table, vote_of
from .statistics import pass_at_k, pass_hat_k


@dataclass(slots=True)
class _Answers:
    """How many answers to one question are right, were judged, and are missing."""

    first: ScoreRecord
    right: int = 0
    judged: int = 0
    lost: int = 0
    lost_as: str = Outcome.MODEL_ERROR.value
    """Why an answer to the question has no verdict: the outcome of the first such answer."""


@dataclass(frozen=True, slots=True)
class _PassK:
    k: int | Sequence[int] = 1
    right_at: float = 1.0
    """The lowest value of a right answer."""

    def __post_init__(self) -> None:
        for k in self._all_k():
            if not isinstance(k, int) or k < 1:
                raise SummarizerError(
                    f"k must be a positive integer, got {k!r}", where="pass@k"
                )

    def _all_k(self) -> tuple[int, ...]:
        """Return the values of k as a tuple."""
        if isinstance(self.k, int):
            return (self.k,)
        return tuple(self.k)

    def _results(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
        sign: str,
        chance: Callable[[int, int, int], float],
    ) -> Iterator[Result]:
        chances = context.as_share()
        attempts = Attempts(records)
        table = read_table(attempts)
        metrics = table.names(context.scorer)
        counted = _questions(attempts, metrics, self.right_at)
        for metric, questions in counted.items():
            for k in self._all_k():
                name = f"{metric}.pass{sign}{k}"
                rows = (
                    _verdict(id, answers, name, k, chance)
                    for id, answers in questions.items()
                )
                chances_of_rows = replace(read_table(rows), doubts=table.doubts)
                yield mean_of(chances_of_rows, name, chances)


@summarizers.register("pass_at_k")
@dataclass(frozen=True, slots=True)
class PassAtK(_PassK):
    """The probability that at least one of k answers is right."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield the result `METRIC.pass@k` for each metric and each k."""
        return self._results(records, context, "@", pass_at_k)


@summarizers.register("pass_hat_k")
@dataclass(frozen=True, slots=True)
class PassHatK(_PassK):
    """The probability that all of k answers are right."""

    def __call__(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
    ) -> Iterator[Result]:
        """Yield the result `METRIC.pass^k` for each metric and each k."""
        return self._results(records, context, "^", pass_hat_k)


def _verdict(
    id: str,
    answers: _Answers,
    name: str,
    k: int,
    chance: Callable[[int, int, int], float],
) -> ScoreRecord:
    # With the missing answers there might be enough for k, so the question is unresolved, and no error is raised.
    if answers.judged < k and answers.lost:
        return verdict(answers.first, id, name, None, answers.lost_as)
    if answers.judged < k:
        raise SummarizerError(
            f"k={k}, but sample {id!r} has {answers.judged} answer{'s' if answers.judged != 1 else ''}",
            where=f"metric {name!r}",
            fix=f"ask for at least {k} candidates (`n`) or `epochs`, or choose a smaller k",
        )
    return verdict(
        answers.first,
        id,
        name,
        chance(answers.judged, answers.right, k),
        Outcome.SCORED.value,
    )


def _questions(
    attempts: Attempts,
    metrics: Iterable[str],
    right_at: float,
) -> dict[str, dict[str, _Answers]]:
    """Count the right, judged and missing answers to each question, for each metric."""
    counts: dict[str, dict[str, _Answers]] = {metric: {} for metric in metrics}
    for record in attempts:
        for metric, questions in counts.items():
            answers = questions.get(record.id)
            if answers is None:
                answers = questions[record.id] = _Answers(_without_details(record))
            if record.outcome in COUNTED_AS_ZERO:
                answers.judged += 1
                continue
            if record.outcome in UNRESOLVED:
                value = None
            else:
                value = record.values.get(metric)
            if value is None:
                if not answers.lost and record.outcome in UNRESOLVED:
                    answers.lost_as = str(record.outcome)
                answers.lost += 1
            else:
                answers.judged += 1
                answers.right += value >= right_at
    return counts


def _without_details(record: ScoreRecord) -> ScoreRecord:
    """Return a copy of a record without values and details, to save memory."""
    return verdict(record, record.id, "", None, record.outcome)


@dataclass(slots=True)
class _Vote:
    """The votes on one question: its answers, and the verdict on each."""

    first: ScoreRecord
    ballots: Counter[str] = field(default_factory=Counter)
    verdicts: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """All values of each metric for each answer, because a judge may grade the same answer differently each time."""
    unread: int = 0

    def leaders(self) -> list[str]:
        """Return the answers with the most votes. Several answers are a tie."""
        top = max(self.ballots.values(), default=0)
        return [answer for answer, votes in self.ballots.items() if votes == top]


@summarizers.register("majority")
@dataclass(frozen=True, slots=True)
class Majority:
    """The mean over questions of the verdict on the most frequent answer, among all candidates and epochs.

    An answer that could not be read has no vote; a question without another answer is
    wrong. In a tie, the mean of the tied verdicts is used, and the details have the
    number of ties. Different verdicts on the same answer are averaged.
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
                _majority_verdict(id, vote, metric, name) for id, vote in votes.items()
            )
            result = mean_of_units(table, name, context)
            details = {**result.details, "tied": ties}
            yield replace(
                result,
                n_expected=context.n_expected,
                details=details,
            )


def _read_votes(
    records: Sequence[ScoreRecord],
    metrics: Sequence[str],
    context: SummaryContext,
) -> dict[str, _Vote]:
    """Return the votes of each sample, with the verdicts on each answer."""
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


def _majority_verdict(
    id: str,
    vote: _Vote,
    metric: str,
    name: str,
) -> ScoreRecord:
    """Return the record of a question for the majority: the mean verdict on the answers with the most votes."""
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
