"""Send requests for the rows of a task, through a scheduler in this process or through replicas."""

from collections.abc import Callable

from ...core.protocols import AsksThroughRun
from ...models.batching.choosing import batch_api_of
from ...store.batch_log import BatchLog
from ..ask.batch_limits import BatchLimits, batch_notes, refuse_open_batches
from ..ask.batch_service import BatchService
from ..ask.batches import BatchAsker
from ..ask.calls import DEFAULT_WINDOW, as_number, fit_batch
from ..ask.executors.check import is_spread
from ..ask.executors.shared_work import SharedWork
from ..ask.loading import LoadedModels, Preflight
from ..ask.retry import RetryPolicy
from ..ask.schedule import Scheduler
from ..ask.threads import in_thread
from ..ask.work import Work
from ..options import RunOptions
from .rows import TaskRun

Say = Callable[[str], None]


async def ask_rows(
    task_run: TaskRun,
    options: RunOptions,
    models: LoadedModels,
    preflight: Preflight,
    hold: Callable[[Work], None],
    whisper: Say,
    say: Say,
) -> None:
    """Send requests for all unanswered rows, and score the answers. If no request is needed, do not load the model.

    `hold` is called with the jobs, so that an interruption can stop them.
    """
    is_wrapped = isinstance(task_run.planned.model, AsksThroughRun)
    if is_spread(options) and not is_wrapped:
        await _ask_replicas(task_run, models, preflight, hold)
        return
    planned = task_run.planned
    progress = task_run.progress
    is_whole = getattr(planned.model, "whole_dialogues", False)
    work = Work(
        task_run.rows(),
        task_run.take,
        whole_dialogues=is_whole,
        is_behind=task_run.is_behind,
    )
    hold(work)
    if work.stopped:
        await task_run.run(work, None)
        return
    log = BatchLog(task_run.writer.layout.batches)
    if await task_run.has_jobs(work):
        if not options.batch_api:
            refuse_open_batches(log, planned.task.name, planned.model_name)
        progress.state = "loading"
        await models.load(planned)
        await preflight.look()
        if options.batch_size == "auto":
            chosen = await in_thread(fit_batch, planned.model, options.concurrency)
            whisper(f"{planned.model_name}: --batch_size auto: {chosen}")
    progress.state = "running"
    if options.batch_api:
        asker = _batch_asker(task_run, options, log, say, whisper)
        await task_run.run(work, asker)
        return
    scheduler = Scheduler(
        planned.model,
        batch_size=as_number(options.batch_size),
        concurrency=options.concurrency,
        policy=RetryPolicy(wrong_seconds=options.give_up_after),
        say=whisper,
        meter=progress.meter,
    )
    if task_run.tool_rounds is not None and scheduler.is_async:
        # More open samples would share the endpoint, finish together, and leave it idle at the end of the run.
        task_run.tool_rounds.most_open = scheduler.window
    await task_run.run(work, scheduler)


def _batch_asker(
    task_run: TaskRun,
    options: RunOptions,
    log: BatchLog,
    say: Say,
    whisper: Say,
) -> BatchAsker:
    """Return the object that sends the task's requests through the model's batch API."""
    planned = task_run.planned
    task = planned.task.name
    name = planned.model_name
    api = batch_api_of(planned.model, name)
    limits = BatchLimits.of(api, options.batch_args)
    where = f"task {task!r}, model {name!r}"
    for line in batch_notes(planned, options, limits):
        whisper(line)
    by_key = task_run.writer.index.by_key(task)
    return BatchAsker(
        planned.model,
        BatchService(api, log, limits, where, whisper),
        log,
        limits,
        task,
        name,
        task_run.writer.layout.journal,
        task_run.progress,
        say,
        whisper,
        planned.run.model_args,
        RetryPolicy(wrong_seconds=options.give_up_after),
        options.concurrency or DEFAULT_WINDOW,
        lambda key: by_key.get(key) is not None,
    )


async def _ask_replicas(
    task_run: TaskRun,
    models: LoadedModels,
    preflight: Preflight,
    hold: Callable[[Work], None],
) -> None:
    """Send requests to replicas. The main process does not load the model."""
    planned = task_run.planned
    progress = task_run.progress
    is_whole = getattr(planned.model, "whole_dialogues", False)
    remembers = is_whole or planned.model.abilities.history != "given"
    work = SharedWork(
        task_run.rows(),
        task_run.take,
        begin_again=task_run.begin_again,
        remembers=remembers,
        whole_dialogues=is_whole,
        is_behind=task_run.is_behind,
    )
    hold(work)
    spread = None
    if not work.stopped and await task_run.has_jobs(work):
        progress.state = "loading"
        spread = await models.replicas(planned, progress)
        await preflight.look(spread)
    progress.state = "running"
    await task_run.run(work, spread)
