"""Early stopping: looks at the scores of a cell as they come, and says when `--until` is reached.

Samples are taken in the order in which they were drawn, each once all before it are judged: quick answers come first
and may be the easier ones. Scores of an earlier run in the folder count as if they came now.
"""

from collections.abc import Iterator, Mapping

from ...core import ScoreRecord
from ...store import RunWriter
from ...summarizers.attempts import Attempts
from ...summarizers.sample_values import values_by_sample
from ..counts.until import Until, parse_until
from ..plan.cell import Cell
from ..plan.stopping import watched_scoring
from ..scoring.scoring import Scoring
from ..summary.anytime import reads, sequence_of
from .verdicts import Tally


class EarlyStop:
    """The rule of one cell, and how far it has looked."""

    def __init__(
        self, rule: Until, cell: Cell, scoring: Scoring, tally: Tally, writer: RunWriter
    ) -> None:
        self._rule, self._cell, self._scoring = rule, cell, scoring
        self._tally, self._writer = tally, writer
        self._sequence = sequence_of(scoring, is_paired=rule.is_paired)
        self._seed = cell.run.seed or 0
        self._pending: dict[int, int] = {}
        """By place among all answers: where the line of its score lies."""
        self._left_out: set[int] = set()
        """Samples that could not be asked at all."""
        self._read = 0
        self._next = 0
        """The first sample that is not complete."""
        self._ready: list[int] = []
        """Lines of samples that are complete and not looked at yet."""
        self._count = 0
        self._metric = ""
        self._is_reached = False
        self.fault = ""
        """Why the rule could not be kept, once that is known."""

    def leave_out(self, sample: int) -> None:
        """A row that cannot be used has one line, however often it was to be asked."""
        self._left_out.add(sample)

    def is_reached(self) -> bool:
        """Whether the run has seen enough; called before each row is read."""
        if self._is_reached or self.fault or self._read == len(self._tally.order):
            return self._is_reached
        for place in range(self._read, len(self._tally.order)):
            self._pending[self._tally.order[place]] = self._tally.offset[place]
        self._read = len(self._tally.order)
        epochs = self._cell.task.epochs
        while self._is_complete(self._next, epochs):
            places = range(self._next * epochs, (self._next + 1) * epochs)
            self._next += 1
            self._ready += [
                self._pending.pop(place) for place in places if place in self._pending
            ]
            self._count += 1
            if self._rule.schedule.looks_at(self._count) and self._look():
                self._is_reached = True
                break
        return self._is_reached

    def notes(self, samples: int, *, is_whole: bool) -> Iterator[str]:
        """What became of the rule; `is_whole` says that nothing else ended the run."""
        name, rule = self._cell.task.name, self._rule.text
        if self.fault:
            yield f"{name}: --until {rule} was not looked at: {self.fault}"
        elif self._cell.taken is not None:
            yield f"{name}: stopped early by --until {rule} after {samples} samples in random order"
        elif is_whole:
            yield f"{name}: --until {rule} was not reached: all {samples} samples were asked"

    def _is_complete(self, sample: int, epochs: int) -> bool:
        if sample in self._left_out:
            return sample * epochs in self._pending
        return all(sample * epochs + epoch in self._pending for epoch in range(epochs))

    def _look(self) -> bool:
        """Takes in the samples that are complete; whether the rule is reached with them."""
        records = list(self._writer.scores_at(self._ready))
        self._ready = []
        if not self._metric:
            self._metric = _metric_of(records, self._scoring)
        if any(record.cluster is not None for record in records):
            self.fault = "samples go right or wrong together (`cluster`)"
            return False
        candidates = 1 if self._scoring.whole_output else self._cell.options.n
        try:
            attempts, reader = (
                Attempts(records, candidates),
                reads(self._scoring, self._metric),
            )
            for id, value in values_by_sample(
                attempts, reader, self._cell.task.reducer
            )[0].items():
                if not self._rule.is_paired:
                    self._sequence.add(value)
                elif (before := (self._cell.earlier_values or {}).get(id)) is not None:
                    self._sequence.add(value - before)
            now = self._sequence.estimate
        except ValueError as error:
            self.fault = str(error)
            return False
        # Looks are counted by samples drawn; some of them may be without a verdict, or unknown to the baseline.
        return self._rule.ends(now, self._count, self._seed)


def early_stop(
    cell: Cell, tallies: Mapping[str, Tally], writer: RunWriter
) -> EarlyStop | None:
    """The rule of a cell at work, where the run has one."""
    scoring = watched_scoring(cell)
    if cell.run.until is None or scoring is None:
        return None
    return EarlyStop(
        parse_until(cell.run.until), cell, scoring, tallies[scoring.name], writer
    )


def _metric_of(records: list[ScoreRecord], scoring: Scoring) -> str:
    """The first number of the scorer."""
    names = dict.fromkeys(name for record in records for name in record.values)
    return scoring.name if scoring.name in names or not names else next(iter(names))
