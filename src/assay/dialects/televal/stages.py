"""The two stages of TELEVAL's command line as tasks, each with a reference under which a saved run is found again.

`REGISTRY#infer/TASK/DATASET?{…}` asks a model, `REGISTRY#eval/TASK/DATASET?{…}` judges a file of predictions. The
options of the command line that affect the answers or the verdicts follow after the `?`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import EMPTY, Task, UsageError
from ...runner.options import RunOptions
from ..shapes import Fields
from .eras import SEED
from .facade.dataset import BatchLoader
from .televal_files import Folder
from .televal_predictions import (
    Predictions,
    ReadLine,
    WithUnanswered,
    ask_for_line,
    keys_in,
    lines_in,
    unanswered_rows,
)
from .televal_rows import Batches
from .tree import Tree, read_tree
from .workshop import UPSTREAM, Workshop, label_of


@dataclass(frozen=True, slots=True)
class StageTask(Task):
    """A task of one stage, and the reference under which it is recorded."""

    reference: str = ""
    notes: tuple[str, ...] = ()
    """Notes for the user about the source of the rows."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One infer_task in one stage; `dataset` is one of its datasets, or None for all."""

    registry: str
    mode: str
    task: str
    dataset: str | None = None
    options: Fields = field(default_factory=lambda: EMPTY)
    """`model`, `eval_task` and `era`; for infer `save_pred_audio`, for eval `save_dir` and `bsz`. `None` means not set.

    Under upstream's rules `bsz` counts for infer, too: a row without a key is identified by its number in its
    batch.
    """

    @classmethod
    def parse(cls, reference: str) -> "Stage":
        """Parse the reference of a stage."""
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
        """Return the reference under which one task of the stage is recorded."""
        options = {
            name: value for name, value in self.options.items() if value is not None
        }
        head = f"{self.registry}#{self.mode}/{self.task}/{dataset}"
        if options:
            return f"{head}?{json.dumps(options, sort_keys=True)}"
        return head


def workshop_of(stage: Stage, run: RunOptions) -> Workshop:
    """Return the workshop of a stage, after checking all names in the stage."""
    options, is_upstream = stage.options, stage.registry.endswith(UPSTREAM)
    shop = Workshop(
        tree_at(stage.registry),
        options.get("era"),
        frozenset(run.judges),
        is_upstream=is_upstream,
    )
    shop.tree.get("infer_task", stage.task, "--task")
    shop.check(
        [stage.task],
        mode=stage.mode,
        eval_task=options.get("eval_task"),
        model=options.get("model"),
    )
    return shop


def tree_at(registry: str) -> Tree:
    """Read the tree of a registry as named on the command line."""
    path = Path(registry.removesuffix(UPSTREAM)).expanduser()
    if not path.exists():
        raise UsageError("no such registry", where=registry, fix="--registry DIR")
    return read_tree(path)


def stage_tasks(stage: Stage, shop: Workshop) -> list[StageTask]:
    """Return the tasks of a stage, one for each dataset."""
    config = shop.infer_task(shop.tree.get("infer_task", stage.task))
    if isinstance(config.dataset, list):
        datasets = config.dataset
    else:
        datasets = [config.dataset]
    if stage.mode == "infer":
        tasks = shop.tasks(
            stage.task,
            judged=False,
            save_pred_audio=stage.options.get("save_pred_audio"),
            by_dataset=shop.is_upstream,
            batch_size=stage.options.get("bsz"),
        )
    else:
        tasks = [_judging(stage, shop, name, datasets, config) for name in datasets]
    paired = zip(datasets, tasks, strict=True)
    return [
        _referred(task, stage.reference(name), _notes(stage, shop, name, task))
        for name, task in paired
        if stage.dataset in (None, name)
    ]


def tasks_of(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a recorded stage."""
    stage = Stage.parse(reference)
    return stage_tasks(stage, workshop_of(stage, run))


def _judging(
    stage: Stage,
    shop: Workshop,
    dataset: str,
    datasets: Sequence[str],
    config: Any,
) -> Task:
    options = stage.options
    model = options.get("model") or config.model
    eval_task = options.get("eval_task") or config.eval_task
    folder = Folder(options.get("save_dir") or ".", model)
    if shop.is_upstream:
        label = dataset
    else:
        label = label_of(stage.task, dataset, datasets)
    file = _predictions(folder, model, label, dataset)
    if not shop.is_upstream:
        _refuse_foreign_file(folder, file, stage.task, label, shop.tree)
    rows: Any = file
    if shop.is_upstream:
        with shop.rule.applied():
            rows = Batches(
                BatchLoader(str(file.absolute()), do_infer=False), is_upstream=True
            )
    reader = ReadLine(shop.is_upstream)
    unanswered = unanswered_rows(folder.run(stage.task), file.stem, keys_in(file))
    if unanswered:
        rows = WithUnanswered(rows, unanswered, str(file))
    scorer, statistic = shop.judges(
        eval_task,
        None,
        batch_size=options.get("bsz"),
        lines=lambda: list(lines_in(rows, reader)),
        file=file,
    )
    # The first era names the files after the task's own eval_task, regardless of the command line.
    is_fixed = shop.is_upstream and shop.shape == SEED
    name = f"{label}_{config.eval_task if is_fixed else eval_task}"
    return Task(
        name,
        rows,
        to_sample=reader,
        template=ask_for_line,
        scorers=(scorer,),
        summarizers=(statistic,),
        protocol=shop.protocol(name),
        models={model: Predictions(model, folder.root, shop.is_upstream)},
    )


def _sharing(
    tree: Tree,
    task: str,
    dataset: str,
) -> list[str]:
    """Return the other infer_tasks of the registry on the same dataset."""
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
    """Raise if a file named after the dataset was written here by another task, and never by this one."""
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


def _notes(
    stage: Stage,
    shop: Workshop,
    dataset: str,
    task: Task,
) -> tuple[str, ...]:
    """Return one line that names the prediction file, and the tasks that may have written it."""
    if stage.mode == "infer":
        return ()
    rows = task.dataset
    if isinstance(rows, WithUnanswered):
        unanswered = rows.unanswered
    else:
        unanswered = ()
    if isinstance(rows, WithUnanswered):
        lines = rows.lines
    else:
        lines = rows
    if isinstance(lines, Batches):
        file = Path(lines.loader.file)
    else:
        file = Path(lines)
    note = f"{task.name}: predictions read from {file}"
    if unanswered:
        note += f"; {len(unanswered)} rows of --mode infer have no prediction"
    others = _sharing(shop.tree, stage.task, dataset)
    if others and file.stem == dataset and dataset != stage.task:
        tasks = ", ".join([stage.task, *others])
        note = (
            f"warning: {note}; it is named by the dataset, which {tasks} share: "
            f"check that {stage.task} wrote it"
        )
    elif twin := _same_lines(file):
        note = (
            f"warning: {note}; {twin.name} has the same lines: "
            f"check that they are of {stage.task}"
        )
    return (note,)


def _same_lines(file: Path) -> Path | None:
    """Return another prediction file of the model with the same content, or None."""
    size = file.stat().st_size
    for other in sorted(file.parent.glob("*.jsonl")):
        is_alike = other != file and size and other.stat().st_size == size
        if is_alike and other.read_bytes() == file.read_bytes():
            return other
    return None


def _predictions(
    folder: Folder,
    model: str,
    label: str,
    dataset: str,
) -> Path:
    """Return the prediction file named after the infer_task, or else the one that upstream names after the dataset."""
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


def _referred(
    task: Task,
    reference: str,
    notes: tuple[str, ...],
) -> StageTask:
    fields = {name: getattr(task, name) for name in Task.__dataclass_fields__}
    return StageTask(
        **fields,
        reference=reference,
        notes=notes,
    )
