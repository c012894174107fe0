"""The work for a model: jobs to do, jobs in flight, and the sink for their answers."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...core import Output, Request, Sample


@dataclass(slots=True)
class Job:
    """One request, with the sample that it belongs to."""

    sample: Sample
    request: Request
    epoch: int = 0
    round: int = 0
    order: int = 0
    """Position of the sample among all samples and epochs of the run."""
    history: tuple[tuple[Request, Output], ...] = ()
    """Earlier rounds of a dialogue."""
    attempts: int = 0
    """Number of failed attempts, for a model that works in batches."""
    failed_at: float = 0.0
    """The time of the first failed attempt."""
    home: int = 0
    """Number of the replica that remembers the earlier rounds and must answer this job; 0 if any replica can."""
    died_on: tuple[int, ...] = ()
    """Numbers of the replicas that died on this job."""
    judged: tuple[str, int] | None = None
    """For a request to a judge or other helper: the (sample id, epoch) whose score
    needs the answer; otherwise None.
    """
    notes: Mapping[str, Any] | None = None
    """Notes to add to the details of the answer, such as parts removed from the prompt."""
    offset: int = 0
    """Byte offset of the answer in the journal, set when the answer is written."""
    known_messages: int = 0
    """Number of messages at the start of the prompt that the journal already has in
    the line of the previous round.
    """


class JobQueue(deque[Job]):
    """A queue that callers fill with jobs, used in place of rows."""

    def __next__(self) -> Job:
        return self.popleft()

    def is_empty(self) -> bool:
        """Return True if no job is waiting."""
        return not self


class Work:
    """Jobs still to do: next rounds of dialogues first, then the rows in order.

    `job_of` turns a row into a job, or returns None if the row needs no request. While
    `is_behind` returns True, no row is read, so that scoring can catch up.
    """

    def __init__(
        self,
        rows: Iterator[Any],
        job_of: Callable[[Any], Job | None] = lambda row: row,
        *,
        whole_dialogues: bool = False,
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        self._rows = rows
        self._job_of = job_of
        self.most: int | None = None
        """Upper limit of the number of jobs; None if unknown."""
        self._is_behind = is_behind
        self._is_exhausted = False
        self.whole_dialogues = whole_dialogues
        """True for a model that remembers only its last dialogue, which must end before the next sample begins."""
        self._is_talking = False
        self._ready: deque[Job] = deque()
        self.stopped = False
        self.in_flight = 0
        self._changed = asyncio.Event()
        self._when_stopped: list[Callable[[], None]] = []

    def when_stopped(self, call: Callable[[], None]) -> None:
        """Register a function to call when the work is stopped. It is called at once if
        the work has already been stopped.
        """
        self._when_stopped.append(call)
        if self.stopped:
            call()

    def take(
        self,
        most: int,
        with_media: int | None = None,
    ) -> list[Job]:
        """Return up to `most` jobs, or up to `with_media` if any has media; an empty list if none is ready."""
        if self.stopped or self._must_wait():
            return []
        jobs: list[Job] = []
        self._is_talking = False
        while len(jobs) < most and not self._is_talking:
            job = self._ready.popleft() if self._ready else self._next_of_rows()
            if job is None:
                break
            jobs.append(job)
            if with_media is not None and job.sample.media:
                most = min(most, with_media)
            self._is_talking = self.whole_dialogues and bool(job.sample.turns)
        self.in_flight += len(jobs)
        return jobs

    def has_jobs(self) -> bool:
        """Return True if a job is ready. Rows are read until one needs a request."""
        if not self._ready:
            first = self._next_of_rows()
            if first is not None:
                self._ready.append(first)
        return bool(self._ready)

    def is_done(self) -> bool:
        """Return True if no job is left and none can be added."""
        return self._is_exhausted and not self._ready and not self.in_flight

    def _next_of_rows(self) -> Job | None:
        """Read rows up to the next one that needs a request.

        Return None at the end, or if scoring must catch up first.
        """
        while not self._is_exhausted and not self._is_behind():
            try:
                row = next(self._rows)
            except StopIteration:
                self._is_exhausted = True
                self._changed.set()  # wakes the workers that wait for rows
                return None
            job = self._job_of(row)
            if job is not None:
                return job
        return None

    def _must_wait(self) -> bool:
        """Return True if no job may be taken until the current dialogue has ended."""
        return self._is_talking and self.in_flight > 0

    def rest(self) -> Iterator[Any]:
        """Return the rows that have not been read yet, and let no more jobs be made from them."""
        self._is_exhausted = True
        return self._rows

    def put(self, job: Job) -> None:
        """Queue the next round of a dialogue."""
        self._ready.append(job)

    def again(self, job: Job) -> None:
        """Queue a job to be sent again. It remains in flight."""
        self._ready.append(job)
        self.finished(1)

    def finished(self, count: int) -> None:
        """Record that `count` jobs are finished, and wake callers that wait for more."""
        self.in_flight -= count
        self._changed.set()

    def hold(self) -> None:
        """Count work such as a sample's tool calls as if it were a request in flight.

        Call `finished` when it ends.
        """
        self.in_flight += 1

    def look_again(self) -> None:
        """Wake callers that wait for jobs, because scoring has caught up."""
        self._changed.set()

    @property
    def has_unread_rows(self) -> bool:
        """True if rows are left, even if they must wait for scoring."""
        return not self._is_exhausted

    async def changed(self) -> None:
        """Wait until a job is finished, or scoring has caught up."""
        await self._changed.wait()
        self._changed.clear()

    async def more(self) -> bool:
        """Wait until there may be jobs again. Return False if no more can come."""
        while not self.stopped:
            has_rows = not self._is_exhausted and not self._is_behind()
            if (self._ready or has_rows) and not self._must_wait():
                return True
            if self._is_exhausted and not self._ready and not self.in_flight:
                return False
            self._changed.clear()
            await self._changed.wait()
        return False

    def stop(self) -> None:
        """Give out no more jobs, and wake all callers that wait."""
        self.stopped = True
        self._changed.set()
        for call in self._when_stopped:
            call()


Answers = Sequence[tuple[Job, Output]]


class Asker(Protocol):
    """Sends jobs to a model. A scheduler does this for a single model, a spread for several replicas."""

    is_async: bool
    """True if many requests can be in flight at once, as at an endpoint."""

    async def run(self, work: Work, sink: "Sink") -> None: ...


class Sink(Protocol):
    """Receives the answers to jobs, to store and then score them."""

    def keep(self, answers: Answers) -> None:
        """Write answers to disk. Called before the next requests are sent."""

    def judge(self, answers: Answers) -> None:
        """Score answers, and queue the next rounds of dialogues. Called while the model works on other requests."""
