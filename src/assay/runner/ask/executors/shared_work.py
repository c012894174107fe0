"""Work shared by replicas: who may take what, and where the requests of a dead replica go.

A replica takes neighbouring rows, so that what they have in common is computed once. A dialogue stays with the replica
that began it. When that one dies, a dialogue whose history is sent each round goes on elsewhere with the round that was
lost; one that the replica remembered starts again whole. A request that was there when replicas died is handed out in
smaller company, then alone, on another replica where there is one; after the third death it is a failure of its own.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from ..work import Job, JobQueue, Work

MOST_DEATHS = 3
"""Replicas that may die on a request before it counts as a failure."""
SMALLER = 8
"""How many times smaller the batch is in which a request is asked again after a death."""

Place = tuple[str, int, int]
"""Sample, epoch and round: a driver may ask several things about one sample at once."""


class SharedWork(Work):
    """Jobs still to do, by several replicas, known by their numbers from 1."""

    def __init__(
        self,
        jobs: Iterator[Job | None],
        *,
        begin_again: Callable[[Job], Job],
        remembers: bool = False,
        whole_dialogues: bool = False,
        is_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(jobs, is_behind=is_behind)
        self._begin_again = begin_again
        self._remembers = remembers
        """Whether the model itself keeps a dialogue's history, so that its rounds mean nothing to another replica."""
        self._one_dialogue = whole_dialogues
        self._open: dict[int, int] = {}
        """The replicas that may take jobs, with how many each has."""
        self._alone: set[int] = set()
        """Those that have a job for which they take no other."""
        self._at: dict[Place, int] = {}
        """Where the jobs in flight are."""

    def open(self, replica: int) -> None:
        """A replica is ready."""
        self._open[replica] = 0
        self._changed.set()

    def take_for(
        self, replica: int, most: int, with_media: int | None = None
    ) -> list[Job]:
        """Up to `most` jobs for a replica; empty when there are none for it just now."""
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
        return replica not in self._alone

    def _next_for(self, replica: int) -> Job | None:
        place = self._ready_for(replica)
        if place is None:
            return self._next_row()
        job = self._ready[place]
        del self._ready[place]
        return job

    def _ready_for(self, replica: int) -> int | None:
        """Where the first job that waits for this replica stands: its own dialogues before what others left."""
        found = None
        for place, job in enumerate(self._ready):
            if job.home == replica:
                return place
            if found is None and not job.home and self._suits(job, replica):
                found = place
        return found

    def _suits(self, job: Job, replica: int) -> bool:
        if len(job.died_on) + 1 >= MOST_DEATHS and self._open[replica]:
            return False
        return replica not in job.died_on or all(
            other in job.died_on for other in self._open
        )

    async def more_for(self, replica: int) -> bool:
        """Waits until there may be jobs for a replica; `False` when none can come, or the replica was closed."""
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
        """Waits until no more jobs will be handed out: all are done, or the work was stopped."""
        while not self.stopped and not self.is_done():
            self._changed.clear()
            await self._changed.wait()

    def put(self, job: Job) -> None:
        """The next round of a dialogue: for the replica that answered the one before."""
        job.home = self._at.get((job.sample.id, job.epoch, job.round - 1), 0)
        super().put(job if job.home else self._freed(job))

    def again(self, job: Job) -> None:
        """Another try of a job that is still counted as in flight."""
        replica = self._leave(job)
        if replica and job.round:
            job.home = replica
        super().again(job if replica else self._freed(job))

    def settled(self, jobs: Sequence[Job]) -> None:
        """These jobs came back for good."""
        for job in jobs:
            self._leave(job)
        self.finished(len(jobs))

    def give_back(self, jobs: Sequence[Job]) -> None:
        """These jobs were taken and not asked: they are the next to be taken."""
        self._ready.extendleft(self._freed(job) for job in reversed(jobs))
        self.settled(jobs)

    def close(self, replica: int) -> None:
        """A replica is gone: the rounds that wait for it go elsewhere."""
        self._open.pop(replica, None)
        self._alone.discard(replica)
        self._at = {place: at for place, at in self._at.items() if at != replica}
        for place, job in enumerate(self._ready):
            if job.home == replica:
                self._ready[place] = self._freed(job)
        self._changed.set()

    def died(self, replica: int, jobs: Sequence[Job]) -> list[Job]:
        """A replica died on these jobs: they go elsewhere; returns those on which too many have died."""
        self.close(replica)
        for job in jobs:
            job.died_on = (*job.died_on, replica)
        self.give_back([job for job in jobs if len(job.died_on) < MOST_DEATHS])
        return [job for job in jobs if len(job.died_on) >= MOST_DEATHS]

    def _freed(self, job: Job) -> Job:
        """The same job for any replica; what was only remembered is asked anew."""
        job.home = 0
        if not job.round or not (self._remembers or job.request.state is not None):
            return job
        first = self._begin_again(job)
        first.died_on = job.died_on
        return first

    def _leave(self, job: Job) -> int:
        replica = self._at.pop(_place(job), 0)
        if replica in self._open:
            self._open[replica] -= 1
            self._alone.discard(replica)
        return replica


class StandingShares(SharedWork):
    """Jobs that come as they are asked for, until it is stopped: few, where rows of data are many.

    They are split evenly, and a replica that is busy takes no more while another is idle.
    """

    def __init__(self, jobs: JobQueue, *, is_behind: Callable[[], bool]) -> None:
        self._queue = jobs
        super().__init__(jobs, begin_again=lambda job: job, is_behind=is_behind)

    def take_for(
        self, replica: int, most: int, with_media: int | None = None
    ) -> list[Job]:
        """As of any shared work; an idle replica leaves the other idle ones their part."""
        idle = sum(not busy for busy in self._open.values())
        jobs = super().take_for(
            replica,
            min(most, math.ceil(len(self._queue) / max(1, idle)) or 1),
            with_media,
        )
        if jobs:
            self._changed.set()  # it is idle no more: whoever left the rest to it may take of it
        return jobs

    def _may_take(self, replica: int) -> bool:
        others_idle = any(
            not busy for number, busy in self._open.items() if number != replica
        )
        return super()._may_take(replica) and not (self._open[replica] and others_idle)


def _place(job: Job) -> Place:
    return job.sample.id, job.epoch, job.round
