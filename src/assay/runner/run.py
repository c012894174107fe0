"""Plan a run, call the models, score and summarize: the entry point for Python and the command line."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from ..core import (
    BadSample,
    Model,
    Prefetching,
    SpreadOverGpus,
    StoreError,
    UsageError,
)
from ..core.trust import guarded
from ..media.checks import check_media
from ..store import Layout, Redactor, RunWriter, safe_name
from ..store.cache import ResponseCache
from ..store.ownership import refuse_foreign
from .ask.batch_limits import check_batches
from .ask.executors.check import check_spread, is_spread
from .counts.budget import ErrorBudget
from .events import Silent, Watcher
from .flow.floors import FOLDER as FLOOR_FOLDER
from .flow.floors import Floors, floor_options, measure_floors, tasks_with_floors
from .flow.session import Session
from .options import DEFAULT_MODEL, RunOptions
from .plan.models import name_models
from .plan.planned_task import PlannedTask
from .plan.planning import make_plan
from .plan.stopping import prepare_until
from .result import RunResult
from .resume.recorded import recorded_run
from .tasks.measure import RecordedMeasures


def run(
    tasks: object = (),
    model: object = None,
    *,
    watcher: Watcher | None = None,
    options: RunOptions | None = None,
    **settings: object,
) -> RunResult:
    """Run tasks on models and return the results. Repeating the call continues an unfinished run.

    `tasks` and `model` are names, paths, `file.py:name`, or objects. Everything else is a field of `RunOptions`.

    Example: `assay.run("quickstart", model="smollm2", limit=10)`
    """
    chosen, objects = _options(tasks, model, options, settings)
    return _in_loop(lambda: _run(chosen, objects, watcher or Silent()))


def score(
    folder: str | Path,
    *,
    watcher: Watcher | None = None,
    **settings: object,
) -> RunResult:
    """Score a run again from its journal, without calling the model. `scorers=` replaces the task's scorers."""
    recorded = recorded_run(folder, settings)
    options = recorded.options
    models = recorded.models
    ways = recorded.ways
    # Recorded judges may belong to the replaced scorers. Those passed here belong to the new ones.
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
    tasks: object,
    model: object,
    options: RunOptions | None,
    settings: Mapping[str, Any],
) -> tuple[RunOptions, dict[str, Any]]:
    """Return the options of a run, with tasks and models that are objects given by name.

    The model objects are also returned, by name.
    """
    chosen = options or RunOptions.from_plain(settings, where="assay.run")
    objects: dict[str, Any] = {}
    if tasks:
        chosen = chosen.but(tasks=_as_tuple(tasks))
    if model is not None:
        names = []
        for entry in _as_tuple(model):
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


def _as_tuple(value: object) -> tuple[Any, ...]:
    """Convert a list to a tuple, and a single value to a tuple with one element."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _in_loop(action: Callable[[], Coroutine[Any, Any, RunResult]]) -> RunResult:
    """Run a coroutine to completion, even if an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(action())
    # Not in a `with`: an interruption must not wait until the run has ended.
    return ThreadPoolExecutor(1).submit(lambda: asyncio.run(action())).result()


async def _run(
    options: RunOptions,
    objects: Mapping[str, Model],
    watcher: Watcher,
    ask_model: bool = True,
    may_have_unused: bool = False,
    recorded: RecordedMeasures | None = None,
    is_own: bool = True,
) -> RunResult:
    """Check the options, plan the run, and run it. Secrets are redacted in all errors."""
    options, naming_notes = name_models(options, objects)
    if options.until is not None and not options.shuffle:
        # An early stop is valid only if any sample may come next.
        options = options.but(shuffle=True)
    for line in naming_notes:
        watcher.say(line)
    if options.output:
        _refuse_url(options.output)
        refuse_foreign(run_folder(options))  # before the work of planning
    redactor = Redactor.of(
        options.model_args,
        options.judge_args,
        {"data": [options.data, options.fewshot_data]},
    )
    try:
        planned_tasks = make_plan(
            options,
            objects,
            may_have_unused=may_have_unused,
            recorded=recorded,
        )
        return await _planned_run(
            options,
            planned_tasks,
            watcher,
            redactor,
            ask_model,
            is_own,
        )
    except Exception as error:
        redactor.hide(error)  # a model that could not be built may quote its options
        raise


async def _planned_run(
    options: RunOptions,
    planned_tasks: Sequence[PlannedTask],
    watcher: Watcher,
    redactor: Redactor,
    ask_model: bool,
    is_own: bool,
) -> RunResult:
    """Check the planned tasks together, open the run folder, measure floors (`flow.floors`), and run the tasks."""
    # Models that were given as objects, or that a task brings, may hold other secrets.
    redactor.learn(
        *(getattr(planned.model, "written", {}) for planned in planned_tasks)
    )
    if options.on_data_error == "stop":
        _refuse_bad_rows(planned_tasks)
    if ask_model:
        options = _spread_over_gpus(options, planned_tasks)
        check_spread(options, planned_tasks)
        check_batches(options, planned_tasks)
    with nullcontext() if ask_model else suppress(UsageError, StoreError):
        # A run that is scored again was checked when it was asked.
        prepare_until(options, planned_tasks)
    # An invalid policy is an error before anything is written.
    ErrorBudget(options.on_error)
    folder = run_folder(
        options, tuple(dict.fromkeys(planned.model_name for planned in planned_tasks))
    )
    _refuse_own_data(folder, planned_tasks)
    if ask_model and not is_spread(options):
        _prefetch(folder, planned_tasks)
    for planned in planned_tasks:
        if hasattr(planned.model, "write_under"):
            planned.model.write_under(folder)
    if options.cache and ask_model:
        cache = ResponseCache(options.cache, redactor)
    else:
        cache = None
    try:
        with RunWriter(
            folder,
            fresh=options.fresh and ask_model,
            redactor=redactor,
            signs=is_own,
        ) as writer:
            floors, notes = await _floors(
                options,
                planned_tasks,
                folder,
                watcher,
                redactor,
                ask_model,
                is_own,
            )
            session = Session(
                options,
                planned_tasks,
                writer,
                watcher,
                ask_model,
                cache,
                floors,
            )
            session.notes += notes
            return await session.run()
    finally:
        if cache is not None:
            cache.close()


async def _floors(
    options: RunOptions,
    planned_tasks: Sequence[PlannedTask],
    folder: Path,
    watcher: Watcher,
    redactor: Redactor,
    ask_model: bool,
    is_own: bool,
) -> tuple[Floors, list[str]]:
    """Return the floors (scores of agents that do nothing) of tasks with tools, and notes on tasks without one."""
    with_floor, notes = tasks_with_floors(options, planned_tasks)
    if not with_floor:
        return {}, notes
    inner = folder / FLOOR_FOLDER
    if not ask_model and not inner.exists():
        return {}, []
    floor_run = floor_options(options).but(
        output=str(inner),
        tasks=tuple(planned.task.name for planned in with_floor),
    )

    async def run_floors(copies: list[PlannedTask]) -> RunResult:
        fresh = options.fresh and ask_model
        with RunWriter(
            inner,
            fresh=fresh,
            redactor=redactor,
            signs=is_own,
        ) as writer:
            return await Session(
                floor_run,
                copies,
                writer,
                Silent(),
                ask_model,
                None,
            ).run()

    floors, status = await measure_floors(with_floor, run_floors)
    if status == "interrupted":
        raise KeyboardInterrupt
    return floors, notes


def _spread_over_gpus(
    options: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> RunOptions:
    """Return options with one replica per GPU, if all models of the run support replicas."""
    if is_spread(options) or not planned_tasks:
        return options
    models = [planned.model for planned in planned_tasks]
    copies = [
        model.copies() if isinstance(model, SpreadOverGpus) else 1 for model in models
    ]
    if min(copies) < 2:
        return options
    spread = options.but(
        replicas=min(copies),
        gpus_per_replica=1,
    )
    try:
        check_spread(spread, planned_tasks)
    except UsageError:
        return options  # a model that was given as an object has one copy
    return spread


def _prefetch(
    folder: Path,
    planned_tasks: Sequence[PlannedTask],
) -> None:
    """Start loading the first model in the background if the folder is new, because then it will be needed."""
    if folder.exists() or not planned_tasks:
        return
    model = planned_tasks[0].model
    if isinstance(model, Prefetching):
        model.prefetch()


def _refuse_url(output: str) -> None:
    """Raise if the run folder is a URL, which would become a local folder named like the URL's scheme."""
    if "://" in output:
        raise UsageError(
            "a run is written to a local folder, not to a URL",
            where=output,
            fix=f"choose a folder with -o, then `assay export FOLDER {output}`",
        )


def run_folder(
    options: RunOptions,
    planned: tuple[str, ...] = (),
) -> Path:
    """Return the folder of a run: the option `-o`, or a name under `runs/` made from the options.

    The same command gives the same name. `planned` are the model names to use if the
    options have none.
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


def _refuse_own_data(
    folder: Path,
    planned_tasks: Sequence[PlannedTask],
) -> None:
    """Raise if a run would read files that it writes itself. It might never end, or score its own records."""
    layout = Layout(folder.resolve())
    for file in (
        file.resolve() for planned in planned_tasks for file in planned.samples.files
    ):
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


def _refuse_bad_rows(planned_tasks: Sequence[PlannedTask]) -> None:
    """Raise for the first bad row before anything is written, as `--on_data_error stop` requires."""
    for planned in planned_tasks:
        for item in planned.view():
            if isinstance(item, BadSample):
                raise item.error
            for medium in planned.template(item).media:
                check_media(medium)
