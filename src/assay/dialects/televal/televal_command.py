"""`assay televal`: the two stages of TELEVAL's own command line, run by assay's runner.

`--mode infer` writes a model's predictions to `prediction/<model>/<infer_task>.jsonl`.
`--mode eval` judges such a file, also one written by another tool, and writes `result/`
and `summary/` under the same name followed by the eval_task.

A saved run records the task reference of its stage, by which it can be repeated:
`REGISTRY#infer/TASK/DATASET?{…}` for inference, `REGISTRY#eval/TASK/DATASET?{…}` for
judging a file of predictions. The options of the command line that affect the answers
or the verdicts follow after the `?`.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...core import EMPTY, Task, UsageError
from ...runner.events import Watcher
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run
from ...store import RunReader
from ..protocol import is_upstream
from ..shapes import Fields
from .eras import SEED, Era
from .facade.dataset import BatchLoader
from .facade.registry import InferTaskCfg
from .summaries import STATISTIC
from .task_builder import UPSTREAM, TaskBuilder, label_of
from .televal_files import (
    Folder,
    Predictions,
    ReadLine,
    WithUnanswered,
    ask_for_line,
    lines_in,
    predictions_of,
    results_of,
    unanswered_rows,
)
from .televal_rows import Batches, Columns
from .tree import Tree, read_tree


@dataclass(frozen=True)
class CommandLine:
    """The arguments of `assay televal`."""

    mode: str
    task: str
    registry: str = "registry"
    model: str | None = None
    eval_task: str | None = None
    save_pred_audio: bool | None = None
    keep_meta_info: bool = True
    bsz: int | None = None
    save_dir: str = "."
    era: Era | None = None
    upstream: bool = False
    """True to use TELEVAL's rules and files where they differ from assay's."""


@dataclass(frozen=True, slots=True)
class StageTask(Task):
    """A task of one stage (`infer` or `eval`), with the task reference that a run records for it."""

    reference: str = ""
    notes: tuple[str, ...] = ()
    """Notes for the user about the prediction file, such as a warning that another task may have written it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One infer_task in one stage (`infer` or `eval`), for one of its datasets, or for all if `dataset` is None."""

    registry: str
    mode: str
    task: str
    dataset: str | None = None
    options: Fields = field(default_factory=lambda: EMPTY)
    """Options of the command line that affect answers or verdicts. `None` means not set.

    Both stages have `model`, `eval_task` and `era`. `infer` has `save_pred_audio`,
    `eval` has `save_dir` and `bsz`. Under upstream's rules, `infer` also has `bsz`,
    because a row without a key is identified by its number in its batch.
    """

    @classmethod
    def parse(cls, reference: str) -> "Stage":
        """Read a task reference such as `REGISTRY#infer/TASK/DATASET?{…}`, and return its stage."""
        registry, _, rest = reference.partition("#")
        path, _, options = rest.partition("?")
        parts = path.split("/")
        if len(parts) < 2 or parts[0] not in ("infer", "eval"):
            raise UsageError(
                "no such stage",
                where=reference,
                fix="REGISTRY#infer/TASK or REGISTRY#eval/TASK",
            )
        return cls(
            registry,
            parts[0],
            parts[1],
            "/".join(parts[2:]) or None,
            json.loads(options) if options else {},
        )

    def reference(self, dataset: str) -> str:
        """Return the task reference that a run records for the task of one dataset in this stage."""
        options = {
            name: value for name, value in self.options.items() if value is not None
        }
        head = f"{self.registry}#{self.mode}/{self.task}/{dataset}"
        if options:
            return f"{head}?{json.dumps(options, sort_keys=True)}"
        return head


def execute(
    command: CommandLine,
    base: RunOptions,
    watcher: Watcher,
) -> tuple[RunResult, list[Path]]:
    """Run the stage of the command line. Return the result, and the files that were written."""
    stage = _stage_of(command)
    builder = builder_of(stage, base)
    config = builder.infer_task(builder.tree.get("infer_task", command.task))
    model = command.model or config.model
    folder = Folder(command.save_dir, model)
    tasks = stage_tasks(stage, builder)
    label = command.task
    if stage.mode == "eval":
        label += f"_{command.eval_task or config.eval_task}"
    elif model in builder.models:
        prediction_folder = os.path.join(command.save_dir, "prediction", model)
        builder.models[model].prediction_folder = prediction_folder
    options = base.but(
        models=(model,),
        dialect="televal",
        output=str(folder.run(label)),
    )
    if stage.mode == "infer":
        options = options.but(batch_size=command.bsz)
    result = run(tasks, options=options, watcher=watcher)
    notes = [note for task in tasks for note in task.notes]
    result = replace(result, notes=(*notes, *result.notes))
    # A model given by its file is named after its class.
    names = {row.model for row in result.results}
    name = names.pop() if len(names) == 1 else model
    reader = RunReader(result.folder)
    if stage.mode == "infer":
        files = _write_predictions(tasks, reader, name, builder, folder)
    else:
        keeps = command.keep_meta_info
        files = _write_results(tasks, reader, name, builder, folder, result, keeps)
    return result, files


def _stage_of(command: CommandLine) -> Stage:
    """Return the stage that the arguments of the command line describe."""
    as_upstream = (
        command.upstream
        or is_upstream("televal")
        or command.registry.endswith(UPSTREAM)
    )
    registry = Path(command.registry.removesuffix(UPSTREAM)).expanduser().resolve()
    options: dict[str, object] = {
        "model": command.model,
        "eval_task": command.eval_task,
        "era": command.era,
    }
    if command.mode == "infer":
        options["save_pred_audio"] = command.save_pred_audio
    else:
        options["save_dir"] = str(Path(command.save_dir).expanduser().resolve())
    if command.mode == "eval" or as_upstream:
        options["bsz"] = command.bsz
    suffix = UPSTREAM if as_upstream else ""
    return Stage(f"{registry}{suffix}", command.mode, command.task, None, options)


def _write_predictions(
    tasks: Sequence[StageTask],
    reader: RunReader,
    model: str,
    builder: TaskBuilder,
    folder: Folder,
) -> list[Path]:
    """Write the prediction file of each task, and return the files."""
    files = []
    for task in tasks:
        lines = predictions_of(task, reader, model, folder, builder.rule.era)
        if lines or not builder.is_upstream:
            files.append(folder.write("prediction", task.name, lines))
        loader = task.to_sample.loader
        if isinstance(loader, BatchLoader):
            loader.cleanup()
    return files


def _write_results(
    tasks: Sequence[StageTask],
    reader: RunReader,
    model: str,
    builder: TaskBuilder,
    folder: Folder,
    result: RunResult,
    keep_meta_info: bool,
) -> list[Path]:
    """Write the results and the summary of each task, and a table of all summaries. Return the files."""
    files = []
    for task in tasks:
        lines = results_of(
            task,
            reader,
            model,
            str(task.scorers[0].name),
            keep_meta_info=keep_meta_info,
            is_upstream=builder.is_upstream,
        )
        files.append(folder.write("result", task.name, lines))
        statistics = [
            row.details[STATISTIC]
            for row in result.results
            if row.task == task.name and STATISTIC in row.details
        ]
        if statistics:
            files.append(folder.write("summary", task.name, statistics[:1]))
        else:
            folder.remove("summary", task.name)
    files.append(folder.write_table())
    return files


def builder_of(
    stage: Stage,
    run: RunOptions,
) -> TaskBuilder:
    """Return the task builder of a stage, after checking all names in the stage."""
    path = Path(stage.registry.removesuffix(UPSTREAM)).expanduser()
    if not path.exists():
        raise UsageError("no such registry", where=str(path), fix="--registry DIR")
    options = stage.options
    builder = TaskBuilder(
        read_tree(path),
        options.get("era"),
        frozenset(run.judges),
        is_upstream=stage.registry.endswith(UPSTREAM),
    )
    builder.tree.get("infer_task", stage.task, "--task")
    builder.check(
        [stage.task],
        mode=stage.mode,
        eval_task=options.get("eval_task"),
        model=options.get("model"),
    )
    return builder


def stage_tasks(
    stage: Stage,
    builder: TaskBuilder,
) -> list[StageTask]:
    """Return the tasks of a stage, one for each dataset."""
    config = builder.infer_task(builder.tree.get("infer_task", stage.task))
    if stage.mode == "eval":
        return [
            _judging(stage, builder, dataset, config)
            for dataset in config.datasets
            if stage.dataset in (None, dataset)
        ]
    tasks_by_dataset = zip(
        config.datasets,
        builder.tasks(
            stage.task,
            judged=False,
            save_pred_audio=stage.options.get("save_pred_audio"),
            by_dataset=builder.is_upstream,
            batch_size=stage.options.get("bsz"),
        ),
        strict=True,
    )
    return [
        _as_stage_task(task, stage.reference(dataset))
        for dataset, task in tasks_by_dataset
        if stage.dataset in (None, dataset)
    ]


def tasks_of(
    reference: str,
    run: RunOptions,
) -> Sequence[Task]:
    """Return the tasks for the task reference of a stage, which a run recorded."""
    stage = Stage.parse(reference)
    return stage_tasks(stage, builder_of(stage, run))


def _judging(
    stage: Stage,
    builder: TaskBuilder,
    dataset: str,
    config: InferTaskCfg,
) -> StageTask:
    """Return the task that judges the prediction file of one dataset."""
    options = stage.options
    model = options.get("model") or config.model
    eval_task = options.get("eval_task") or config.eval_task
    folder = Folder(options.get("save_dir") or ".", model)
    label = dataset
    if not builder.is_upstream:
        label = label_of(stage.task, dataset, config.datasets)
    file = _prediction_file(folder, model, label, dataset)
    rows: Any = file
    if builder.is_upstream:
        with builder.rule.applied():
            loader = BatchLoader(str(file.absolute()), do_infer=False)
        rows = Batches(loader, is_upstream=True)
    else:
        _refuse_foreign_file(folder, file, stage.task, label, builder.tree)
    reader = ReadLine(builder.is_upstream)
    unanswered = unanswered_rows(folder.run(stage.task), file)
    if unanswered:
        rows = WithUnanswered(rows, unanswered, str(file))
    scorer, statistic = builder.judges(
        eval_task,
        Columns(),
        batch_size=options.get("bsz"),
        lines=lambda: list(lines_in(rows, reader)),
        file=file,
    )
    # The first era names the files after the task's own eval_task, regardless of the command line.
    is_fixed = builder.is_upstream and builder.rule.era == SEED
    name = f"{label}_{config.eval_task if is_fixed else eval_task}"
    task = Task(
        name,
        rows,
        to_sample=reader,
        template=ask_for_line,
        scorers=(scorer,),
        summarizers=(statistic,),
        protocol=builder.protocol(name),
        models={model: Predictions(model, folder.root, builder.is_upstream)},
    )
    note = f"{name}: predictions read from {file}"
    if unanswered:
        note += f"; {len(unanswered)} rows of --mode infer have no prediction"
    doubt = _reason_for_doubt(stage.task, file, dataset, builder.tree)
    if doubt:
        note = f"warning: {note}; {doubt}"
    return _as_stage_task(task, stage.reference(dataset), (note,))


def _prediction_file(
    folder: Folder,
    model: str,
    label: str,
    dataset: str,
) -> Path:
    """Return the prediction file of a task. Raise if there is none.

    It has the name of the infer_task. If no such file exists, the one named after the
    dataset is used, as in upstream.
    """
    for name in (label, dataset):
        if (file := folder.file("prediction", name)).is_file():
            return file
    file = folder.file("prediction", label)
    fix = f"--mode infer first, or put lines with key, pred and ref into {file}"
    raise UsageError(
        f"no predictions of {model!r} for {label!r}",
        where=str(file),
        fix=fix,
    )


def _sharing(
    tree: Tree,
    task: str,
    dataset: str,
) -> list[str]:
    """Return the names of the other infer_tasks in the registry that use the same dataset."""
    names = []
    for name, entry in tree.entries["infer_task"].items():
        datasets = entry.args.get("dataset")
        if not isinstance(datasets, list):
            datasets = [datasets]
        if name != task and dataset in datasets:
            names.append(name)
    return names


def _refuse_foreign_file(
    folder: Folder,
    file: Path,
    task: str,
    label: str,
    tree: Tree,
) -> None:
    """Raise if the prediction file that is named after the dataset was written by another task.

    This is certain only if that task has a run here and this task has none.
    """
    if file == folder.file("prediction", label) or folder.run(task).is_dir():
        return
    writers = [
        name
        for name in _sharing(tree, task, file.stem)
        if folder.run(name).is_dir() and folder.ledger.holds(file)
    ]
    if writers:
        raise UsageError(
            f"{file} has the predictions of infer_task {writers[0]!r}, not of {task!r}",
            where=f"--task {task}",
            fix=f"--mode infer --task {task} first, or copy the file to "
            f"{folder.file('prediction', label)}",
        )


def _reason_for_doubt(
    task: str,
    file: Path,
    dataset: str,
    tree: Tree,
) -> str:
    """Return a note if another task may have written a prediction file, otherwise an empty string."""
    others = _sharing(tree, task, dataset)
    if others and file.stem == dataset and dataset != task:
        tasks = ", ".join([task, *others])
        return (
            f"it is named by the dataset, which {tasks} share: "
            f"check that {task} wrote it"
        )
    if twin := _same_lines(file):
        return f"{twin.name} has the same lines: check that they are of {task}"
    return ""


def _same_lines(file: Path) -> Path | None:
    """Return a different prediction file of the same model with identical content, or None."""
    size = file.stat().st_size
    for other in sorted(file.parent.glob("*.jsonl")):
        is_alike = other != file and size and other.stat().st_size == size
        if is_alike and other.read_bytes() == file.read_bytes():
            return other
    return None


def _as_stage_task(
    task: Task,
    reference: str,
    notes: tuple[str, ...] = (),
) -> StageTask:
    """Copy a task, and add the task reference that a run records for it."""
    fields = {name: getattr(task, name) for name in Task.__dataclass_fields__}
    return StageTask(**fields, reference=reference, notes=notes)
