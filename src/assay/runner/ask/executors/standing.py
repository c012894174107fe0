"""Standing work for replicas: what one call asks for is few, where rows of data are many.

It is split evenly, and a replica that is busy takes no more while another is idle.
"""

import math
from collections.abc import Callable

from ..work import Job, JobQueue
from .shared_work import SharedWork


class StandingShares(SharedWork):
    """Jobs that come as they are asked for, until it is stopped."""

    def __init__(self, jobs: JobQueue, *, is_behind: Callable[[], bool]) -> None:
        self._queue = jobs
        super().__init__(jobs, begin_again=lambda job: job, is_behind=is_behind)

    def take_for(self, replica: int, most: int, with_media: int | None = None) -> list[Job]:
        """As of any shared work; an idle replica leaves the other idle ones their part."""
        idle = sum(not busy for busy in self._open.values())
        jobs = super().take_for(replica, min(most, math.ceil(len(self._queue) / max(1, idle)) or 1), with_media)
        if jobs:
            self._changed.set()  # it is idle no more: whoever left the rest to it may take of it
        return jobs

    def _may_take(self, replica: int) -> bool:
        others_idle = any(not busy for number, busy in self._open.items() if number != replica)
        return super()._may_take(replica) and not (self._open[replica] and others_idle)
