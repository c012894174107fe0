"""The work: requests on their way, what is still to do, and where answers go."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...core import Output, Request, Sample


@dataclass(slots=True)
class Job:
    """One request on its way, with the sample it belongs to."""

    sample: Sample
    request: Request
    epoch: int = 0
    round: int = 0
    order: int = 0
    """Place of the sample in the data."""
    history: tuple[tuple[Request, Output], ...] = ()
    """Earlier rounds of a dialogue."""
    attempts: int = 0
    """Of a model that works in batches: how often it failed."""
    failed_at: float = 0.0
    """When it first failed."""
    home: int = 0
    """The replica that must answer it, because it remembers the rounds before; 0 for any."""
    died_on: tuple[int, ...] = ()
    """The replicas that died while they had it."""
    judged: tuple[str, int] | None = None
    """The sample and epoch whose verdict waits for the answer of a helper."""
    notes: Mapping[str, Any] | None = None
    """What is kept in the details of the answer, as what was taken out of the prompt."""
    offset: int = 0
    """Where the line of its answer lies in the journal, once it is there."""


class JobQueue(deque[Job]):
    """Jobs as they are asked for, where no rows say what is next."""

    def __next__(self) -> Job:
        return self.popleft()

    def is_empty(self) -> bool:
        """Whether nothing is to do just now."""
        return not self


class Work:
    """Jobs still to do: rounds that follow an answer first, then the next rows.

    The rows come as jobs, or as `None` where whoever scores them is behind (`is_behind`) and must catch up first.
    """

    def __init__(
        self,
        jobs: Iterator[Job | None],
        *,
        whole_dialogues: bool = False,
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        self._jobs = jobs
        self.most: int | None = None
        """How many jobs there can be, where that is known."""
        self._is_behind = is_behind
        self._is_exhausted = False
        self.whole_dialogues = whole_dialogues
        """For a model that remembers the last thing said to it: a dialogue ends before the next sample begins."""
        self._is_talking = False
        self._ready: deque[Job] = deque()
        self.stopped = False
        self.in_flight = 0
        self._changed = asyncio.Event()
        self._when_stopped: list[Callable[[], None]] = []

    def when_stopped(self, call: Callable[[], None]) -> None:
        """Called when the work is stopped; at once where it is already."""
        self._when_stopped.append(call)
        if self.stopped:
            call()

    def take(self, most: int, with_media: int | None = None) -> list[Job]:
        """Up to `most` jobs, or `with_media` if they carry images or clips; empty when there are none just now."""
        if self.stopped or self._must_wait():
            return []
        jobs: list[Job] = []
        self._is_talking = False
        while len(jobs) < most and not self._is_talking:
            job = self._ready.popleft() if self._ready else self._next_row()
            if job is None:
                break
            jobs.append(job)
            if with_media is not None and job.sample.media:
                most = min(most, with_media)
            self._is_talking = self.whole_dialogues and bool(job.sample.turns)
        self.in_flight += len(jobs)
        return jobs

    def has_jobs(self) -> bool:
        """Whether there is anything to do; the first job is looked up for it."""
        if not self._ready:
            first = self._next_row()
            if first is not None:
                self._ready.append(first)
        return bool(self._ready)

    def is_done(self) -> bool:
        """Whether nothing is left and nothing can come."""
        return self._is_exhausted and not self._ready and not self.in_flight

    def _next_row(self) -> Job | None:
        if self._is_exhausted or self._is_behind():
            return None
        try:
            return next(self._jobs)
        except StopIteration:
            self._is_exhausted = True
            self._changed.set()  # whoever waits for rows may be waiting for nothing
            return None

    def _must_wait(self) -> bool:
        return self._is_talking and self.in_flight > 0

    def rest(self) -> Iterator[Job | None]:
        """The rows that were not handed out when the work was stopped."""
        self._is_exhausted = True
        return self._jobs

    def put(self, job: Job) -> None:
        """The next round of a dialogue."""
        self._ready.append(job)

    def again(self, job: Job) -> None:
        """Another try of a job that is still counted as in flight."""
        self._ready.append(job)
        self.finished(1)

    def finished(self, count: int) -> None:
        """So many jobs came back; whoever waits for follow-ups looks again."""
        self.in_flight -= count
        self._changed.set()

    def look_again(self) -> None:
        """Whoever scores has caught up a little."""
        self._changed.set()

    async def more(self) -> bool:
        """Waits until jobs may be there again; `False` when none can come."""
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
        """No new jobs are handed out."""
        self.stopped = True
        self._changed.set()
        for call in self._when_stopped:
            call()


Answers = Sequence[tuple[Job, Output]]


class Asker(Protocol):
    """What gets work done: a scheduler for one model, a spread for its replicas."""

    is_async: bool
    """Whether requests are under way one by one, many at once, as at an endpoint."""

    async def run(self, work: Work, desk: "Desk") -> None: ...


class Desk(Protocol):
    """Where answers go."""

    def keep(self, answers: Answers) -> None:
        """Makes them durable; called before the model is given more."""

    def judge(self, answers: Answers) -> None:
        """Scores them, and puts the next round of a dialogue to the work; called while the model goes on."""
