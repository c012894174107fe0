"""Run the scorers of one task × model while the model works, and write each score to the journal once.

Scorers that only compute run immediately. Judges and blocking scorers run later, a
limited number at a time. A score in the journal stays valid until its scorer, or a
field of the sample that scorers read, changes.
"""

import asyncio
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from operator import lt

from ...code.fingerprint import judged_digest
from ...core import Outcome, Output, Sample, Score
from ...core.score import UNRESOLVED
from ...store import RunWriter, Scored
from ..ask.threads import Threads
from ..counts.budget import ErrorBudget
from ..events import TaskProgress
from ..scoring.scoring import Scoring

LARGEST_BACKLOG = 64
"""If this many scores are pending, for example because judges are slow, no more rows are read."""
SLOW_SCORERS = 6
"""Maximum number of blocking scorers that run at the same time."""


judged: ContextVar[tuple[str, int] | None] = ContextVar("judged", default=None)
"""The (sample id, epoch) that is being scored. It is stored with calls to helper models."""
helper_calls: ContextVar[list[tuple[str, str]] | None] = ContextVar(
    "helper_calls", default=None
)
"""The calls to helper models made for the score in progress, as (role, request key)."""


class Tally:
    """For one scorer: the journal offset of each score, and the position of its sample in the run."""

    def __init__(self) -> None:
        self.order = array("q")
        self.offset = array("q")

    def add(
        self,
        order: int,
        offset: int,
    ) -> None:
        """Add the score line at an offset, for the sample at position `order`."""
        self.order.append(order)
        self.offset.append(offset)

    def offsets(self) -> list[int]:
        """Return the offsets in the order of the samples. The last line of a sample replaces earlier ones."""
        order = self.order
        offset = self.offset
        is_ascending = all(map(lt, order, islice(order, 1, None)))
        if is_ascending:
            return offset.tolist()
        latest = dict(zip(order, offset, strict=True))
        return [latest[position] for position in sorted(latest)]


@dataclass(eq=False)
class Verdicts:
    """Runs the scorers of one task × model and writes their scores."""

    scorings: Sequence[Scoring]
    writer: RunWriter
    progress: TaskProgress
    scores: Mapping[str, Scored]
    """Offset and digest of each score in the journal, by scorer, sample and epoch."""
    when_score_arrives: Callable[[], None]
    budget: ErrorBudget | None = None
    """Error budget of the run. It stops the run if all first scores of a user's scorer fail."""

    def __post_init__(self) -> None:
        self.tallies = {scoring.name: Tally() for scoring in self.scorings}
        self._awaited: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self._threads: Threads | None = None
        self._last_judged: tuple[Sample | None, str] = (None, "")
        self._failed: set[tuple[int, Outcome]] = set()

    def is_behind(self) -> bool:
        """Return True if too many scores are pending. No more rows should be read then."""
        return len(self._awaited) >= LARGEST_BACKLOG

    def take_known(
        self,
        sample: Sample,
        epoch: int,
        order: int,
    ) -> list[Scoring]:
        """Count the valid scores of a sample in the journal.

        Return the scorers whose score is missing or outdated.
        """
        judged = self._judged(sample)
        missing = []
        for scoring in self.scorings:
            scored = self.scores.get(scoring.name)
            if scored is not None:
                entry = scored.get((sample.id, epoch))
            else:
                entry = None
            if entry is not None and entry[1] == scoring.digest + judged:
                self.tallies[scoring.name].add(order, entry[0])
            else:
                missing.append(scoring)
        return missing

    def take_finished(
        self,
        sample: Sample,
        order: int,
        number: int,
    ) -> bool:
        """If all scores of a finished sample are valid, count them and return True; otherwise return False.

        `number` is the sample's index in the journal.
        """
        judged = self._judged(sample)
        offsets = []
        for scoring in self.scorings:
            scored = self.scores.get(scoring.name)
            if scored is None:
                offset = -1
            else:
                offset = scored.offset_of(number, scoring.digest + judged)
            if offset < 0:
                return False
            offsets.append(offset)
        for scoring, offset in zip(self.scorings, offsets, strict=True):
            self.tallies[scoring.name].add(order, offset)
        return True

    def score(
        self,
        sample: Sample,
        output: Output,
        epoch: int,
        order: int,
        scorings: Sequence[Scoring],
    ) -> "list[asyncio.Task[None]]":
        """Score an answer with each scorer: at once, or later if the scorer is slow or asynchronous.

        Return the asyncio tasks of delayed scores.
        """
        late = []
        for scoring in scorings:
            if scoring.is_set_level:
                if output.error is not None:
                    self._count(sample, order, scoring.score(sample, output))
            elif scoring.is_async or scoring.is_slow:
                late.append(scoring)
            else:
                score = scoring.score(sample, output)
                self.write(scoring, sample, score, epoch, order)
                self._note(scoring, output, score)
        self.progress.done += 1
        awaited = []
        for scoring in late:
            task = asyncio.ensure_future(
                self._score_later(scoring, sample, output, epoch, order)
            )
            self._awaited.add(task)
            task.add_done_callback(self._after_delayed_score)
            awaited.append(task)
        return awaited

    def write(
        self,
        scoring: Scoring,
        sample: Sample,
        score: Score,
        epoch: int,
        order: int,
        calls: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Write one score to the journal, with the helper calls that produced it, and count it."""
        if calls:
            score = replace(
                score,
                details={**score.details, "asked": [list(call) for call in calls]},
            )
        line = scoring.line(sample, score, epoch, order, self._judged(sample))
        tally = self.tallies[scoring.name]
        tally.add(order, self.writer.write(line))
        self._count(sample, order, score)

    def check(self) -> None:
        """Raise the error of a delayed score that must stop the run."""
        if self._broken is not None:
            raise self._broken

    async def settle(self) -> None:
        """Wait for all delayed scores. Raise immediately if one of them stopped the run."""
        while self._awaited:
            await asyncio.wait(self._awaited, return_when=asyncio.FIRST_EXCEPTION)
            self.check()
        self.check()

    def close(self) -> None:
        """Cancel all delayed scores."""
        for task in self._awaited:
            task.cancel()
        if self._threads is not None:
            self._threads.close()

    async def _score_later(
        self,
        scoring: Scoring,
        sample: Sample,
        output: Output,
        epoch: int,
        order: int,
    ) -> None:
        """Score an answer with a slow or asynchronous scorer."""
        judged.set((sample.id, epoch))  # each asyncio task has its own context
        calls: list[tuple[str, str]] = []
        helper_calls.set(calls)
        if scoring.is_async:
            score = await scoring.score_async(sample, output)
        else:
            if self._threads is None:
                self._threads = Threads(SLOW_SCORERS, "scorer")
            score = await self._threads.submit(scoring.score, sample, output)
        self.write(scoring, sample, score, epoch, order, calls)
        self._note(scoring, output, score)

    def _note(
        self,
        scoring: Scoring,
        output: Output,
        score: Score,
    ) -> None:
        """Report to the error budget whether a scorer succeeded or failed."""
        if self.budget is None or output.error is not None:
            return
        fault = ""
        if score.outcome is Outcome.JUDGE_ERROR:
            fault = str(score.details.get("error") or "")
        self.budget.note_score(scoring.name, fault, self.progress.expected)

    def _after_delayed_score(self, task: "asyncio.Task[None]") -> None:
        """Remove the asyncio task of a finished delayed score, and store its error, if any."""
        self._awaited.discard(task)
        if task.cancelled():
            error = None
        else:
            error = task.exception()
        self._broken = self._broken or error
        self.when_score_arrives()

    def _judged(self, sample: Sample) -> str:
        """Return the digest of the sample fields that scorers read. It is cached for the next scorer."""
        last_sample, digest = self._last_judged
        if last_sample is not sample:
            digest = judged_digest(sample)
            self._last_judged = sample, digest
        return digest

    def _count(
        self,
        sample: Sample,
        order: int,
        score: Score,
    ) -> None:
        """Count the outcome of a score, and store the first error of each kind.

        Several scorers may fail on one answer: each outcome counts once for it.
        """
        if score.outcome is not Outcome.SCORED:
            if (order, score.outcome) in self._failed:
                return
            self._failed.add((order, score.outcome))
        self.progress.count(score.outcome)
        if score.outcome in UNRESOLVED:
            why = score.details.get("error") or score.details.get("reason") or ""
            self.progress.first_errors.setdefault(
                score.outcome.value, f"{sample.id}: {why}"
            )
