"""Early stopping: check the scores of a task × model as they arrive, until `--until` is reached.

Samples count in the order in which they were drawn, not in the order of their answers:
quick answers arrive first and may be the easier ones. So each sample waits until all
samples before it have scores. Scores from an earlier run in the folder are treated as
if they arrived now.
"""

from collections.abc import Iterator, Mapping

from ...core import ScoreRecord
from ...core.errors import plural
from ...store import RunWriter
from ...summarizers.attempts import Attempts
from ...summarizers.units import values_by_sample
from ..plan.planned_task import PlannedTask
from ..plan.stopping import Until, parse_until, watched_scoring
from ..scoring.scoring import Scoring
from ..summary.anytime import reads, sequence_of
from .verdicts import Tally


class EarlyStop:
    """Applies the `--until` rule to one task × model, and keeps track of its samples."""

    def __init__(
        self,
        rule: Until,
        planned: PlannedTask,
        scoring: Scoring,
        tally: Tally,
        writer: RunWriter,
    ) -> None:
        self._rule = rule
        self._planned = planned
        self._scoring = scoring
        self._tally = tally
        self._writer = writer
        self._sequence = sequence_of(scoring, is_paired=rule.is_paired)
        self._seed = planned.run.seed or 0
        self._pending: dict[int, int] = {}
        """Offsets of score lines in the journal, by the position of their sample and epoch in the run."""
        self._left_out: set[int] = set()
        """Positions of the bad rows, which have one score line instead of one per epoch."""
        self._read = 0
        self._next = 0
        """Position of the first sample that lacks a score in some epoch."""
        self._ready: list[int] = []
        """Offsets of the score lines of complete samples that are not yet included in the rule."""
        self._count = 0
        self._metric = ""
        self._is_reached = False
        self.fault = ""
        """Reason why the rule cannot be applied; empty while it can."""

    def leave_out(self, sample: int) -> None:
        """Mark a sample as a bad row. It has a single score line instead of one per epoch."""
        self._left_out.add(sample)

    def is_reached(self) -> bool:
        """Return True if the run has enough samples. Called before each row is read."""
        if self._is_reached or self.fault or self._read == len(self._tally.order):
            return self._is_reached
        for position in range(self._read, len(self._tally.order)):
            self._pending[self._tally.order[position]] = self._tally.offset[position]
        self._read = len(self._tally.order)
        epochs = self._planned.task.epochs
        while self._is_complete(self._next, epochs):
            places = range(self._next * epochs, (self._next + 1) * epochs)
            self._next += 1
            self._ready += [
                self._pending.pop(position)
                for position in places
                if position in self._pending
            ]
            self._count += 1
            if self._rule.schedule.looks_at(self._count) and self._look():
                self._is_reached = True
                break
        return self._is_reached

    def notes(self, samples: int, *, is_whole: bool) -> Iterator[str]:
        """Yield a note that tells whether the rule ended the run.

        `is_whole` is False if an interruption or a budget ended it.
        """
        name = self._planned.task.name
        rule = self._rule.text
        if self.fault:
            yield f"{name}: --until {rule} was not applied: {self.fault}"
        elif self._planned.counted_rows is not None:
            yield f"{name}: stopped early by --until {rule} after {plural(samples, 'sample')} in random order"
        elif is_whole:
            yield f"{name}: --until {rule} was not reached: all {plural(samples, 'sample')} asked"

    def _is_complete(self, sample: int, epochs: int) -> bool:
        """Return True if all epochs of a sample have a score. A bad row has only one score."""
        if sample in self._left_out:
            return sample * epochs in self._pending
        return all(sample * epochs + epoch in self._pending for epoch in range(epochs))

    def _look(self) -> bool:
        """Add the scores of samples that are now complete. Return True if the rule ends the run with them."""
        records = list(self._writer.scores_at(self._ready))
        self._ready = []
        if not self._metric:
            self._metric = _metric_of(records, self._scoring)
        if any(record.cluster is not None for record in records):
            self.fault = "samples go right or wrong together (`cluster`)"
            return False
        if self._scoring.whole_output:
            candidates = 1
        else:
            candidates = self._planned.options.n
        try:
            attempts = Attempts(records, candidates)
            reader = reads(self._scoring, self._metric)
            for id, value in values_by_sample(
                attempts,
                reader,
                self._planned.task.reducer,
            )[0].items():
                if not self._rule.is_paired:
                    self._sequence.add(value)
                elif (
                    before := (self._planned.earlier_values or {}).get(id)
                ) is not None:
                    self._sequence.add(value - before)
            now = self._sequence.look()
        except ValueError as error:
            self.fault = str(error)
            return False
        # Checks are counted in samples drawn, some of which may have no score or no baseline value.
        return self._rule.ends(now, self._count, self._seed)


def early_stop(
    planned: PlannedTask,
    tallies: Mapping[str, Tally],
    writer: RunWriter,
) -> EarlyStop | None:
    """Return the object that applies `--until` to a task × model; None if the option is not set."""
    scoring = watched_scoring(planned)
    if planned.run.until is None or scoring is None:
        return None
    return EarlyStop(
        parse_until(planned.run.until),
        planned,
        scoring,
        tallies[scoring.name],
        writer,
    )


def _metric_of(
    records: list[ScoreRecord],
    scoring: Scoring,
) -> str:
    """Return the name of the metric that the rule uses: the scorer's own, or the
    first if none has the scorer's name.
    """
    names = dict.fromkeys(name for record in records for name in record.values)
    if scoring.name in names or not names:
        return scoring.name
    return next(iter(names))
