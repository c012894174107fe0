"""The plan: everything that will be run, checked before a model is loaded; all faults at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core import (
    AssayError,
    DataSource,
    GenerateOptions,
    Model,
    PlanError,
    Sample,
    Task,
    UsageError,
)
from ...core.errors import raise_all
from ...datasets import Samples, open_dataset
from ...datasets.media import holder
from ...templates import build_template
from ..options import DEFAULT_MODEL, PartlyRead, RunOptions
from ..scoring.scoring import Scoring
from ..tasks.components import build_scorer, build_summarizer, usual_scorers
from ..tasks.locate import find_data, saying_where
from ..tasks.measure import Measured, RecordedWays, measured
from ..tasks.overrides import (
    columns_of,
    fewshot_of,
    generation_of,
    system_of,
    without_scores,
)
from ..tasks.resolve import resolve_tasks
from ..tasks.shots import with_shots
from ..tasks.subsets import part_of
from .cell import Cell, digests_of
from .checks import (
    check_abilities,
    check_choices,
    check_device,
    check_reducer,
    check_repeats,
)
from .judges import check_judges, count_judges
from .known_answers import check_known_answers
from .labels import told_apart
from .leaking import check_leaks
from .models import Refused, trusted_model
from .protocol import protocol_of
from .readable import check_reads
from .settings import (
    gather,
    run_faults,
    scorer_faults,
    task_faults,
    unused_faults,
    unused_judges,
)
from .targets import check_prompts, check_targets

CHECKS = (
    check_device,
    check_prompts,
    check_abilities,
    check_repeats,
    check_reducer,
    check_reads,
    check_choices,
    check_targets,
)
"""What is looked at of each task with each model, before anything is asked."""


def make_plan(
    run: RunOptions,
    extra_models: Mapping[str, Model] | None = None,
    *,
    may_have_unused: bool = False,
    recorded: RecordedWays | None = None,
) -> list[Cell]:
    """All cells of a run; raises `PlanError` with every fault found. Settings of an earlier run may be unused now.

    `recorded` says by which measure each task was asked of each model, where answers are scored that are there already.
    """
    faults = run_faults(run)
    tasks = _tasks(run, faults)
    models = _Models(run, extra_models or {}, faults)
    if not tasks:
        models.check()
        faults += [*models.unknown_options(), *scorer_faults(run)]
    cells: list[Cell] = []
    unasked: list[tuple[Scoring, str]] = []
    for task in tasks:
        ways = _Ways(task, run, faults, recorded)
        if not task.measures:
            ways.prepared(task)  # its own faults are listed before those of the models
        for name, model in models.of(task):
            way = gather(faults, lambda: ways.for_model(name, model))  # noqa: B023
            prepared = None if way is None else ways.prepared(way.task)
            if prepared is None:
                continue
            scorings = [Scoring.of(n, s, task.name, name) for n, s in prepared.scorers]
            cell = Cell(
                way.task,
                name,
                model,
                prepared.samples,
                prepared.template,
                scorings,
                prepared.options,
                run,
                prepared.shots,
                way.measure,
            )
            cell.notices = tuple(models.notices(name))
            before = len(faults)
            for check in CHECKS:
                gather(faults, lambda cell=cell, check=check: check(cell))  # type: ignore[misc]
            for check in (
                (check_known_answers, check_leaks) if len(faults) == before else ()
            ):
                gather(faults, lambda cell=cell, check=check: check(cell))  # type: ignore[misc]
            if len(faults) == before:
                cells.append(cell)
        prepared = ways.prepared_at_all()
        if prepared is not None and not any(
            cell.task.name == task.name for cell in cells
        ):
            unasked += [
                (Scoring.of(n, s, task.name, ""), task.name)
                for n, s in prepared.scorers
            ]
    if tasks:
        faults += models.unknown_options()
    check_judges(
        [*((s, cell.task.name) for cell in cells for s in cell.scorings), *unasked],
        run,
        tasks,
        faults,
    )
    if run.measure and cells and not faults and not any(cell.measure for cell in cells):
        faults.append(
            UsageError(
                f"no task of this run can be measured by {run.measure}",
                fix="leave --measure out",
            )
        )
    if not faults and not may_have_unused:
        faults += unused_faults(run, tasks)
    raise_all(faults)
    if cells and not may_have_unused:
        notices = unused_judges(
            run, tasks, [scoring for cell in cells for scoring in cell.scorings]
        )
        cells[0].notices += tuple(notices)
    judges = count_judges(
        [scoring for cell in cells for scoring in cell.scorings if scoring.roles], run
    )
    for cell in cells:
        cell.digests = digests_of(cell)
        cell.task = cell.task.but(protocol=protocol_of(cell, judges))
    return cells


class _Models:
    """The models of a run, each built once; a task's own files may define some of them."""

    def __init__(
        self, run: RunOptions, objects: Mapping[str, Model], faults: list[AssayError]
    ) -> None:
        self._run, self._given, self._faults = run, objects, faults
        self._built: dict[tuple[str, int], Model | None] = {}
        self._refused: Refused = {}

    def of(self, task: Task) -> Iterator[tuple[str, Model]]:
        """The models a task is asked of: those of the run, else the one the task names itself."""
        for name in self._run.models or tuple(task.models)[:1] or (DEFAULT_MODEL,):
            built = self._build(name, task.models.get(name))
            if built is not None:
                yield name, built

    def check(self) -> None:
        """Finds the faults of the models where there is no task to ask them."""
        for name in self._run.models:
            self._build(name, None)

    def unknown_options(self) -> list[AssayError]:
        """Of several models, what each said of an option that none of them takes."""
        names = set(self._run.models)
        return [
            fault
            for faults in self._refused.values()
            if faults.keys() == names
            for fault in faults.values()
        ]

    def notices(self, name: str) -> Iterator[str]:
        """The options that other models of the run take and this one does not have."""
        for option, faults in self._refused.items():
            if name in faults:
                yield f"{name} has no option {option!r} and is asked without it"

    def _build(self, name: str, model: Model | None) -> Model | None:
        place = (name, id(model))
        if place not in self._built:
            self._built[place] = (
                self._given.get(name)
                or model
                or gather(
                    self._faults, lambda: trusted_model(name, self._run, self._refused)
                )
            )
        return self._built[place]


class _Ways:
    """A task as each model will be asked it; what it needs is prepared once for each way."""

    def __init__(
        self,
        task: Task,
        run: RunOptions,
        faults: list[AssayError],
        recorded: RecordedWays | None = None,
    ) -> None:
        self._task, self._run, self._faults, self._recorded = (
            task,
            run,
            faults,
            recorded,
        )
        self._prepared: dict[str, Prepared | None] = {}

    def for_model(self, name: str, model: Model) -> Measured:
        """The task as a model is asked it, by the best measure it can serve."""
        found = self._measured(name, model)
        return replace(found, task=without_scores(found.task, self._run))

    def _measured(self, name: str, model: Model) -> Measured:
        """The task by the best measure the model can serve; what has no options to choose from stays as it is."""
        task, wanted = self._task, self._run.measure
        if self._recorded is not None:
            wanted = self._recorded.get((task.name, name)) or None
            if wanted is None:
                return Measured(task)
        elif not task.measures and (wanted is None or not self._has_choices()):
            return Measured(task)
        return measured(task, model.abilities, wanted, name)

    def prepared(self, task: Task) -> "Prepared | None":
        """What a way needs; `None` if it has a fault, which is then listed."""
        if task.protocol not in self._prepared:
            task = without_scores(task, self._run)
            self._prepared[task.protocol] = gather(
                self._faults, lambda: prepare(task, self._run, self._faults)
            )
        return self._prepared[task.protocol]

    def prepared_at_all(self) -> "Prepared | None":
        """What the task needs by itself, and its own faults, where no model could be asked."""
        return (
            self.prepared(self._task)
            if not self._prepared
            else self._prepared.get(self._task.protocol)
        )

    def _has_choices(self) -> bool:
        prepared = self.prepared(self._task)
        first = (
            next((s for s in prepared.samples if isinstance(s, Sample)), None)
            if prepared
            else None
        )
        return first is not None and bool(first.choices)


def _tasks(run: RunOptions, faults: list[AssayError]) -> list[Task]:
    """The tasks that can be read, in part at least; what cannot is listed."""
    if not run.tasks:
        faults.append(
            UsageError(
                "no task given",
                fix="`assay ls tasks` prints what ships, or name a data file",
            )
        )
    tasks: list[Task] = []
    for reference in run.tasks:
        try:
            tasks += resolve_tasks(reference, run)
        except PartlyRead as error:
            faults += error.faults
            tasks += error.made
        except AssayError as error:
            faults += error.faults if isinstance(error, PlanError) else (error,)
    names = [task.name for task in tasks]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            faults.append(
                UsageError(f"two tasks are called {name!r}", fix="name each task once")
            )
    return tasks


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a task needs whatever the model."""

    samples: Samples
    template: Any
    shots: Any
    options: GenerateOptions
    scorers: list[tuple[str, Any]]


def prepare(task: Task, run: RunOptions, faults: list[AssayError]) -> Prepared:
    """Opens the data and builds what a task asks and judges with; faults of scorers are listed, others raised."""
    wrong = task_faults(task, run)
    options: GenerateOptions | None = gather(wrong, lambda: generation_of(task, run))
    parts: tuple[Samples, Any, Any] | None = gather(wrong, lambda: _asked(task, run))
    usual = (
        ()
        if task.scorers or parts is None or task.driver is not None
        else usual_scorers(*parts[:2])
    )
    scorers = (
        build_scorers(task, usual, faults)
        if task.driver is None and (parts or task.scorers)
        else []
    )
    for entry in task.summarizers:
        gather(
            faults, lambda entry=entry: build_summarizer(entry, f"task {task.name!r}")
        )  # type: ignore[misc]
    raise_all(wrong)
    assert parts is not None and options is not None  # else there was a fault
    samples, template, shots = parts
    return Prepared(samples, template, shots, options, scorers)


def _asked(task: Task, run: RunOptions) -> tuple[Samples, Any, Any]:
    """The data, the template over it, and what its shots come from."""
    with saying_where(task, run.data):
        samples = open_dataset(
            _source_of(task, run),
            columns=columns_of(task, run),
            tags=task.tags,
            cluster=task.cluster,
            split=run.split,
            on_duplicate=run.on_duplicate,
            to_sample=task.to_sample,
            where=f"task {task.name!r}",
            **_reach(task, run),
        )
        samples = part_of(samples, task)
    samples = samples.with_shuffled_choices(run.shuffle_choices)
    if task.template is None and samples.kind == "unknown":
        raise _no_question(samples, f"task {task.name!r}")
    template = build_template(
        task.template,
        kind=samples.kind,
        system=system_of(task, run),
        roles=task.roles,
        produces=task.produces,
        chat=run.apply_chat_template,
        where=f"task {task.name!r}",
        hold=holder(samples.own_reach, f"task {task.name!r}"),
    )
    shots = None
    if fewshot_of(task, run).num:
        template, shots = with_shots(
            task, run, samples, template, _source_of, _reach(task, run)
        )
    return samples, template, shots


def _reach(task: Task, run: RunOptions) -> dict[str, Any]:
    """Which files and URLs the rows may name."""
    return {
        "media_root": run.media_root,
        "allow_urls": run.allow_urls or task.allow_urls,
        "allow_private": run.allow_private_urls,
    }


def _no_question(samples: Samples, where: str) -> UsageError:
    row = next((s for s in samples if isinstance(s, Sample)), None)
    names = ", ".join(row.fields) if row is not None else "none"
    return UsageError(
        f"no column is known as the question (the columns are {names})",
        where=where,
        fix="name one `question`, map it (--columns input=…, or image=…, audio=…), or give a template",
    )


def _source_of(task: Task, run: RunOptions) -> Any:
    if task.driver is not None and callable(task.dataset):
        return task.dataset  # whoever drives the model reads `--data` in his own way
    source = task.dataset
    if hasattr(source, "reading_from"):
        return source.reading_from(
            run.data
        )  # the user's own code reads the rows; `--data` says where it reads
    if not isinstance(source, DataSource):
        return run.data or source
    found = find_data(task, run.data)
    return source.read(found) if source.read is not None else found


def build_scorers(
    task: Task, usual: Sequence[Any], faults: list[AssayError]
) -> list[tuple[str, Any]]:
    """The scorers of a task with their names, no two alike; `usual` ones where it names none."""
    where = f"task {task.name!r}"
    entries: list[Any] = []
    built: list[tuple[str, Any]] = []
    for entry in task.scorers or usual:
        scorer = gather(faults, lambda entry=entry: build_scorer(entry, where))  # type: ignore[misc]
        if scorer is not None:
            gather(
                faults,
                lambda scorer=scorer: _check_libraries(scorer[0], scorer[1], where),
            )  # type: ignore[misc]
            entries.append(entry)
            built.append(scorer)
    return told_apart(entries, built, where, faults)


def _check_libraries(name: str, scorer: Any, where: str) -> None:
    """What a scorer cannot do without is found before the model is asked, not after."""
    for requirement in getattr(scorer, "requires", ()):
        requirement.check(f"{where}, scorer {name!r}")
