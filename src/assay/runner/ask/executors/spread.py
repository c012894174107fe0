"""Run the replicas of one model on the work of a task. Only the main process writes to disk.

Each replica has a loop that starts it, keeps it busy and replaces it when it dies. All
replicas take jobs from the same work, so a slow one takes fewer, and one that starts
late takes what is left. Replicas of an endpoint use the same server and key, so they
share one queue. It limits the requests in flight, and waits while the server is
unreachable.
"""

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....core import Model, ModelError, Output
from ...events import TaskProgress
from ..calls import BatchSize
from ..retry import RetryPolicy, ServerQueue, Stopped, schedule_retry
from ..work import Answers, Job, Sink, Work
from .replica import Executor, ModelSource, Replica, ReplicaLost
from .shared_work import MOST_DEATHS, SharedWork

MOST_STARTS = 3
"""If a replica dies this many times in a row while loading its model, it is not started again."""


@dataclass(eq=False)
class Spread:
    """The replicas of one model, which stay loaded between tasks."""

    model: Model
    source: ModelSource
    executor: Executor
    replicas: int
    batch_size: int | None = None
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    say: Callable[[str], None] = lambda line: None
    whisper: Callable[[str], None] = lambda line: None
    """Function that shows lines that matter only during the run."""
    greet: Callable[[Replica], Awaitable[None]] | None = field(default=None, init=False)
    """Function to call once, with the first replica that is ready, before any request is sent."""

    def __post_init__(self) -> None:
        self.is_async = inspect.iscoroutinefunction(self.model.generate)
        self._slots = [
            Slot(number, self.source.window, self.batch_size)
            for number in range(1, self.replicas + 1)
        ]
        self._queue = ServerQueue(1)
        self._rng = random.Random(0)

    def watched_by(self, progress: TaskProgress) -> None:
        """Set the progress display that shows the state of the replicas."""
        progress.replicas = {slot.number: slot.state for slot in self._slots}
        for slot in self._slots:
            slot.progress = progress

    async def run(self, work: Work, sink: Sink) -> None:
        """Work until no jobs are left, or until the work is stopped and the requests in flight are finished."""
        assert isinstance(work, SharedWork)
        self._queue = ServerQueue(
            sum(slot.window for slot in self._slots),
            self.policy,
            say=self.whisper,
        )
        work.when_stopped(self._queue.stop)
        serving = {
            asyncio.ensure_future(self._serve(slot, work, sink)): slot
            for slot in self._slots
        }
        ending = asyncio.ensure_future(work.ending())
        watching = asyncio.ensure_future(self.executor.watch())
        try:
            while serving:
                done, _ = await asyncio.wait(
                    {*serving, ending, watching}, return_when=asyncio.FIRST_COMPLETED
                )
                for finished in done - {ending}:
                    serving.pop(finished, None)
                    finished.result()
                if ending.done() or work.is_done():
                    break
            else:
                if not work.stopped and not work.is_done():
                    self._give_up()
            await self._let_come_back(serving)
        finally:
            for running in (ending, watching, *serving):
                running.cancel()
            await asyncio.gather(ending, watching, *serving, return_exceptions=True)

    async def _let_come_back(self, serving: "dict[asyncio.Task[None], Slot]") -> None:
        """Wait until the replicas have answered the requests in flight. Cancel replicas that are still starting."""
        for running, slot in serving.items():
            if slot.replica is None:
                running.cancel()
        for outcome in await asyncio.gather(*serving, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    def _give_up(self) -> None:
        """Raise because no replica could be loaded."""
        how = next((slot.ended for slot in self._slots if slot.ended), "")
        raise ModelError(
            f"every replica died {MOST_STARTS} times while it loaded (the last: {how})",
            where=f"model {self.source.name!r}",
            fix="ask the model without --replicas to see why; fewer replicas need less memory",
        )

    async def _serve(
        self,
        slot: "Slot",
        work: SharedWork,
        sink: Sink,
    ) -> None:
        """Keep one replica running until the work ends, starting it again when it dies."""
        while slot.failed_starts < MOST_STARTS:
            try:
                replica = await self._started(slot)
            except ReplicaLost as lost:
                slot.failed_starts += 1
                slot.died(str(lost))
                continue
            slot.failed_starts = 0
            slot.gone = asyncio.get_running_loop().create_future()
            slot.note("ready")
            greet = self.greet
            self.greet = None
            if greet is not None:
                await greet(replica)
            work.open(slot.number)
            feeding = [
                asyncio.ensure_future(self._feed(slot, replica, work, sink))
                for _ in range(slot.window)
            ]
            try:
                await asyncio.gather(*feeding)
            finally:
                for running in feeding:
                    running.cancel()
                await asyncio.gather(*feeding, return_exceptions=True)
                work.close(slot.number)
            if slot.replica is not None:
                return
            await replica.close()
            if work.stopped:
                return
            self.say(
                f"replica {slot.number} died ({slot.ended}): its requests continue, and another replica replaces it"
            )
            slot.progress.restarts += 1
        slot.note("lost")

    async def _started(self, slot: "Slot") -> Replica:
        """Return the running replica of a slot. If none is running, wait until one is loaded."""
        if slot.replica is not None:
            return slot.replica
        slot.note("starting")
        if slot.starting is None:
            slot.starting = asyncio.ensure_future(self._start(slot))
        try:
            # If the task ends first, loading continues, because the next task needs the replica.
            slot.replica = await asyncio.shield(slot.starting)
        except asyncio.CancelledError:
            raise
        except BaseException:
            slot.starting = None
            raise
        slot.starting = None
        return slot.replica

    async def _start(self, slot: "Slot") -> Replica:
        """Start a replica and load its model."""
        channel = await self.executor.start(slot.number)
        try:
            return await Replica.load(slot.number, channel, self.source)
        except BaseException:
            await channel.close()
            raise

    async def _feed(
        self,
        slot: "Slot",
        replica: Replica,
        work: SharedWork,
        sink: Sink,
    ) -> None:
        """Send jobs to a replica until there are none left for it, or until it dies."""
        while True:
            jobs = self._take(slot, work)
            if not jobs:
                slot.note("ready")
                if await work.more_for(slot.number):
                    continue
                return
            slot.note("working")
            if self.is_async:
                await self._ask_one(jobs[0], slot, replica, work, sink)
            else:
                await self._ask_while_there_are(jobs, slot, replica, work, sink)
            if slot.replica is not replica:
                return

    async def _ask_one(
        self,
        job: Job,
        slot: "Slot",
        replica: Replica,
        work: SharedWork,
        sink: Sink,
    ) -> None:
        """Send one request, with retries.

        If the replica dies before the request is sent, another replica takes it.
        """
        is_there = False

        async def once() -> Output:
            nonlocal is_there
            is_there = True
            slot.progress.meter.begun += 1
            try:
                outputs, _, _ = await replica.ask([job])
            finally:
                is_there = False
            return outputs[0]

        assert slot.gone is not None
        answer = asyncio.ensure_future(self._queue.send(once))
        try:
            either: set[asyncio.Future[Any]] = {answer, slot.gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and not is_there:
                work.give_back([job])
                return
            answers = [(job, await answer)]
        except Stopped:
            work.give_back([job])
            return
        except ReplicaLost as lost:
            slot.died(str(lost))
            self._fail(work.died(slot.number, [job]), str(lost), work, sink)
            return
        finally:
            answer.cancel()
        self._hand_in(answers, work, sink)

    async def _ask_while_there_are(
        self,
        jobs: list[Job],
        slot: "Slot",
        replica: Replica,
        work: SharedWork,
        sink: Sink,
    ) -> None:
        """Send batches to a replica until no jobs are left.

        The next batch is prepared while one is answered, and sent before its scoring begins.
        """
        answer = asyncio.ensure_future(self._ask(slot, replica, jobs))
        try:
            while jobs:
                upcoming = self._take(slot, work)
                try:
                    outputs = await answer
                except ReplicaLost as lost:
                    slot.died(str(lost))
                    failed = work.died(slot.number, jobs)
                    work.give_back(upcoming)
                    self._fail(failed, str(lost), work, sink)
                    return
                answers = [
                    pair
                    for pair in zip(jobs, outputs, strict=True)
                    if not schedule_retry(work, *pair, self.policy, self._rng)
                ]
                sink.keep(answers)
                if work.stopped:
                    work.give_back(upcoming)
                    upcoming = []
                if upcoming:
                    answer = asyncio.ensure_future(self._ask(slot, replica, upcoming))
                try:
                    sink.judge(answers)
                finally:
                    work.settled([job for job, _ in answers])
                jobs = upcoming
        finally:
            answer.cancel()

    def _take(self, slot: "Slot", work: SharedWork) -> list[Job]:
        """Take jobs for a replica."""
        if self.is_async:
            return work.take_for(slot.number, 1)
        return work.take_for(slot.number, slot.sizes.size(), slot.sizes.media_size())

    async def _ask(
        self,
        slot: "Slot",
        replica: Replica,
        jobs: Sequence[Job],
    ) -> list[Output]:
        """Send a batch to a replica, and adjust the batch size to the time it took."""
        slot.progress.meter.begun += len(jobs)
        outputs, fits, seconds = await replica.ask(jobs)
        slot.sizes.learn(len(jobs), fits, seconds)
        return outputs

    def _hand_in(
        self,
        answers: Answers,
        work: SharedWork,
        sink: Sink,
    ) -> None:
        """Pass answers to the sink, which stores and scores them, and mark their jobs as finished."""
        try:
            sink.keep(answers)
            sink.judge(answers)
        finally:
            work.settled([job for job, _ in answers])

    def _fail(
        self,
        jobs: Sequence[Job],
        how: str,
        work: SharedWork,
        sink: Sink,
    ) -> None:
        """Fail requests on which too many replicas have died. The run continues."""
        if not jobs:
            return
        message = f"{MOST_DEATHS} replicas died on this request (the last: {how})"
        self._hand_in(
            [(job, Output.failed("replica", message, retryable=False)) for job in jobs],
            work,
            sink,
        )

    async def close(self) -> None:
        """End all replicas."""
        starting = [slot.starting for slot in self._slots if slot.starting is not None]
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        started = [slot.replica for slot in self._slots if slot.replica is not None]
        await asyncio.gather(
            *(replica.close() for replica in started), return_exceptions=True
        )
        await self.executor.close()


class Slot:
    """One of the numbered positions for replicas. If its replica dies, a new one is started in the same slot."""

    def __init__(
        self,
        number: int,
        window: int,
        batch_size: int | None,
    ) -> None:
        self.number = number
        self.window = window
        self.sizes = BatchSize(batch_size)
        self.replica: Replica | None = None
        self.gone: asyncio.Future[None] | None = None
        """A future that is done once the current replica has died."""
        self.starting: asyncio.Future[Replica] | None = None
        self.failed_starts = 0
        self.ended = ""
        """Reason why the last replica died."""
        self.state = "starting"
        self.progress = TaskProgress("", "")

    def note(self, state: str) -> None:
        """Show the state of the replica to the user."""
        self.state = self.progress.replicas[self.number] = state

    def died(self, how: str) -> None:
        """Record that the replica has died."""
        self.replica = None
        self.ended = how
        if self.gone is not None and not self.gone.done():
            self.gone.set_result(None)
        self.note("starting")
