"""The recording engine: for whoever drives the model by himself.

An evaluator that calls `engine.generate([...])` when and as often as it likes gets every call kept as a request with a
key: after a kill, finished prompts are not asked again; the same run can be scored again without the model. The k-th
identical call has repeat index k, and replay follows that order.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import (
    AssayError,
    ComponentError,
    ErrorBudgetExceeded,
    GenerateOptions,
    KeyMaker,
    Model,
    Output,
    OutputRecord,
    Prompt,
    Request,
    Result,
    Sample,
    ScorerError,
    StoreError,
    blamed,
)
from ..core.record import output_from_plain, output_to_plain, prompt_to_plain
from ..store import Answered, RunWriter
from .budget import ErrorBudget
from .events import CellProgress
from .options import RunOptions
from .plan import Cell
from .schedule import Answers, Job, Scheduler, Work
from .summary import flatten


@dataclass(frozen=True, slots=True)
class Driven:
    """What a driver may return to say more than numbers: how many samples, and rows that already are results."""

    values: Mapping[str, Any] = field(default_factory=dict)
    n: int | None = None
    results: Sequence[Result] = ()


class RecordingEngine:
    """A model as a driver sees it; blocking calls, made from the driver's own thread."""

    def __init__(self, cell: Cell, writer: RunWriter, options: RunOptions, progress: CellProgress) -> None:
        self.cell = cell
        self.model = cell.model
        self.options = options
        self.calls = 0
        self._writer = writer
        self._progress = progress
        self._keys = KeyMaker(cell.model.identity)
        self._repeats: Counter[str] = Counter()
        self._budget = ErrorBudget(options.on_error)
        self._loop = asyncio.get_running_loop()
        self._load: Callable[[Model], Awaitable[None]] | None = None
        known = writer.cell(cell.task.name, cell.model_name).answers
        self._known: dict[str, Answered] = {
            answer.key: answer for rounds in known.values() for answer in rounds if answer and not answer.failed
        }

    def generate(
        self, prompts: Sequence[Prompt], options: GenerateOptions | None = None, ids: Sequence[str] = ()
    ) -> list[Output]:
        """The answers, in the order of the prompts; those known from the journal are not asked again."""
        requests = [self._request(prompt, options or self.cell.options) for prompt in prompts]
        names = list(ids) or [f"call-{self.calls + n:06d}" for n in range(len(prompts))]
        self.calls += len(prompts)
        return asyncio.run_coroutine_threadsafe(self._answer(requests, names), self._loop).result()

    def _request(self, prompt: Prompt, options: GenerateOptions) -> Request:
        bare = Request(prompt, prompt.options or options, options.seed)
        repeat = self._repeats[first := self._keys.key(bare)]
        self._repeats[first] += 1
        request = replace(bare, repeat=repeat)
        return replace(request, key=self._keys.key(request))

    async def _answer(self, requests: Sequence[Request], names: Sequence[str]) -> list[Output]:
        outputs: dict[int, Output] = {}
        jobs: list[Job] = []
        for place, (request, name) in enumerate(zip(requests, names, strict=True)):
            known = self._known.get(request.key)
            if known is not None:
                outputs[place] = output_from_plain(self._writer.read_output(known).output, self._writer.blobs)
                self._progress.reused += 1
                self._progress.done += 1
            else:
                jobs.append(Job(Sample(id=name), request, order=place))
        if jobs:
            if self._load is None:
                raise StoreError(
                    f"this prompt was never asked in this run: {requests[jobs[0].order].prompt.text[:60]!r}",
                    fix="run it again with a model",
                )
            await self._load(self.model)
            scheduler = Scheduler(self.model, batch_size=self.options.batch_size, concurrency=self.options.concurrency)
            await scheduler.run(Work(iter(jobs)), _Desk(self, outputs))
        return [outputs[place] for place in range(len(requests))]

    def keep(self, job: Job, output: Output) -> None:
        """Writes one answer to the journal."""
        request = job.request
        for candidate in output.candidates:
            for medium in candidate.media:
                self._writer.blobs.put(medium)
        record = OutputRecord(
            self.cell.task.name,
            self.cell.model_name,
            job.sample.id,
            request.key,
            request.repeat,
            prompt=prompt_to_plain(request.prompt),
            continuations=request.prompt.continuations,
            output=output_to_plain(output),
            details=request.prompt.details,
        )
        self._writer.write_output(record, request.prompt)
        self._progress.done += 1
        if output.error is not None:
            self._progress.count("model_error")
            self._progress.first_errors.setdefault("model_error", f"{job.sample.id}: {output.error.message}")
            self._budget.count(output.error)


class _Desk:
    """Puts answers in their places; a driver scores by itself."""

    def __init__(self, engine: RecordingEngine, outputs: dict[int, Output]) -> None:
        self._engine = engine
        self._outputs = outputs

    def keep(self, answers: Answers) -> None:
        """Makes answers durable."""
        for job, output in answers:
            self._outputs[job.order] = output
            self._engine.keep(job, output)
        self._engine._writer.journal.flush()

    def judge(self, answers: Answers) -> None:
        """Stops when the error budget is spent."""
        self._engine._budget.check(self._engine.calls, self._engine._progress.expected)


async def drive(
    cell: Cell,
    writer: RunWriter,
    options: RunOptions,
    progress: CellProgress,
    load: Callable[[Model], Awaitable[None]],
    ask_model: bool,
) -> list[Result]:
    """Runs a task's driver against the recording engine, and turns what it returns into results."""
    engine = RecordingEngine(cell, writer, options, progress)
    engine._load = load if ask_model else None
    progress.state = "running"
    driver = cell.task.driver
    try:
        made = await asyncio.to_thread(driver, engine)
        if inspect.isawaitable(made):
            made = await made
    except (AssayError, ErrorBudgetExceeded):
        raise
    except Exception as error:
        raise blamed(ScorerError, error, f"driver of task {cell.task.name!r}") from error
    finally:
        writer.journal.flush()
    return driven_results(cell, made, engine)


def driven_results(cell: Cell, made: Any, engine: RecordingEngine) -> list[Result]:
    """Numbers a driver returned, as results: set-level, so without intervals."""
    driven = made if isinstance(made, Driven) else Driven(values=made if isinstance(made, Mapping) else {"value": made})
    numbers = flatten(driven.values)
    if not numbers and not driven.results:
        raise ComponentError(
            f"returned no numbers: {made!r}"[:120], where=f"driver of task {cell.task.name!r}", fix="return a dict"
        )
    n = driven.n if driven.n is not None else engine.calls
    return [
        *driven.results,
        *(
            Result(
                task=cell.task.name,
                model=cell.model_name,
                metric=name or "value",
                value=number,
                n=n,
                n_expected=n,
                protocol=cell.task.protocol,
                interval="none: a set-level metric",
            )
            for name, number in numbers.items()
        ),
    ]
