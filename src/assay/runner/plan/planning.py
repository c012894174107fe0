"""The plan of a run: every task × model, checked before a model is loaded. All errors are reported at once.

`make_plan` takes these steps. Each appends its errors to the list `faults`, which is raised after the last step:

    _tasks                    resolves the tasks that the run names
    _Models.of                builds the models for each task, each model once
    _Variants.measured_for    chooses how a task is asked of a model, such as by the likelihoods of its options
    _Variants.prepare         opens the data and builds template, scorers and tools, once for each such variant
    _passes_checks            checks each task × model
"""

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
from ...datasets.row_media import holder
from ...templates import build_template
from ...tooling import ToolSet
from ..option_fields import PartlyRead
from ..options import DEFAULT_MODEL, RunOptions
from ..scoring.scoring import Scoring
from ..tasks.components import (
    build_scorer,
    build_summarizer,
    build_tools,
    limits_of,
    usual_scorers,
)
from ..tasks.locate import adding_searched_folders, find_data
from ..tasks.measure import (
    Measured,
    RecordedMeasures,
    is_plain,
    measured,
    usual_measure,
)
from ..tasks.overrides import (
    columns_of,
    fewshot_of,
    generation_of,
    system_of,
    without_scores,
)
from ..tasks.resolve import part_of, resolve_tasks
from ..tasks.shots import with_shots
from .agents import with_agent
from .checks import (
    check_abilities,
    check_choices,
    check_device,
    check_reducer,
    check_repeats,
    check_tools,
)
from .judges import check_judges, count_judges
from .labels import with_unique_names
from .measure_notes import context_notes, group_notes, measure_notes, scorer_notes
from .models import Refused, trusted_model
from .planned_task import PlannedTask, digests_of
from .protocol import protocol_of
from .scorable import (
    check_known_answers,
    check_leaks,
    check_prompts,
    check_reads,
    check_targets,
)
from .settings import (
    collecting,
    run_faults,
    scorer_faults,
    task_faults,
    unused_faults,
    unused_judges,
)

CHECKS = (
    check_device,
    check_prompts,
    check_abilities,
    check_repeats,
    check_reducer,
    check_reads,
    check_choices,
    check_targets,
    check_tools,
)
"""The checks of each task × model, made before a request is sent."""
CHECKS_OF_ROWS = (check_known_answers, check_leaks)
"""Checks that read many rows and build their prompts. They run only if `CHECKS` finds no error."""


def make_plan(
    run: RunOptions,
    extra_models: Mapping[str, Model] | None = None,
    *,
    may_have_unused: bool = False,
    recorded: RecordedMeasures | None = None,
) -> list[PlannedTask]:
    """Plan and check every task × model of a run. Raise `PlanError` with all errors.

    With `may_have_unused`, settings without effect are allowed, as in the settings of an earlier run. `recorded` has
    the measures with which existing answers were obtained.
    """
    faults = run_faults(run)
    tasks = _tasks(run, faults)
    models = _Models(run, extra_models or {}, faults)
    if not tasks:
        models.check()
        faults += [*models.unknown_options(), *scorer_faults(run)]
    planned_tasks: list[PlannedTask] = []
    judging: list[tuple[Scoring, str]] = []
    for task in tasks:
        variants = _Variants(task, run, faults, recorded)
        planned_of_task = _plan_task(task, run, models, variants, faults)
        planned_tasks += planned_of_task
        judging += _scorings_of(task, planned_of_task, variants)
    if tasks:
        faults += models.unknown_options()
    check_judges(judging, run, tasks, faults)
    if planned_tasks and not faults:
        faults += _measure_faults(run, planned_tasks)
    if not faults and not may_have_unused:
        faults += unused_faults(run, tasks)
    raise_all(faults)
    scorings = [scoring for planned in planned_tasks for scoring in planned.scorings]
    if planned_tasks and not may_have_unused:
        tool_sets = [p.tools for p in planned_tasks if p.tools is not None]
        needs = {role for tool_set in tool_sets for role in tool_set.needs}
        notes = unused_judges(run, tasks, scorings, needs)
        planned_tasks[0].notices += tuple(notes)
    judges = count_judges([scoring for scoring in scorings if scoring.roles], run)
    for planned in planned_tasks:
        planned.digests = digests_of(planned)
        planned.task = planned.task.but(protocol=protocol_of(planned, judges))
    return planned_tasks


def _plan_task(
    task: Task,
    run: RunOptions,
    models: "_Models",
    variants: "_Variants",
    faults: list[AssayError],
) -> list[PlannedTask]:
    """Plan a task with each of its models. Errors are appended to `faults`."""
    planned_tasks: list[PlannedTask] = []
    if not task.measures:
        # Its errors are listed before those of the models.
        variants.prepare(task)
    for name, model in models.of(task):
        measured_task = None
        with collecting(faults):
            measured_task = variants.measured_for(name, model)
        if measured_task is None:
            continue
        prepared = variants.prepare(measured_task.task)
        if prepared is None:
            continue
        scorings = [
            Scoring.of(scorer_name, scorer, task.name, name)
            for scorer_name, scorer in prepared.scorers
        ]
        planned = PlannedTask(
            measured_task.task,
            name,
            model,
            prepared.samples,
            prepared.template,
            scorings,
            prepared.options,
            run,
            prepared.shots,
            measured_task.measure,
        )
        planned.tools = prepared.tools
        if prepared.tools is not None:
            planned.limits = limits_of(measured_task.task, run)
            for scoring in scorings:
                scoring.takes_calls = True
        planned.notices = tuple(models.notices(name))
        planned.notices += tuple(measure_notes(planned, task, run))
        if _passes_checks(planned, faults):
            planned.notices += tuple(scorer_notes(planned.view(), prepared.scorers))
            planned.notices += tuple(context_notes(planned))
            planned.notices += tuple(group_notes(planned))
            planned_tasks.append(planned)
    return planned_tasks


def _passes_checks(planned: PlannedTask, faults: list[AssayError]) -> bool:
    """Run all checks of a task × model, append their errors, and return True if there are none.

    Checks that read many rows run only if the cheaper ones found nothing.
    """
    count_before = len(faults)
    for checks in (CHECKS, CHECKS_OF_ROWS):
        for check in checks:
            with collecting(faults):
                check(planned)
        if len(faults) > count_before:
            return False
    return True


def _scorings_of(
    task: Task,
    planned_tasks: Sequence[PlannedTask],
    variants: "_Variants",
) -> list[tuple[Scoring, str]]:
    """Return the scorers whose judges must be checked, each with the name of its task.

    This includes the scorers of a task that no model can answer, so that all errors are listed at once.
    """
    prepared = variants.prepared_without_model()
    scorings = [scoring for planned in planned_tasks for scoring in planned.scorings]
    if not planned_tasks and prepared is not None:
        for name, scorer in prepared.scorers:
            scorings.append(Scoring.of(name, scorer, task.name, ""))
    return [(scoring, task.name) for scoring in scorings]


def _measure_faults(
    run: RunOptions,
    planned_tasks: Sequence[PlannedTask],
) -> list[AssayError]:
    """Return an error if `--measure` fits no task of the run."""
    if not run.measure or any(planned.measure for planned in planned_tasks):
        return []
    return [
        UsageError(
            f"no task of this run can be measured by {run.measure}",
            fix="leave --measure out",
        )
    ]


class _Models:
    """Builds each model of a run once: the run's own models, and those that the files of a task define."""

    def __init__(
        self,
        run: RunOptions,
        objects: Mapping[str, Model],
        faults: list[AssayError],
    ) -> None:
        self._run = run
        self._given = objects
        self._faults = faults
        self._built: dict[tuple[str, int], Model | None] = {}
        self._refused: Refused = {}

    def of(self, task: Task) -> Iterator[tuple[str, Model]]:
        """Yield the models for a task: those of the run, or if it has none, the one that the task names."""
        own_model = tuple(task.models)[:1]
        names = self._run.models or own_model or (DEFAULT_MODEL,)
        for name in names:
            built = self._build(name, task.models.get(name))
            if built is not None:
                with collecting(self._faults):
                    built = with_agent(task, built, name, self._run)
                yield name, built

    def check(self) -> None:
        """Build all models, so that their errors are listed even if the run has no task."""
        for name in self._run.models:
            self._build(name, None)

    def unknown_options(self) -> list[AssayError]:
        """Return an error for each model option that no model of the run has."""
        names = set(self._run.models)
        in_all: list[AssayError] = []
        for faults in self._refused.values():
            if faults.keys() == names:
                in_all += faults.values()
        return in_all

    def notices(self, name: str) -> Iterator[str]:
        """Yield a note for each option that only other models of the run have."""
        for option, faults in self._refused.items():
            if name in faults:
                yield f"{name} has no option {option!r} and is asked without it"

    def _build(
        self,
        name: str,
        model: Model | None,
    ) -> Model | None:
        """Build a model on the first call, and return it. If that fails, add the error and return None."""
        key = (name, id(model))
        if key in self._built:
            return self._built[key]
        built = self._given.get(name) or model
        if built is None:
            with collecting(self._faults):
                built = trusted_model(name, self._run, self._refused)
        self._built[key] = built
        return built


class _Variants:
    """The prepared versions of one task. There may be several, because the measure may differ between models."""

    def __init__(
        self,
        task: Task,
        run: RunOptions,
        faults: list[AssayError],
        recorded: RecordedMeasures | None = None,
    ) -> None:
        self._task = task
        self._run = run
        self._faults = faults
        self._recorded = recorded
        self._prepared: dict[str, Prepared | None] = {}
        """The variants by their protocol id; None for one that has an error."""

    def measured_for(self, name: str, model: Model) -> Measured:
        """Return the variant of the task for a model, and the name of its measure."""
        result = self._measured(name, model)
        return replace(result, task=without_scores(result.task, self._run))

    def _measured(self, name: str, model: Model) -> Measured:
        """Return the task as it is measured with a model; unchanged if no measure applies."""
        task = self._task
        measure = self._run.measure
        if self._recorded is not None:
            # The answers exist: they were asked by this measure.
            measure = self._recorded.get((task.name, name)) or None
            applies = measure is not None
        elif measure is None and self._is_plain_choice():
            # Neither the author nor the user says how to ask.
            measure = usual_measure(model.abilities)
            applies = measure is not None
        else:
            # The user's measure, or else the best of the author's.
            applies = bool(task.measures)
            if measure is not None and not applies:
                applies = self._first_with_choices() is not None
        if not applies:
            return Measured(task)
        fix = getattr(model, "likelihood_fix", "")
        return measured(task, model.abilities, measure, name, fix)

    def _is_plain_choice(self) -> bool:
        """Return True for text questions with options, if neither task nor run determines how they are asked."""
        if not is_plain(self._task) or self._asks_for_text():
            return False
        prepared = self.prepare(self._task)
        if prepared is None or prepared.samples.kind != "choice":
            return False
        first = self._first_with_choices()
        return first is not None and not first.media

    def _asks_for_text(self) -> bool:
        """Return True if the run has settings that make sense only for generated text, such as several epochs."""
        run = self._run
        candidates = run.generation.get("n") or 1
        if self._task.epochs > 1 or candidates > 1:
            return True
        return bool(run.apply_chat_template) or run.predict_only

    def _first_with_choices(self) -> Sample | None:
        """Return the first readable sample of the task, or None if that sample has no answer options."""
        prepared = self.prepare(self._task)
        samples = () if prepared is None else prepared.samples
        first = next((s for s in samples if isinstance(s, Sample)), None)
        return first if first is not None and first.choices else None

    def prepare(self, task: Task) -> "Prepared | None":
        """Prepare one variant of the task, once. If it has an error, add it to the list of errors and return None."""
        if task.protocol not in self._prepared:
            task = without_scores(task, self._run)
            self._prepared[task.protocol] = None
            with collecting(self._faults):
                self._prepared[task.protocol] = prepare(task, self._run, self._faults)
        return self._prepared[task.protocol]

    def prepared_without_model(self) -> "Prepared | None":
        """Return the task as its author wrote it. If no model can answer it, prepare it here to list its errors."""
        if not self._prepared:
            return self.prepare(self._task)
        return self._prepared.get(self._task.protocol)


def _tasks(run: RunOptions, faults: list[AssayError]) -> list[Task]:
    """Return the readable tasks of the run. Errors of the others are appended to `faults`."""
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
    tasks = _without_repeats(tasks)
    names = [task.name for task in tasks]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            faults.append(
                UsageError(
                    f"two tasks are called {name!r}",
                    fix="name each task once, and rename one of two files that share a name",
                )
            )
    return tasks


def _without_repeats(tasks: list[Task]) -> list[Task]:
    """Return the tasks without duplicates. A task of another library may be named directly and by a tag or group."""
    unrepeated: list[Task] = []
    for task in tasks:
        is_repeated = task.driver is not None and any(
            other.name == task.name and other.driver == task.driver
            for other in unrepeated
        )
        if not is_repeated:
            unrepeated.append(task)
    return unrepeated


@dataclass(frozen=True, slots=True)
class Prepared:
    """The parts of a prepared task that do not depend on the model."""

    samples: Samples
    template: Any
    shots: Any
    options: GenerateOptions
    scorers: list[tuple[str, Any]]
    tools: ToolSet | None = None


def prepare(
    task: Task,
    run: RunOptions,
    faults: list[AssayError],
) -> Prepared:
    """Open the data and build the template, the scorers and the options of a task.

    Errors of scorers and summarizers are appended to `faults`. All others are raised.
    """
    wrong = task_faults(task, run)
    options: GenerateOptions | None = None
    with collecting(wrong):
        options = generation_of(task, run)
    questions: tuple[Samples, Any, Any] | None = None
    tools: ToolSet | None = None
    with collecting(wrong):
        limits_of(task, run)
    with collecting(wrong):
        tools = build_tools(task)
    with collecting(wrong):
        questions = _build_questions(task, run, tools)
    scorers: list[tuple[str, Any]] = []
    if task.driver is None:
        entries = task.scorers
        if not entries and questions is not None:
            samples, template, _ = questions
            entries = usual_scorers(samples, template)
        scorers = build_scorers(task, entries, faults)
    for entry in task.summarizers:
        with collecting(faults):
            build_summarizer(entry, f"task {task.name!r}")
    raise_all(wrong)
    assert questions is not None and options is not None  # else an error was raised
    samples, template, shots = questions
    return Prepared(samples, template, shots, options, scorers, tools)


def _build_questions(
    task: Task,
    run: RunOptions,
    tools: ToolSet | None,
) -> tuple[Samples, Any, Any]:
    """Return the samples, the template, and the pool of few-shot examples (None if there is none)."""
    with adding_searched_folders(task, run.data):
        samples = open_dataset(
            _source_of(task, run),
            columns=columns_of(task, run),
            tags=task.tags,
            cluster=task.cluster,
            split=run.split,
            on_duplicate=run.on_duplicate,
            to_sample=task.to_sample,
            where=f"task {task.name!r}",
            **_media_permissions(task, run),
        )
        samples = part_of(samples, task)
    samples = samples.with_shuffled_choices(
        run.shuffle_choices, each_epoch=run.shuffle_choices_each_epoch
    )
    if task.template is None and samples.kind == "unknown":
        raise _no_question(samples, f"task {task.name!r}")
    is_whole = getattr(task.template, "is_whole", False)
    hold = holder(samples.own_reach, f"task {task.name!r}")
    template = build_template(
        task.template,
        kind=samples.kind,
        system=None if is_whole else system_of(task, run),
        roles=task.roles,
        produces=task.produces,
        chat=run.apply_chat_template,
        where=f"task {task.name!r}",
        hold=hold,
    )
    if tools is not None:
        template.offer_tools(tools.tools, task.tool_choice)
    shots = None
    if fewshot_of(task, run).num and not is_whole:
        template, shots = with_shots(
            task,
            run,
            samples,
            template,
            _source_of,
            _media_permissions(task, run),
        )
    return samples, template, shots


def _media_permissions(task: Task, run: RunOptions) -> dict[str, Any]:
    """Return what a task's rows may refer to (media files, URLs, private URLs), as arguments of `open_dataset`."""
    return {
        "media_root": run.media_root,
        "allow_urls": run.allow_urls or task.allow_urls,
        "allow_private": run.allow_private_urls,
    }


def _no_question(samples: Samples, where: str) -> UsageError:
    """Return the error for data in which no column can be the question."""
    row = next((s for s in samples if isinstance(s, Sample)), None)
    names = "none" if row is None else ", ".join(row.fields)
    return UsageError(
        f"no column is known as the question (the columns are {names})",
        where=where,
        fix="name one `question`, map it (--columns input=…, or image=…, audio=…), or give a template",
    )


def _source_of(task: Task, run: RunOptions) -> object:
    """Return what to pass to `open_dataset`: the path in `--data`, or the task's own dataset if there is none."""
    if task.driver is not None and callable(task.dataset):
        return task.dataset  # the driver reads `--data` itself
    source = task.dataset
    if hasattr(source, "reading_from"):
        # The user's code reads the rows from the path in `--data`.
        return source.reading_from(run.data)
    if not isinstance(source, DataSource):
        return run.data or source
    path = find_data(task, run.data)
    if source.read is not None:
        return source.read(path)
    return path


def build_scorers(
    task: Task,
    entries: Sequence[Any],
    faults: list[AssayError],
) -> list[tuple[str, Any]]:
    """Build the scorers in `entries`. Return each with a name that no other scorer of the task has.

    A missing library that a scorer requires is reported here, before the model is called.
    """
    where = f"task {task.name!r}"
    used_entries: list[Any] = []
    scorers: list[tuple[str, Any]] = []
    for entry in entries:
        with collecting(faults):
            name, scorer = build_scorer(entry, where)
            used_entries.append(entry)
            scorers.append((name, scorer))
            for requirement in getattr(scorer, "requires", ()):
                requirement.check(f"{where}, scorer {name!r}")
    return with_unique_names(used_entries, scorers, where, faults)
