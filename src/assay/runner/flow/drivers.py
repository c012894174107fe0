"""The recording engine: for whoever drives the model by himself.

An evaluator that calls `engine.generate([...])` when and as often as it likes gets every call kept as a request with a
key: after a kill, finished prompts are not asked again; the same run can be scored again without the model. The k-th
identical call has repeat index k, and replay follows that order.
"""

import asyncio
import inspect
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from ...core import AssayError, GenerateOptions, KeyMaker, Model, Output, Prompt, Request, Result, Sample
from ...core.errors import ScorerError, StoreError, blamed, shorten
from ...core.record import output_from_plain
from ...core.request import repeated
from ...core.score import Outcome
from ...store import Answered, RunWriter
from ...store.cache import ResponseCache
from ...store.journal import score_line
from ..ask.executors import Spread, Standing
from ..ask.preflight import Preflight
from ..ask.retry import RetryPolicy
from ..ask.schedule import Scheduler
from ..ask.sizing import as_number
from ..ask.work import Answers, Job, Work
from ..counts.budget import ErrorBudget
from ..counts.remarks import Remarks
from ..counts.spending import count_usage
from ..events import CellProgress
from ..options import RunOptions
from ..plan.cell import Cell
from ..summary.driven import Driven as Driven
from ..summary.driven import driven_results

Load = Callable[[Model], Awaitable[None]]
Spreading = Callable[[], Awaitable[Spread]]


class DriverStopped(BaseException):
    """Raised in the driver's thread when the run was interrupted; no `except Exception` of a user swallows it."""


class Gate(Work):
    """Stops whatever a driver has asked for at the moment, and keeps it from asking more."""

    def __init__(self) -> None:
        super().__init__(iter(()))
        self.open: list[Work] = []

    def stop(self) -> None:
        """No new requests; what is in flight comes back."""
        super().stop()
        for work in self.open:
            work.stop()


class RecordingEngine:
    """A model as a driver sees it; blocking calls, made from the driver's own threads."""

    def __init__(
        self,
        cell: Cell,
        writer: RunWriter,
        options: RunOptions,
        progress: CellProgress,
        preflight: Preflight,
        load: Load | None = None,
        cache: ResponseCache | None = None,
        spread: Spreading | None = None,
    ) -> None:
        self.cell = cell
        self.model = cell.model
        self.options = options
        self.calls = 0
        """Prompts the driver has put, answered from the journal or by the model."""
        self.failure: AssayError | None = None
        """Why the run cannot go on; every later call raises it again, even if the driver swallowed it."""
        self.gate = Gate()
        self.tokens: dict[str, float] = {}
        """Tokens and cost as the backend counted them."""
        self.remarks = Remarks()
        self._writer = writer
        self._progress = progress
        self._load = load
        self._cache = cache
        self._spread = spread
        """Where the model is asked in replicas: makes them, once there is something to ask."""
        self._standing: Standing | None = None
        self._preflight = preflight
        self._keys = KeyMaker(cell.model.identity)
        self._lock = threading.Lock()
        self._repeats: Counter[str] = Counter()
        self._budget = ErrorBudget(options.on_error)
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._starting = asyncio.Lock()
        self._turn_here = threading.Lock()
        self._is_loaded = False
        policy = RetryPolicy(wrong_seconds=options.give_up_after)
        self._scheduler = Scheduler(
            self.model,
            batch_size=self._batch_size(),
            concurrency=options.concurrency,
            policy=policy,
            meter=progress.meter,
        )
        # Two changes of threads for every batch would cost more than all the rest; the cache belongs to the loop's.
        in_turn = not self._scheduler.is_async and self._scheduler.window == 1
        self._works_here = in_turn and cache is None and spread is None
        self._index = writer.cell(cell.task.name, cell.model_name)
        self._known: dict[str, Answered] = {
            answer.key: answer
            for rounds in self._index.answers.values()
            for answer in rounds
            # Without a model to ask, a failure is the answer of this run: it is judged as it was.
            if answer is not None and (load is None or not answer.failed)
        }
        self._rounds: dict[tuple[str, int], list[str]] = {}

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
        if self.gate.stopped:
            raise DriverStopped
        jobs = self._jobs(prompts, options or self.cell.options, ids, targets)
        try:
            if self._works_here:
                return self._answer_here(jobs)
            return asyncio.run_coroutine_threadsafe(self._answer(jobs), self._loop).result()
        except AssayError as error:
            self.failure = error
            raise
        except CancelledError:
            raise DriverStopped from None

    def expect(self, prompts: int) -> None:
        """Says how many prompts are to come, for whoever watches."""
        self._progress.expected = prompts

    def count_bad(self, id: str, message: str, order: int, **details: Any) -> None:
        """Notes a row that never became a question: listed by `assay show --failures`, counted in the summary."""
        name = self.cell.task.name
        if (id, 0) not in self._index.scores.get(name, {}):
            more = {"error": message, **details}
            model, outcome = self.cell.model_name, Outcome.DATA_ERROR.value
            self._writer.write_score(score_line(name, model, id, name, "", {}, outcome, details=more, order=order))
        self._progress.count(Outcome.DATA_ERROR)
        self._progress.first_errors.setdefault(Outcome.DATA_ERROR, f"{id}: {message}")

    def _batch_size(self) -> int | None:
        """A batch size is first of all the driver's own loop: only a model that works in batches is given it, any
        other gets hand-overs so small that a kill costs little."""
        declared = getattr(self.model, "batch_size", None)
        return as_number(self.options.batch_size) if declared is not None and declared > 1 else None

    def _jobs(
        self, prompts: Sequence[Prompt], options: GenerateOptions, ids: Sequence[str], targets: Sequence[Any]
    ) -> list[Job]:
        hints = self.cell.task.hints
        with self._lock:
            jobs = []
            for place, prompt in enumerate(prompts):
                chosen = prompt.options or options
                seed = chosen.seed
                first = self._keys.key_of(prompt, chosen, seed, 0, hints)
                repeat = self._repeats[first]
                self._repeats[first] += 1
                key = first
                if repeat:
                    # A seeded model would otherwise give the same answer to every repeat.
                    seed = None if seed is None else repeated(seed, repeat)
                    key = self._keys.key_of(prompt, chosen, seed, repeat, hints)
                name = ids[place] if ids else f"call-{self.calls:06d}"
                self.calls += 1
                request = Request(prompt, chosen, seed, repeat, None, hints, key, name)
                sample = Sample(name, target=targets[place] if targets else None)
                jobs.append(Job(sample, request, repeat, self._round(name, repeat, key), place))
            return jobs

    def _round(self, name: str, repeat: int, key: str) -> int:
        """A place in the journal that no other prompt has: there a later line replaces an earlier one."""
        place = (name, repeat)
        taken = self._rounds.get(place)
        if taken is None:
            stored = self._index.answers.get(place, ())
            taken = self._rounds[place] = [answer.key if answer else "" for answer in stored]
        if key not in taken:
            taken.append(key)
        return taken.index(key)

    def _answer_here(self, jobs: Sequence[Job]) -> list[Output]:
        """The answers of a model that takes batches, one after another, asked in the driver's own thread."""
        outputs: dict[int, Output] = {}
        desk = _Desk(self, outputs)
        with self._turn_here:
            for alike in self._lacking(jobs, outputs):
                if self._load is not None and not self._is_loaded:
                    asyncio.run_coroutine_threadsafe(self._make_ready(self._load, alike[0]), self._loop).result()
                    self._is_loaded = True
                while alike:
                    if self.gate.stopped:
                        raise DriverStopped
                    answers = self._scheduler.ask_here(alike)
                    desk.keep(answers)
                    desk.judge(answers)
                    alike = alike[len(answers) :]
        return [outputs[place] for place in range(len(jobs))]

    def _lacking(self, jobs: Sequence[Job], outputs: dict[int, Output]) -> list[list[Job]]:
        """What must be asked, prompts to answer apart from texts to weigh; what is known goes to `outputs`."""
        lacking = [job for job in jobs if not self._recall(job, outputs)]
        if lacking and self._load is None:
            raise StoreError(
                f"this prompt was never asked in this run: {shorten(lacking[0].request.messages[-1].text)}",
                where=f"task {self.cell.task.name!r}",
                fix="`assay run` asks the model for it",
            )
        kinds = ([job for job in lacking if _weighs(job) is weighs] for weighs in (False, True))
        return [alike for alike in kinds if alike]

    async def _answer(self, jobs: Sequence[Job]) -> list[Output]:
        outputs: dict[int, Output] = {}
        for alike in self._lacking(jobs, outputs):
            if self._spread is None and self._load is not None:
                await self._make_ready(self._load, alike[0])
            await self._ask(alike, outputs)
        return [outputs[place] for place in range(len(jobs))]

    async def _make_ready(self, load: Load, first: Job) -> None:
        await load(self.model)
        await self._preflight.look_at(first.request)

    async def _ask(self, jobs: Sequence[Job], outputs: dict[int, Output]) -> None:
        if self._scheduler.is_async:
            await self._put(jobs, _Desk(self, outputs))
        else:
            # A driver may have threads; a model that works in batches is asked by one of them at a time.
            async with self._turn:
                await self._put(jobs, _Desk(self, outputs))
        if self.gate.stopped:
            raise CancelledError

    async def _put(self, jobs: Sequence[Job], desk: "_Desk") -> None:
        if self._spread is not None:
            await (await self._replicas(self._spread, jobs[0])).ask(jobs, desk)
            return
        work = Work(iter(jobs))
        self.gate.open.append(work)
        try:
            await self._scheduler.run(work, desk)
        finally:
            self.gate.open.remove(work)

    async def _replicas(self, spread: Spreading, first: Job) -> Standing:
        async with self._starting:
            if self._standing is None:
                made = await spread()
                await self._preflight.look_at(first.request, made)
                self._standing = Standing(made)
                self.gate.open.append(self._standing.work)
                if self.gate.stopped:
                    self._standing.work.stop()
        return self._standing

    async def close(self) -> None:
        """No more questions: what waits for an answer waits no longer."""
        self.gate.stop()
        if self._standing is not None:
            await self._standing.close()

    def _recall(self, job: Job, outputs: dict[int, Output]) -> bool:
        """Whether the answer is known: from this run's journal, or from the cache shared between runs."""
        known = self._known.get(job.request.key)
        if known is not None:
            output = output_from_plain(self._writer.read_output(known).output, self._writer.blobs)
            outputs[job.order] = output
            self.remarks.count(job.sample, job.epoch, job.round, output)
            self._progress.reused += 1
            self._progress.done += 1
            self._count_failure(job, output)
            return True
        cached = self._cache.get(job.request.key) if self._cache is not None else None
        if cached is None:
            return False
        outputs[job.order] = cached
        self._keep(job, cached, from_cache=True)
        return True

    def _keep(self, job: Job, output: Output, from_cache: bool = False) -> None:
        request = job.request
        details = request.prompt.details
        self._writer.write_output(
            self.cell.task.name,
            self.cell.model_name,
            job.sample.id,
            request.key,
            request.prompt,
            output,
            epoch=job.epoch,
            round=job.round,
            continuations=request.prompt.continuations,
            target=job.sample.target,
            details={**details, "cached": True} if from_cache else details,
        )
        self._progress.done += 1
        count_usage(self.tokens, output.usage)
        self.remarks.count(job.sample, job.epoch, job.round, output)
        if output.error is not None:
            self._count_failure(job, output)
            self._budget.count(output.error)
        elif self._cache is not None and not from_cache:
            self._cache.put(request.key, output)

    def _count_failure(self, job: Job, output: Output) -> None:
        if output.error is not None:
            self._progress.count(Outcome.MODEL_ERROR)
            self._progress.first_errors.setdefault(Outcome.MODEL_ERROR, f"{job.sample.id}: {output.error.message}")


class _Desk:
    """Puts answers in their places; a driver scores by itself."""

    def __init__(self, engine: RecordingEngine, outputs: dict[int, Output]) -> None:
        self._engine = engine
        self._outputs = outputs

    def keep(self, answers: Answers) -> None:
        """Makes answers durable."""
        for job, output in answers:
            self._outputs[job.order] = output
            self._engine._keep(job, output)
        self._engine._writer.journal.flush()

    def judge(self, answers: Answers) -> None:
        """Stops when the error budget is spent."""
        self._engine._budget.check(self._engine.calls, self._engine._progress.expected)


async def drive(
    cell: Cell,
    writer: RunWriter,
    options: RunOptions,
    progress: CellProgress,
    preflight: Preflight,
    *,
    load: Load | None,
    spread: Spreading | None = None,
    cache: ResponseCache | None = None,
    hold: Callable[[Work], None] | None = None,
    tokens: dict[str, float] | None = None,
    remarks: Remarks | None = None,
) -> list[Result]:
    """Runs a task's driver against the recording engine, and turns what it returns into results.

    Without `load` the model is not asked; with `spread` its replicas are. `hold` is given the work, so that an
    interruption can stop it; an interrupted driver has no results.
    """
    engine = RecordingEngine(cell, writer, options, progress, preflight, load, cache, spread)
    if remarks is not None:
        engine.remarks = remarks
    if hold is not None:
        hold(engine.gate)
    progress.state = "running"
    try:
        made = await asyncio.to_thread(_call, cell.task.driver, engine)
    except DriverStopped:
        return []
    except AssayError:
        raise
    except Exception as error:
        raise engine.failure or blamed(ScorerError, error, f"driver of task {cell.task.name!r}") from error
    finally:
        # Also when this coroutine is cancelled: the thread then ends at its next question.
        await engine.close()
        writer.journal.flush()
        if tokens is not None:
            tokens.update({name: number for name, number in engine.tokens.items() if number})
    if engine.failure is not None:
        raise engine.failure
    return driven_results(cell, made, engine.calls, progress.outcomes)


def _call(driver: Callable[[RecordingEngine], Any], engine: RecordingEngine) -> Any:
    """What a driver returns; one that is a coroutine gets a loop of its own, since its calls block."""
    made = driver(engine)
    return asyncio.run(_awaited(made)) if inspect.isawaitable(made) else made


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


def _weighs(job: Job) -> bool:
    return job.request.prompt.continuations is not None or job.request.prompt.rolling
