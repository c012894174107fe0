"""The recording engine, for evaluators that call the model themselves.

An evaluator may call `engine.generate([...])` at any time. Every call is stored as a
request with a key, so finished prompts are not sent again after a kill, and the run can
be scored again without the model. If the evaluator sends the same call several times,
each gets a repeat index. Replay returns their answers in the same order.
"""

import asyncio
import inspect
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from ...core import (
    AssayError,
    GenerateOptions,
    Output,
    Prompt,
    Request,
    Result,
    Sample,
    ScoreRecord,
)
from ...core.errors import ScorerError, StoreError, blamed, shorten
from ...core.request import repeated
from ...core.score import Outcome
from ...store import ScoreLine
from ..ask.asking import Asking
from ..ask.calls import as_number
from ..ask.executors.spread import Spread
from ..ask.loading import Preflight
from ..ask.retry import RetryPolicy, Stopped
from ..ask.schedule import Scheduler
from ..ask.standing import Standing
from ..ask.work import Answers, Job
from ..options import RunOptions
from ..plan.planned_task import PlannedTask
from ..scoring.scoring import failure_score
from ..summary.driven import Driven as Driven
from ..summary.driven import driven_results

Load = Callable[[], Awaitable[None]]
T = TypeVar("T")
Spreading = Callable[[], Awaitable[Spread]]


class DriverStopped(BaseException):
    """Raised in the driver's thread when the run was interrupted.

    Not an `Exception`, so that drivers cannot swallow it.
    """


@dataclass(eq=False)
class RecordingEngine:
    """The model object that a driver calls. Its methods block, and run in the driver's threads."""

    planned: PlannedTask
    asking: Asking
    options: RunOptions
    preflight: Preflight
    load: Load | None = None
    """Function that loads the model; None if the model must not be called."""
    spread: Spreading | None = None
    """Function that starts the replicas of the model; None if it has no replicas."""
    calls: int = field(default=0, init=False)
    """Number of prompts that the driver has sent, whether the journal or the model answered them."""
    failure: AssayError | None = field(default=None, init=False)
    """Error that stops the run. Every later call raises it again, even if the driver caught it."""
    stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.model = self.planned.model
        self._progress = self.asking.progress
        self._lock = threading.Lock()
        self._repeats: Counter[str] = Counter()
        self._rounds: dict[tuple[str, int], list[str]] = {}
        self._loop = asyncio.get_running_loop()
        self._starting = asyncio.Lock()
        self._turn_here = threading.Lock()
        self._is_ready = False
        self._scheduler = Scheduler(
            self.model,
            batch_size=self._batch_size(),
            concurrency=self.options.concurrency,
            policy=RetryPolicy(wrong_seconds=self.options.give_up_after),
            meter=self._progress.meter,
        )
        self._standing = Standing(self._scheduler)
        # Changing threads twice for every batch would cost more than the rest. The cache belongs to the loop's thread.
        in_turn = not self._scheduler.is_async and self._scheduler.window == 1
        self._works_here = in_turn and self.asking.cache is None and self.spread is None

    def generate(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions | None = None,
        ids: Sequence[str] = (),
        targets: Sequence[Any] = (),
    ) -> list[Output]:
        """Return the answers in the order of the prompts. Prompts with an answer in the journal are not sent to the
        model.

        `ids` are the samples that the prompts belong to, so that `assay show RUN --sample ID` finds them. Several
        prompts for one sample become rounds. A failed request is an `Output` with `error`.
        """
        if self.failure is not None:
            raise self.failure
        if self.stopped:
            raise DriverStopped
        jobs = self._jobs(prompts, options or self.planned.options, ids, targets)
        try:
            if self._works_here:
                return self._answer_here(jobs)
            return self._on_loop(self._answer(jobs))
        except AssayError as error:
            self.failure = error
            raise
        except (CancelledError, Stopped):
            raise DriverStopped from None

    async def answer(self, job: Job) -> Output:
        """Return the answer to one request. Called in the event loop. Raise if the run cannot continue."""
        if self.failure is not None:
            raise self.failure
        if self.stopped:
            raise Stopped
        self.calls += 1
        try:
            [output] = await self._answer([job])
        except AssayError as error:
            self.failure = error
            raise
        return output

    def call_on_loop(self, function: Callable[[], T]) -> T:
        """Call a function in the thread of the event loop, and return its result.

        In most programs this is the main thread, which is needed for code that sets
        signal alarms.
        """

        async def call() -> T:
            return function()

        return self._on_loop(call())

    def expect(self, prompts: int) -> None:
        """Set the expected number of prompts, for the progress display."""
        self._progress.expected = prompts

    def count_bad(
        self,
        id: str,
        message: str,
        order: int,
        **details: object,
    ) -> None:
        """Count a data row that the driver could not convert to a prompt. `assay show --failures` lists such rows."""
        name = self.planned.task.name
        model = self.planned.model_name
        if (id, 0) not in self.asking.index.scores.get(name, {}):
            more = {"error": message, **details}
            outcome = Outcome.DATA_ERROR.value
            self.asking.writer.write(
                ScoreLine(
                    name,
                    model,
                    id,
                    name,
                    "",
                    {},
                    outcome,
                    details=more,
                    order=order,
                )
            )
        self._count(Outcome.DATA_ERROR, id, message)

    def write_score(self, record: ScoreRecord) -> ScoreRecord:
        """Write the score of one sample to the journal, unless it is already there, and return it."""
        scored = self.asking.index.scores.get(record.scorer)
        if scored is None:
            entry = None
        else:
            entry = scored.get((record.id, record.epoch))
        if entry is None or entry[1] != record.digest:
            self.asking.writer.write(record_line(record))
        return record

    def stop(self) -> None:
        """Send no new requests. Those in flight are finished."""
        self.stopped = True
        self._standing.stop()

    async def close(self) -> None:
        """Refuse further calls, and end calls that wait for an answer."""
        self.stop()
        await self._standing.close()

    def _batch_size(self) -> int | None:
        """Return the user's batch size if the model itself declares batches; otherwise None.

        In the second case, the user's option applies to the batches of the driver's own
        loop. The model is called with small batches, so that a kill loses little work.
        """
        declared = getattr(self.model, "batch_size", None)
        if declared is not None and declared > 1:
            return as_number(self.options.batch_size)
        return None

    def _jobs(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions,
        ids: Sequence[str],
        targets: Sequence[Any],
    ) -> list[Job]:
        """Return a job for each prompt. Identical prompts get the repeat indices 0, 1, 2, …."""
        hints = self.planned.task.hints
        key_of = self.asking.key_of
        with self._lock:
            jobs = []
            for index, prompt in enumerate(prompts):
                chosen = prompt.options or options
                seed = chosen.seed
                first = key_of(prompt, chosen, seed, 0, hints)
                repeat = self._repeats[first]
                self._repeats[first] += 1
                key = first
                if repeat:
                    # A seeded model would otherwise give the same answer to every repeat.
                    if seed is None:
                        seed = None
                    else:
                        seed = repeated(seed, repeat)
                    key = key_of(prompt, chosen, seed, repeat, hints)
                if ids:
                    name = ids[index]
                else:
                    name = f"call-{self.calls:06d}"
                self.calls += 1
                request = Request(
                    prompt,
                    chosen,
                    seed,
                    repeat,
                    hints=hints,
                    key=key,
                    id=name,
                    think_tags=self.asking.think_tags,
                )
                sample = Sample(name, target=targets[index] if targets else None)
                jobs.append(
                    Job(sample, request, repeat, self._round(name, repeat, key), index)
                )
            return jobs

    def _round(
        self,
        name: str,
        repeat: int,
        key: str,
    ) -> int:
        """Return the round number to store a prompt's answer under, unique within its sample.

        Two journal lines with the same round would replace each other.
        """
        keys = self._rounds.get((name, repeat))
        if keys is None:
            stored = self.asking.stored(name, repeat)
            keys = self._rounds[name, repeat] = [
                answer.key if answer else "" for answer in stored
            ]
        if key not in keys:
            keys.append(key)
        return keys.index(key)

    def _answer_here(self, jobs: Sequence[Job]) -> list[Output]:
        """Call a batch model in the driver's thread, and return the answers."""
        with self._turn_here:
            outputs, unanswered = self._recalled(jobs)
            if unanswered and not self._is_ready:
                self._on_loop(self._make_ready(unanswered[0]))
            while unanswered:
                if self.stopped:
                    raise DriverStopped
                answers, failed = self._scheduler.ask_here(unanswered)
                self.keep(answers)
                self.judge(answers)
                outputs.update((job.order, output) for job, output in answers)
                if failed:
                    # Retries need the event loop.
                    outputs.update(self._on_loop(self._send(failed)))
                unanswered = unanswered[len(answers) + len(failed) :]
        return [outputs[index] for index in range(len(jobs))]

    async def _answer(self, jobs: Sequence[Job]) -> list[Output]:
        """Return the answers, from the journal or from the model."""
        outputs, unanswered = self._recalled(jobs)
        if unanswered:
            await self._make_ready(unanswered[0])
            outputs.update(await self._send(unanswered))
        return [outputs[index] for index in range(len(jobs))]

    async def _send(self, jobs: Sequence[Job]) -> dict[int, Output]:
        """Send jobs to the model, and return the outputs by position (`job.order`)."""
        outputs = await self._standing.ask(jobs, self)
        return {job.order: output for job, output in zip(jobs, outputs, strict=True)}

    def _recalled(self, jobs: Sequence[Job]) -> tuple[dict[int, Output], list[Job]]:
        """Return the known outputs by position (`job.order`), and the jobs that must still be sent."""
        outputs: dict[int, Output] = {}
        unanswered = []
        for job in jobs:
            output = self._recall(job)
            if output is None:
                unanswered.append(job)
            else:
                outputs[job.order] = output
        if unanswered and self.load is None:
            raise StoreError(
                f"this prompt was never asked in this run: {shorten(unanswered[0].request.messages[-1].text)}",
                where=f"task {self.planned.task.name!r}",
                fix="`assay run` asks the model for it",
            )
        return outputs, unanswered

    def _recall(self, job: Job) -> Output | None:
        """Return a known answer from this run's journal or the shared cache; None if there is none."""
        stored = self.asking.known(job)
        if stored is None:
            output = self.asking.cached(job)
        else:
            output = self.asking.output(stored)
        if output is None:
            return None
        if stored is not None:
            self.asking.remarks.count(job.sample, job.epoch, job.round, output)
        self._progress.reused += 1
        self._note(job, output)
        return output

    async def _make_ready(self, first: Job) -> None:
        """Load the model, or start its replicas, before the first request."""
        async with self._starting:
            if self._is_ready or self.load is None:
                return
            if self.spread is None:
                await self.load()
                await self.preflight.look_at(first.request)
            else:
                spread = await self.spread()
                await self.preflight.look_at(first.request, spread)
                self._standing = Standing(spread, is_spread=True)
                if self.stopped:
                    self._standing.stop()
            self._is_ready = True

    def _on_loop(self, doing: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    def keep(self, answers: Answers) -> None:
        """Write answers to the journal."""
        try:
            self.asking.keep(answers)
        finally:
            for job, output in answers:
                self._note(job, output)

    def judge(self, answers: Answers) -> None:
        """Raise if the error budget is used up. Answers are not scored here, because the driver scores them."""
        self.asking.judge(answers)

    def _note(self, job: Job, output: Output) -> None:
        """Count an answer on the progress display, and its error if it failed."""
        self._progress.done += 1
        if output.error is not None:
            self._count(
                failure_score(output.error).outcome,
                job.sample.id,
                output.error.message,
            )

    def _count(
        self,
        outcome: Outcome,
        id: str,
        message: str,
    ) -> None:
        """Count an outcome for the progress display, and keep the message of its first sample."""
        self._progress.count(outcome)
        self._progress.first_errors.setdefault(outcome, f"{id}: {message}")


def record_line(record: ScoreRecord) -> ScoreLine:
    """Convert a score record to its journal line."""
    values = {field.name: getattr(record, field.name) for field in fields(ScoreRecord)}
    values.pop("kind")
    return ScoreLine(**values)


async def drive(engine: RecordingEngine) -> list[Result]:
    """Run a task's driver with the recording engine, and return its results; none if it was interrupted."""
    planned = engine.planned
    asking = engine.asking
    asking.progress.state = "running"
    try:
        returned = await asyncio.to_thread(_call, planned.task.driver, engine)
    except DriverStopped:
        return []
    except AssayError:
        raise
    except Exception as error:
        raise engine.failure or blamed(
            ScorerError,
            error,
            f"driver of task {planned.task.name!r}",
        ) from error
    finally:
        # This also runs if the coroutine is cancelled; the thread then ends at its next question.
        await engine.close()
        asking.writer.journal.flush()
    if engine.failure is not None:
        raise engine.failure
    return driven_results(planned, returned, engine.calls, asking.progress.outcomes)


def _call(
    driver: Callable[[RecordingEngine], Any],
    engine: RecordingEngine,
) -> object:
    """Call a driver, which may be a coroutine.

    A coroutine gets an event loop of its own, because its model calls block.
    """
    returned = driver(engine)
    if inspect.isawaitable(returned):
        return asyncio.run(_awaited(returned))
    return returned


async def _awaited(returned: Awaitable[T]) -> T:
    return await returned
