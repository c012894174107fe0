"""Work shared by replicas: which replica may take which request, and what happens when a replica dies.

A replica takes neighbouring rows, so that their shared prefix is computed once. A
dialogue stays with the replica that began it. If that replica dies, another one repeats
the lost round, provided that each round sends the whole history. If only the dead
replica had the history, the dialogue starts again. A request that was in flight when a
replica died is sent again in a smaller batch, then alone, on another replica if there
is one. After the third death it fails.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..work import Job, JobQueue, Work

MOST_DEATHS = 3
"""Number of replicas that may die on a request before the request fails."""
SMALLER = 8
"""When a replica dies, its requests are sent again in batches that are smaller by this factor."""

Place = tuple[str, int, int]
"""Identifies a job: sample, epoch and round. Rounds also number a driver's questions about one sample."""


class SharedWork(Work):
    """The jobs that several replicas share. Replicas are numbered from 1."""

    def __init__(
        self,
        rows: Iterator[Any],
        job_of: Callable[[Any], Job | None] = lambda row: row,
        *,
        begin_again: Callable[[Job], Job],
        remembers: bool = False,
        whole_dialogues: bool = False,
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(rows, job_of, is_behind=is_behind)
        self._begin_again = begin_again
        self._remembers = remembers
        """True if the model keeps the history of a dialogue itself, so that no other replica can continue it."""
        self._one_dialogue = whole_dialogues
        self._open: dict[int, int] = {}
        """Number of jobs in flight for each replica that may take jobs."""
        self._alone: set[int] = set()
        """Replicas whose current job must run alone."""
        self._at: dict[Place, int] = {}
        """The replica that works on each job, by sample, epoch and round."""

    def open(self, replica: int) -> None:
        """Allow a replica to take jobs from now on."""
        self._open[replica] = 0
        self._changed.set()

    def take_for(
        self,
        replica: int,
        most: int,
        with_media: int | None = None,
    ) -> list[Job]:
        """Return up to `most` jobs for a replica; empty if there are none for it at the moment."""
        jobs: list[Job] = []
        if self.stopped or replica not in self._open or not self._may_take(replica):
            return jobs
        few = max(1, most // SMALLER)
        while len(jobs) < most and replica not in self._alone:
            job = self._next_for(replica)
            if job is None:
                break
            jobs.append(job)
            self._open[replica] += 1
            self._at[_place(job)] = replica
            if with_media is not None and job.sample.media:
                most = min(most, with_media)
            if job.died_on:
                most = min(most, few)
            if len(job.died_on) + 1 >= MOST_DEATHS or (
                self._one_dialogue and job.sample.turns
            ):
                self._alone.add(replica)
        self.in_flight += len(jobs)
        return jobs

    def _may_take(self, replica: int) -> bool:
        """Return True if a replica may take jobs: it may not while it works on a job that must run alone."""
        return replica not in self._alone

    def _next_for(self, replica: int) -> Job | None:
        """Return the next job for a replica, or None."""
        index = self._ready_for(replica)
        if index is None:
            return self._next_of_rows()
        job = self._ready[index]
        del self._ready[index]
        return job

    def _ready_for(self, replica: int) -> int | None:
        """Return the index of the next waiting job for a replica; None if there is none.

        Jobs of dialogues that the replica began come first.
        """
        first_free = None
        for index, job in enumerate(self._ready):
            if job.home == replica:
                return index
            if first_free is None and not job.home and self._suits(job, replica):
                first_free = index
        return first_free

    def _suits(self, job: Job, replica: int) -> bool:
        """Return True if a job may be given to this replica.

        A replica that died on a job gets it again only if all other replicas also died
        on it.
        """
        if len(job.died_on) + 1 >= MOST_DEATHS and self._open[replica]:
            return False
        return replica not in job.died_on or all(
            other in job.died_on for other in self._open
        )

    async def more_for(self, replica: int) -> bool:
        """Wait until a replica may take jobs, and return True.

        Return False if no more jobs will come, or if the replica was removed.
        """
        while not self.stopped and replica in self._open:
            if self._may_take(replica):
                has_rows = not self._is_exhausted and not self._is_behind()
                if has_rows or self._ready_for(replica) is not None:
                    return True
            if self.is_done():
                return False
            self._changed.clear()
            await self._changed.wait()
        return False

    async def ending(self) -> None:
        """Wait until no more jobs will be given out, because all are done or the work was stopped."""
        while not self.stopped and not self.is_done():
            self._changed.clear()
            await self._changed.wait()

    def put(self, job: Job) -> None:
        """Queue the next round of a dialogue for the replica that answered the previous one."""
        job.home = self._at.get((job.sample.id, job.epoch, job.round - 1), 0)
        super().put(job if job.home else self._freed(job))

    def again(self, job: Job) -> None:
        """Queue a job to be sent again. It remains in flight."""
        replica = self._leave(job)
        if replica and job.round:
            job.home = replica
        super().again(job if replica else self._freed(job))

    def settled(self, jobs: Sequence[Job]) -> None:
        """Record that these jobs are finished."""
        for job in jobs:
            self._leave(job)
        self.finished(len(jobs))

    def give_back(self, jobs: Sequence[Job]) -> None:
        """Put unsent jobs back at the front of the queue."""
        self._ready.extendleft(self._freed(job) for job in reversed(jobs))
        self.settled(jobs)

    def close(self, replica: int) -> None:
        """Remove a replica. Dialogue rounds that wait for it go to another replica."""
        self._open.pop(replica, None)
        self._alone.discard(replica)
        self._at = {job: other for job, other in self._at.items() if other != replica}
        for index, waiting in enumerate(self._ready):
            if waiting.home == replica:
                self._ready[index] = self._freed(waiting)
        self._changed.set()

    def died(
        self,
        replica: int,
        jobs: Sequence[Job],
    ) -> list[Job]:
        """Record that a replica died on these jobs, and queue them again. Return those with too many deaths."""
        self.close(replica)
        for job in jobs:
            job.died_on = (*job.died_on, replica)
        self.give_back([job for job in jobs if len(job.died_on) < MOST_DEATHS])
        return [job for job in jobs if len(job.died_on) >= MOST_DEATHS]

    def _freed(self, job: Job) -> Job:
        """Return a job that any replica may take.

        If only the former replica remembers the earlier rounds, this is the dialogue's
        first round.
        """
        job.home = 0
        if not job.round or not (self._remembers or job.request.state is not None):
            return job
        first = self._begin_again(job)
        first.died_on = job.died_on
        return first

    def _leave(self, job: Job) -> int:
        """Record that a job has left its replica, and return the number of that replica."""
        replica = self._at.pop(_place(job), 0)
        if replica in self._open:
            self._open[replica] -= 1
            self._alone.discard(replica)
        return replica


class StandingShares(SharedWork):
    """Shared jobs that arrive during the run, such as a judge's, until the work is stopped.

    The jobs of a call are split evenly: a busy replica takes no more while another is
    idle.
    """

    def __init__(
        self,
        jobs: JobQueue,
        *,
        is_behind: Callable[[], bool],
    ) -> None:
        self._queue = jobs
        super().__init__(
            jobs,
            begin_again=lambda job: job,
            is_behind=is_behind,
        )

    def take_for(
        self,
        replica: int,
        most: int,
        with_media: int | None = None,
    ) -> list[Job]:
        """Return up to `most` jobs for a replica. If other replicas are idle, leave a fair share for them."""
        idle = sum(not busy for busy in self._open.values())
        jobs = super().take_for(
            replica,
            min(most, math.ceil(len(self._queue) / max(1, idle)) or 1),
            with_media,
        )
        if jobs:
            self._changed.set()  # it is no longer idle: the others may take what is left
        return jobs

    def _may_take(self, replica: int) -> bool:
        others_idle = any(
            not busy for number, busy in self._open.items() if number != replica
        )
        return super()._may_take(replica) and not (self._open[replica] and others_idle)


def _place(job: Job) -> Place:
    return job.sample.id, job.epoch, job.round
