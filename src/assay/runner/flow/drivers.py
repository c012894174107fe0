"""The recording engine: for whoever drives the model by himself.

An evaluator that calls `engine.generate([...])` when and as often as it likes gets every call kept as a request with a
key: after a kill, finished prompts are not asked again; the same run can be scored again without the model. The k-th
identical call has repeat index k, and replay follows that order.
"""

import asyncio
import inspect
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...core import AssayError, GenerateOptions, Output, Prompt, Request, Result, Sample
from ...core.errors import ScorerError, StoreError, blamed, shorten
from ...core.request import repeated
from ...core.score import Outcome
from ...store import ScoreLine
from ..ask.asking import Asking
from ..ask.executors.spread import Spread
from ..ask.preflight import Preflight
from ..ask.retry import RetryPolicy, Stopped
from ..ask.schedule import Scheduler
from ..ask.sizing import as_number
from ..ask.standing import Standing
from ..ask.work import Answers, Job
from ..options import RunOptions
from ..plan.cell import Cell
from ..scoring.scoring import failure_score
from ..summary.driven import Driven as Driven
from ..summary.driven import driven_results

Load = Callable[[], Awaitable[None]]
T = TypeVar("T")
Spreading = Callable[[], Awaitable[Spread]]


class DriverStopped(BaseException):
    """Raised in the driver's thread when the run was interrupted; no `except Exception` of a user swallows it."""


@dataclass(eq=False)
class RecordingEngine:
    """A model as a driver sees it; blocking calls, made from the driver's own threads."""

    cell: Cell
    asking: Asking
    options: RunOptions
    preflight: Preflight
    load: Load | None = None
    """Without it the model is not asked."""
    spread: Spreading | None = None
    """With it the model's replicas are asked, once there is something to ask."""
    calls: int = field(default=0, init=False)
    """Prompts the driver has put, answered from the journal or by the model."""
    failure: AssayError | None = field(default=None, init=False)
    """Why the run cannot go on; every later call raises it again, even if the driver swallowed it."""
    stopped: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.model = self.cell.model
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
        # Two changes of threads for every batch would cost more than all the rest; the cache belongs to the loop's.
        in_turn = not self._scheduler.is_async and self._scheduler.window == 1
        self._works_here = in_turn and self.asking.cache is None and self.spread is None

    def generate(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions | None = None,
        ids: Sequence[str] = (),
        targets: Sequence[Any] = (),
    ) -> list[Output]:
        """The answers, in the order of the prompts; those known from the journal are not asked again.

        `ids` says which sample each prompt is about, so that `assay show RUN --sample ID` finds it; a sample asked
        more than once has its prompts as rounds. An answer that did not come is an `Output` with `error`.
        """
        if self.failure is not None:
            raise self.failure
        if self.stopped:
            raise DriverStopped
        jobs = self._jobs(prompts, options or self.cell.options, ids, targets)
        try:
            if self._works_here:
                return self._answer_here(jobs)
            return self._on_loop(self._answer(jobs))
        except AssayError as error:
            self.failure = error
            raise
        except (CancelledError, Stopped):
            raise DriverStopped from None

    def expect(self, prompts: int) -> None:
        """Says how many prompts are to come, for whoever watches."""
        self._progress.expected = prompts

    def count_bad(self, id: str, message: str, order: int, **details: Any) -> None:
        """Notes a row that never became a question: listed by `assay show --failures`, counted in the summary."""
        name, model = self.cell.task.name, self.cell.model_name
        if (id, 0) not in self.asking.index.scores.get(name, {}):
            more = {"error": message, **details}
            outcome = Outcome.DATA_ERROR.value
            self.asking.writer.write(
                ScoreLine(
                    name, model, id, name, "", {}, outcome, details=more, order=order
                )
            )
        self._count(Outcome.DATA_ERROR, id, message)

    def stop(self) -> None:
        """No new requests; what is in flight comes back."""
        self.stopped = True
        self._standing.stop()

    async def close(self) -> None:
        """Takes no more questions; a call that waits for an answer ends."""
        self.stop()
        await self._standing.close()

    def _batch_size(self) -> int | None:
        """A batch size is first of all the driver's own loop: only a model that works in batches is given it, any
        other gets hand-overs so small that a kill costs little."""
        declared = getattr(self.model, "batch_size", None)
        return (
            as_number(self.options.batch_size)
            if declared is not None and declared > 1
            else None
        )

    def _jobs(
        self,
        prompts: Sequence[Prompt],
        options: GenerateOptions,
        ids: Sequence[str],
        targets: Sequence[Any],
    ) -> list[Job]:
        hints, key_of = self.cell.task.hints, self.asking.key_of
        with self._lock:
            jobs = []
            for place, prompt in enumerate(prompts):
                chosen = prompt.options or options
                seed = chosen.seed
                first = key_of(prompt, chosen, seed, 0, hints)
                repeat = self._repeats[first]
                self._repeats[first] += 1
                key = first
                if repeat:
                    # A seeded model would otherwise give the same answer to every repeat.
                    seed = None if seed is None else repeated(seed, repeat)
                    key = key_of(prompt, chosen, seed, repeat, hints)
                name = ids[place] if ids else f"call-{self.calls:06d}"
                self.calls += 1
                request = Request(prompt, chosen, seed, repeat, None, hints, key, name)
                sample = Sample(name, target=targets[place] if targets else None)
                jobs.append(
                    Job(sample, request, repeat, self._round(name, repeat, key), place)
                )
            return jobs

    def _round(self, name: str, repeat: int, key: str) -> int:
        """A place in the journal that no other prompt has: there a later line replaces an earlier one."""
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
        """The answers of a model that takes batches, one after another, asked in the driver's own thread."""
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
                    outputs.update(
                        self._on_loop(self._asked(failed))
                    )  # where there is a clock to wait by
                unanswered = unanswered[len(answers) + len(failed) :]
        return [outputs[place] for place in range(len(jobs))]

    async def _answer(self, jobs: Sequence[Job]) -> list[Output]:
        outputs, unanswered = self._recalled(jobs)
        if unanswered:
            await self._make_ready(unanswered[0])
            outputs.update(await self._asked(unanswered))
        return [outputs[place] for place in range(len(jobs))]

    async def _asked(self, jobs: Sequence[Job]) -> dict[int, Output]:
        outputs = await self._standing.ask(jobs, self)
        return {job.order: output for job, output in zip(jobs, outputs, strict=True)}

    def _recalled(self, jobs: Sequence[Job]) -> tuple[dict[int, Output], list[Job]]:
        """What is known, by the place of its prompt, and what must be asked."""
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
                where=f"task {self.cell.task.name!r}",
                fix="`assay run` asks the model for it",
            )
        return outputs, unanswered

    def _recall(self, job: Job) -> Output | None:
        """The answer, if it is known: from this run's journal, or from the cache shared between runs."""
        stored = self.asking.known(job)
        output = (
            self.asking.cached(job) if stored is None else self.asking.output(stored)
        )
        if output is None:
            return None
        if stored is not None:
            self.asking.remarks.count(job.sample, job.epoch, job.round, output)
        self._progress.reused += 1
        self._note(job, output)
        return output

    async def _make_ready(self, first: Job) -> None:
        """Loads the model, or starts its replicas, before the first question."""
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
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    def keep(self, answers: Answers) -> None:
        """Makes answers durable."""
        try:
            self.asking.keep(answers)
        finally:
            for job, output in answers:
                self._note(job, output)

    def judge(self, answers: Answers) -> None:
        """Stops when the error budget is spent; a driver scores by itself."""
        self.asking.judge(answers)

    def _note(self, job: Job, output: Output) -> None:
        self._progress.done += 1
        if output.error is not None:
            self._count(
                failure_score(output.error).outcome, job.sample.id, output.error.message
            )

    def _count(self, outcome: Outcome, id: str, message: str) -> None:
        self._progress.count(outcome)
        self._progress.first_errors.setdefault(outcome, f"{id}: {message}")


async def drive(engine: RecordingEngine) -> list[Result]:
    """Runs a task's driver against the recording engine, and turns what it returns into results; an interrupted driver
    has none."""
    cell, asking = engine.cell, engine.asking
    asking.progress.state = "running"
    try:
        returned = await asyncio.to_thread(_call, cell.task.driver, engine)
    except DriverStopped:
        return []
    except AssayError:
        raise
    except Exception as error:
        raise engine.failure or blamed(
            ScorerError, error, f"driver of task {cell.task.name!r}"
        ) from error
    finally:
        # Also when this coroutine is cancelled: the thread then ends at its next question.
        await engine.close()
        asking.writer.journal.flush()
    if engine.failure is not None:
        raise engine.failure
    return driven_results(cell, returned, engine.calls, asking.progress.outcomes)


def _call(driver: Callable[[RecordingEngine], Any], engine: RecordingEngine) -> Any:
    """What a driver returns; one that is a coroutine gets a loop of its own, since its calls block."""
    returned = driver(engine)
    return (
        asyncio.run(_awaited(returned)) if inspect.isawaitable(returned) else returned
    )


async def _awaited(returned: Awaitable[Any]) -> Any:
    return await returned
