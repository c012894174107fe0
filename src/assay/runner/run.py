"""Running: plan, ask, score, summarize; the one way in for Python and the command line."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from ..core import BadSample, Model, StoreError, UsageError
from ..core.trust import guarded
from ..media.checks import check_media
from ..store import Layout, Redactor, RunWriter, safe_name
from ..store.cache import ResponseCache
from ..store.ownership import refuse_foreign
from .ask.executors.check import check_spread
from .counts.budget import ErrorBudget
from .events import Silent, Watcher
from .flow.session import Session
from .options import DEFAULT_MODEL, RunOptions
from .plan.cell import Cell
from .plan.naming import name_models
from .plan.planning import make_plan
from .plan.stopping import prepare_until
from .result import RunResult
from .resume.recorded import recorded_run
from .tasks.measure import RecordedWays


def run(
    tasks: Any = (),
    model: Any = None,
    *,
    watcher: Watcher | None = None,
    options: RunOptions | None = None,
    **settings: Any,
) -> RunResult:
    """Runs tasks on models and returns the results; the same call again goes on where it stopped.

    `tasks` and `model` are names, paths, `file.py:name`, or the things themselves; everything else is a field of
    `RunOptions`.

    Example: `assay.run("quickstart", model="smollm2", limit=10)`
    """
    chosen, objects = _options(tasks, model, options, settings)
    return _in_loop(lambda: _run(chosen, objects, watcher or Silent()))


def score(
    folder: str | Path, *, watcher: Watcher | None = None, **settings: Any
) -> RunResult:
    """Scores a run again from its journal, without asking the model; `scorers=` replaces the task's own."""
    recorded = recorded_run(folder, settings)
    options, models, ways = recorded.options, recorded.models, recorded.ways
    # What the run was given may have been for the scorers that are now replaced; what is given here is for these.
    may_have_unused = not {"judges", "judge_args"} & settings.keys()
    is_own = options.trust_code or recorded.gate is None
    with guarded(recorded.gate):
        return _in_loop(
            lambda: _run(
                options,
                models,
                watcher or Silent(),
                False,
                may_have_unused,
                ways,
                is_own,
            )
        )


def _options(
    tasks: Any, model: Any, options: RunOptions | None, settings: Mapping[str, Any]
) -> tuple[RunOptions, dict[str, Any]]:
    """Options with names only; objects given in their place are kept beside them."""
    chosen = options or RunOptions.from_plain(settings, where="assay.run")
    objects: dict[str, Any] = {}
    if tasks:
        entries = (
            [tasks]
            if isinstance(tasks, str) or not isinstance(tasks, (list, tuple))
            else list(tasks)
        )
        chosen = chosen.but(tasks=tuple(entries))
    if model is not None:
        entries = (
            [model]
            if isinstance(model, str) or not isinstance(model, (list, tuple))
            else list(model)
        )
        names = []
        for entry in entries:
            if isinstance(entry, str):
                names.append(entry)
                continue
            from ..models import adapt_model

            adapted = adapt_model(entry)
            name = str(
                getattr(entry, "name", None)
                or getattr(entry, "__name__", None)
                or type(entry).__name__
            )
            objects[name] = adapted
            names.append(name)
        chosen = chosen.but(models=tuple(names))
    return chosen, objects


def _in_loop(action: Callable[[], Coroutine[Any, Any, RunResult]]) -> RunResult:
    """Runs a coroutine to its end, also where an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(action())
    # Not in a `with`: whoever interrupts the waiting is not held until the run has ended.
    return ThreadPoolExecutor(1).submit(lambda: asyncio.run(action())).result()


async def _run(
    options: RunOptions,
    objects: Mapping[str, Model],
    watcher: Watcher,
    ask_model: bool = True,
    may_have_unused: bool = False,
    recorded: RecordedWays | None = None,
    is_own: bool = True,
) -> RunResult:
    options, naming_notes = name_models(options, objects)
    if options.until is not None and not options.shuffle:
        options = options.but(
            shuffle=True
        )  # an early stop is valid only where any sample may come next
    for line in naming_notes:
        watcher.say(line)
    if options.output:
        refuse_foreign(run_folder(options))  # before any of the work that a plan takes
    redactor = Redactor.of(
        options.model_args,
        options.judge_args,
        {"data": [options.data, options.fewshot_data]},
    )
    try:
        cells = make_plan(
            options, objects, may_have_unused=may_have_unused, recorded=recorded
        )
        return await _planned_run(options, cells, watcher, redactor, ask_model, is_own)
    except Exception as error:
        redactor.hide(
            error
        )  # a model that could not be built may say what it was built with
        raise


async def _planned_run(
    options: RunOptions,
    cells: Sequence[Cell],
    watcher: Watcher,
    redactor: Redactor,
    ask_model: bool,
    is_own: bool,
) -> RunResult:
    # Models that were given as objects, or that a task brings, were built by others.
    redactor.learn(*(getattr(cell.model, "written", {}) for cell in cells))
    if options.on_data_error == "stop":
        _refuse_bad_rows(cells)
    if ask_model:
        check_spread(options, cells)
    with nullcontext() if ask_model else suppress(UsageError, StoreError):
        prepare_until(
            options, cells
        )  # what is only scored again was fit for it when it was asked
    ErrorBudget(
        options.on_error
    )  # a wrong policy is a fault before anything is written
    folder = run_folder(
        options, tuple(dict.fromkeys(cell.model_name for cell in cells))
    )
    _refuse_own_data(folder, cells)
    for cell in cells:
        if hasattr(cell.model, "write_under"):
            cell.model.write_under(folder)
    cache = (
        ResponseCache(options.cache, redactor) if options.cache and ask_model else None
    )
    try:
        with RunWriter(
            folder, fresh=options.fresh and ask_model, redactor=redactor, signs=is_own
        ) as writer:
            return await Session(
                options, cells, writer, watcher, ask_model, cache
            ).run()
    finally:
        if cache is not None:
            cache.close()


def run_folder(options: RunOptions, planned: tuple[str, ...] = ()) -> Path:
    """Where a run is kept: `-o`, or a name under `runs/` that the same command finds again.

    `planned` are the models that are asked where the options name none: those that the tasks bring, else the default.
    """
    if options.output:
        return Path(options.output).expanduser()
    models = options.models or planned or (DEFAULT_MODEL,)
    names = [
        safe_name(Path(str(getattr(t, "name", t))).stem, 24) for t in options.tasks
    ]
    label = (
        "+".join(names)[:48]
        + "--"
        + safe_name(Path(models[0].partition(":")[0]).stem, 24)
    )
    return Path("runs") / f"{label}-{options.but(models=models).folder_digest()}"


def _refuse_own_data(folder: Path, cells: Sequence[Cell]) -> None:
    """A run that reads what it writes would never end, or judge its own records."""
    layout = Layout(folder.resolve())
    for file in (file.resolve() for cell in cells for file in cell.samples.files):
        if file in (
            layout.journal,
            layout.summary,
            layout.manifest,
        ) or file.is_relative_to(layout.media):
            raise UsageError(
                f"{file.name} is written by this run, and it is also its data",
                where=str(folder),
                fix="choose another folder with -o",
            )


def _refuse_bad_rows(cells: Sequence[Cell]) -> None:
    """`--on_data_error stop`: the first row that cannot be used ends the run before anything is written."""
    for cell in cells:
        for item in cell.view():
            if isinstance(item, BadSample):
                raise item.error
            for medium in cell.template(item).media:
                check_media(medium)
