"""The two stages of the guest's command line as tasks, each under a reference from which a saved run is found again.

`REGISTRY#infer/TASK/DATASET?{…}` asks a model, `REGISTRY#eval/TASK/DATASET?{…}` judges a file of predictions; behind
the `?` stand the options of the command line that the answers or the verdicts depend on.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import EMPTY, Task, UsageError
from ...runner.options import RunOptions
from .eras import SEED
from .facade.dataset import BatchLoader
from .files import Folder
from .predictions import Predictions, ReadLine, ask_for_line, lines_in
from .rows import Batches
from .tree import Tree, read_tree
from .workshop import UPSTREAM, Workshop, label_of


@dataclass(frozen=True, slots=True)
class StageTask(Task):
    """A task of one stage, and the reference it is recorded under."""

    reference: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """One infer_task in one stage; `dataset` is one of those it names, `None` all of them."""

    registry: str
    mode: str
    task: str
    dataset: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """`model`, `eval_task`, `era`, for infer `save_pred_audio`, for eval `save_dir` and `bsz`; `None` is not set.

    Under upstream's rule `bsz` counts for infer too: a row without a key is named by its place in its batch.
    """

    @classmethod
    def parse(cls, reference: str) -> "Stage":
        """The stage a reference names."""
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
        """What one task of the stage is recorded under."""
        options = {
            name: value for name, value in self.options.items() if value is not None
        }
        head = f"{self.registry}#{self.mode}/{self.task}/{dataset}"
        return f"{head}?{json.dumps(options, sort_keys=True)}" if options else head


def workshop_of(stage: Stage, run: RunOptions) -> Workshop:
    """The workshop a stage works in, all that it names checked."""
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
    """The tree of a registry as the command line names it."""
    path = Path(registry.removesuffix(UPSTREAM)).expanduser()
    if not path.exists():
        raise UsageError("no such registry", where=registry, fix="--registry DIR")
    return read_tree(path)


def stage_tasks(stage: Stage, shop: Workshop) -> list[StageTask]:
    """The tasks of a stage, one for each dataset."""
    config = shop.infer_task(shop.tree.get("infer_task", stage.task))
    datasets = config.dataset if isinstance(config.dataset, list) else [config.dataset]
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
        _referred(task, stage.reference(name))
        for name, task in paired
        if stage.dataset in (None, name)
    ]


def tasks_of(reference: str, run: RunOptions) -> Sequence[Task]:
    """The tasks of a recorded stage."""
    stage = Stage.parse(reference)
    return stage_tasks(stage, workshop_of(stage, run))


def _judging(
    stage: Stage, shop: Workshop, dataset: str, datasets: Sequence[str], config: Any
) -> Task:
    options = stage.options
    model = options.get("model") or config.model
    eval_task = options.get("eval_task") or config.eval_task
    folder = Folder(options.get("save_dir") or ".", model)
    label = dataset if shop.is_upstream else label_of(stage.task, dataset, datasets)
    file = _predictions(folder, model, label, dataset)
    rows: Any = file
    if shop.is_upstream:
        with shop.rule.applied():
            rows = Batches(
                BatchLoader(str(file.absolute()), do_infer=False), is_upstream=True
            )
    reader = ReadLine(shop.is_upstream)
    scorer, statistic = shop.judges(
        eval_task,
        None,
        batch_size=options.get("bsz"),
        lines=lambda: list(lines_in(rows, reader)),
        file=file,
    )
    # The first era names the files by the task's own eval_task, whatever the command line says.
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


def _predictions(folder: Folder, model: str, label: str, dataset: str) -> Path:
    """The file of predictions: ours, named by the infer_task, or one that upstream's code named by the dataset."""
    for name in (label, dataset):
        if (file := folder.file("prediction", name)).is_file():
            return file
    file = folder.file("prediction", label)
    fix = f"--mode infer first, or put lines with key, pred and ref into {file}"
    raise UsageError(
        f"no predictions of {model!r} for {label!r}", where=str(file), fix=fix
    )


def _referred(task: Task, reference: str) -> StageTask:
    fields = {name: getattr(task, name) for name in Task.__dataclass_fields__}
    return StageTask(**fields, reference=reference)
