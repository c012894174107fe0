"""Ask for the rows of a task, through a scheduler in this process or through replicas of the model."""

from collections.abc import Callable

from ...core.protocols import AsksThroughRun
from ..ask.executors.check import is_spread
from ..ask.executors.shared_work import SharedWork
from ..ask.loading import LoadedModels
from ..ask.preflight import Preflight
from ..ask.retry import RetryPolicy
from ..ask.schedule import Scheduler
from ..ask.sizing import as_number, fit_batch
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
) -> None:
    """Ask and score all rows without an answer. The model is loaded only if there is something to ask.

    `hold` receives the work, so that an interruption can stop it.
    """
    is_wrapped = isinstance(task_run.planned.model, AsksThroughRun)
    if is_spread(options) and not is_wrapped:
        await _ask_replicas(task_run, models, preflight, hold)
        return
    planned, progress = task_run.planned, task_run.progress
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
    if await task_run.has_jobs(work):
        progress.state = "loading"
        await models.load(planned)
        await preflight.look()
        if options.batch_size == "auto":
            chosen = await in_thread(fit_batch, planned.model, options.concurrency)
            whisper(f"{planned.model_name}: --batch_size auto: {chosen}")
    progress.state = "running"
    scheduler = Scheduler(
        planned.model,
        batch_size=as_number(options.batch_size),
        concurrency=options.concurrency,
        policy=RetryPolicy(wrong_seconds=options.give_up_after),
        say=whisper,
        meter=progress.meter,
    )
    if task_run.tool_rounds is not None and scheduler.is_async:
        # More would take turns at the endpoint, end together, and leave it idle at the end of the run.
        task_run.tool_rounds.most_open = scheduler.window
    await task_run.run(work, scheduler)


async def _ask_replicas(
    task_run: TaskRun,
    models: LoadedModels,
    preflight: Preflight,
    hold: Callable[[Work], None],
) -> None:
    """Ask through replicas. Only they load the model."""
    planned, progress = task_run.planned, task_run.progress
    is_whole = getattr(planned.model, "whole_dialogues", False)
    work = SharedWork(
        task_run.rows(),
        task_run.take,
        begin_again=task_run.begin_again,
        remembers=is_whole or planned.model.abilities.history != "given",
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
