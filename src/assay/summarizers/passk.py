"""pass@k and pass^k: the chance that at least one, or every one, of k answers to a question is right.

The answers are the candidates of each request and its epochs together; both numbers are the unbiased estimates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..core import (
    COUNTED_AS_ZERO,
    UNRESOLVED,
    Outcome,
    Result,
    ScoreRecord,
    SummarizerError,
    SummaryContext,
)
from ..registry import summarizers
from .attempts import Attempts
from .derived import verdict
from .mean import mean_of
from .statistics import pass_at_k, pass_hat_k
from .table import read_table


@dataclass(slots=True)
class _Answers:
    """The answers to one question: how many are right, how many wrong, how many never came."""

    first: ScoreRecord
    right: int = 0
    judged: int = 0
    lost: int = 0
    lost_as: str = Outcome.MODEL_ERROR.value
    """What became of the first that never came."""


@dataclass(frozen=True, slots=True)
class _PassK:
    k: int | Sequence[int] = 1
    right_at: float = 1.0
    """The value from which an answer is right."""

    def __post_init__(self) -> None:
        for k in self._all_k():
            if not isinstance(k, int) or k < 1:
                raise SummarizerError(
                    f"k must be a whole number from 1 on, got {k!r}", where="pass@k"
                )

    def _all_k(self) -> tuple[int, ...]:
        return (self.k,) if isinstance(self.k, int) else tuple(self.k)

    def _results(
        self,
        records: Sequence[ScoreRecord],
        context: SummaryContext,
        sign: str,
        chance: Callable[[int, int, int], float],
    ) -> Iterator[Result]:
        chances = replace(context, bounds=(0.0, 1.0), higher_is_better=True)
        for metric, questions in _questions(records, context, self.right_at).items():
            for k in self._all_k():
                name = f"{metric}.pass{sign}{k}"
                rows = (
                    _verdict(id, answers, name, k, chance)
                    for id, answers in questions.items()
                )
                yield mean_of(read_table(rows), name, chances)


@summarizers.register("pass_at_k")
@dataclass(frozen=True, slots=True)
class PassAtK(_PassK):
    """The chance that at least one of k answers is right."""

    def __call__(
        self, records: Sequence[ScoreRecord], context: SummaryContext
    ) -> Iterator[Result]:
        """`metric.pass@k` for each k."""
        return self._results(records, context, "@", pass_at_k)


@summarizers.register("pass_hat_k")
@dataclass(frozen=True, slots=True)
class PassHatK(_PassK):
    """The chance that all of k answers are right."""

    def __call__(
        self, records: Sequence[ScoreRecord], context: SummaryContext
    ) -> Iterator[Result]:
        """`metric.pass^k` for each k."""
        return self._results(records, context, "^", pass_hat_k)


def _verdict(
    id: str,
    answers: _Answers,
    name: str,
    k: int,
    chance: Callable[[int, int, int], float],
) -> ScoreRecord:
    # A question that lost answers may have had enough of them: it cannot be blamed.
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
    records: Sequence[ScoreRecord], context: SummaryContext, right_at: float
) -> dict[str, dict[str, _Answers]]:
    """For each metric, the counts of each question."""
    attempts = Attempts(records)
    metrics = read_table(attempts).names(context.scorer)
    found: dict[str, dict[str, _Answers]] = {metric: {} for metric in metrics}
    for record in attempts:
        for metric, questions in found.items():
            answers = questions.get(record.id)
            if answers is None:
                answers = questions[record.id] = _Answers(_bare(record))
            if record.outcome in COUNTED_AS_ZERO:
                answers.judged += 1
                continue
            value = None if record.outcome in UNRESOLVED else record.values.get(metric)
            if value is None:
                if not answers.lost and record.outcome in UNRESOLVED:
                    answers.lost_as = str(record.outcome)
                answers.lost += 1
            else:
                answers.judged += 1
                answers.right += value >= right_at
    return found


def _bare(record: ScoreRecord) -> ScoreRecord:
    """The record without what only its own scorer needs, so that many can be kept."""
    return verdict(record, record.id, "", None, record.outcome)
