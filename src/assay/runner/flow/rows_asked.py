"""Asking for the rows of a cell: through a scheduler here, or through the replicas of its model."""

from collections.abc import Callable

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
from .rows import CellRun

Say = Callable[[str], None]


async def ask_rows(
    rows: CellRun,
    options: RunOptions,
    models: LoadedModels,
    preflight: Preflight,
    hold: Callable[[Work], None],
    whisper: Say,
) -> None:
    """Asks for all that is not answered yet, and has it scored; the model is loaded only if there is something to ask.

    `hold` is given the work, so that an interruption can stop it.
    """
    if is_spread(options):
        await _ask_replicas(rows, models, preflight, hold)
        return
    cell, progress = rows.cell, rows.progress
    is_whole = getattr(cell.model, "whole_dialogues", False)
    work = Work(
        rows.jobs(), whole_dialogues=is_whole, is_behind=rows.verdicts.is_behind
    )
    hold(work)
    if work.stopped:
        await rows.run(work, None)
        return
    if await rows.has_jobs(work):
        progress.state = "loading"
        await models.load(cell)
        await preflight.look()
        if options.batch_size == "auto":
            chosen = await in_thread(fit_batch, cell.model, options.concurrency)
            whisper(f"{cell.model_name}: --batch_size auto: {chosen}")
    progress.state = "running"
    scheduler = Scheduler(
        cell.model,
        batch_size=as_number(options.batch_size),
        concurrency=options.concurrency,
        policy=RetryPolicy(wrong_seconds=options.give_up_after),
        say=whisper,
        meter=progress.meter,
    )
    await rows.run(work, scheduler)


async def _ask_replicas(
    rows: CellRun,
    models: LoadedModels,
    preflight: Preflight,
    hold: Callable[[Work], None],
) -> None:
    """The model is loaded by its replicas only."""
    cell, progress = rows.cell, rows.progress
    is_whole = getattr(cell.model, "whole_dialogues", False)
    work = SharedWork(
        rows.jobs(),
        begin_again=rows.begin_again,
        remembers=is_whole or cell.model.abilities.history != "given",
        whole_dialogues=is_whole,
        is_behind=rows.verdicts.is_behind,
    )
    hold(work)
    spread = None
    if not work.stopped and await rows.has_jobs(work):
        progress.state = "loading"
        spread = await models.replicas(cell, progress)
        await preflight.look(spread)
    progress.state = "running"
    await rows.run(work, spread)
