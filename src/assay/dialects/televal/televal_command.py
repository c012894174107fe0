"""`assay televal`: TELEVAL's own command line, run by assay's runner.

`--mode infer` asks a model and writes `prediction/<model>/<infer_task>.jsonl`. `--mode eval` judges such a file, also
one written by another tool, and writes `result/` and `summary/` under the same name followed by the eval_task.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...core import Result
from ...runner.events import Watcher
from ...runner.options import RunOptions
from ...runner.result import RunResult
from ...runner.run import run
from ...store import RunReader
from ..protocol import is_upstream
from .eras import Era
from .facade.dataset import BatchLoader
from .stages import Stage, stage_tasks, tree_at, workshop_of
from .summaries import STATISTIC
from .televal_files import Folder, predictions_of, results_of
from .workshop import UPSTREAM, Workshop


@dataclass(frozen=True)
class Asked:
    """The arguments of the command line."""

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
    """True to use TELEVAL's own rules and files where they differ from assay's."""


def execute(
    wanted: Asked,
    base: RunOptions,
    watcher: Watcher,
) -> tuple[RunResult, list[Path]]:
    """Run one mode; return the result and the written files."""
    config = tree_at(wanted.registry).get("infer_task", wanted.task, "--task")
    registry = Path(wanted.registry.removesuffix(UPSTREAM)).expanduser()
    model = wanted.model or str(config.args.get("model", ""))
    folder = Folder(wanted.save_dir, model)
    is_infer = wanted.mode == "infer"
    as_upstream = (
        wanted.upstream or is_upstream("televal") or wanted.registry.endswith(UPSTREAM)
    )
    of_mode = {
        **({"save_pred_audio": wanted.save_pred_audio} if is_infer else {}),
        **({"bsz": wanted.bsz} if as_upstream or not is_infer else {}),
    }
    if is_infer:
        save_dir = None
    else:
        save_dir = str(folder.root.resolve())
    options = {
        "model": wanted.model,
        "eval_task": wanted.eval_task,
        "era": wanted.era,
        "save_dir": save_dir,
        **of_mode,
    }
    stage = Stage(
        f"{registry.resolve()}{UPSTREAM if as_upstream else ''}",
        wanted.mode,
        wanted.task,
        None,
        options,
    )
    shop = workshop_of(stage, base)
    work = _infer if is_infer else _evaluate
    return work(
        wanted,
        stage,
        shop,
        folder,
        base.but(
            models=(folder.model,),
            dialect="televal",
        ),
        watcher,
    )


def _infer(
    wanted: Asked,
    stage: Stage,
    shop: Workshop,
    folder: Folder,
    base: RunOptions,
    watcher: Watcher,
) -> tuple[RunResult, list[Path]]:
    tasks = stage_tasks(stage, shop)
    if folder.model in shop.models:
        shop.models[folder.model].prediction_folder = os.path.join(
            wanted.save_dir,
            "prediction",
            folder.model,
        )
    options = base.but(
        output=str(folder.run(wanted.task)),
        batch_size=wanted.bsz,
    )
    result = run(tasks, options=options, watcher=watcher)
    reader = RunReader(folder.run(wanted.task))
    files = []
    for task in tasks:
        lines = predictions_of(
            task,
            reader,
            _name_in(result, folder.model),
            folder,
            shop.shape,
        )
        if lines or not shop.is_upstream:
            files.append(folder.write("prediction", task.name, lines))
        if isinstance(task.to_sample.loader, BatchLoader):
            task.to_sample.loader.cleanup()
    return result, files


def _evaluate(
    wanted: Asked,
    stage: Stage,
    shop: Workshop,
    folder: Folder,
    base: RunOptions,
    watcher: Watcher,
) -> tuple[RunResult, list[Path]]:
    tasks = stage_tasks(stage, shop)
    eval_task = (
        wanted.eval_task
        or shop.infer_task(shop.tree.get("infer_task", wanted.task)).eval_task
    )
    options = base.but(output=str(folder.run(f"{wanted.task}_{eval_task}")))
    result = run(tasks, options=options, watcher=watcher)
    notes = [note for task in tasks for note in task.notes]
    result = replace(result, notes=(*notes, *result.notes))
    reader = RunReader(result.folder)
    files = []
    for task in tasks:
        scorer = str(task.scorers[0].name)
        lines = results_of(
            task,
            reader,
            _name_in(result, folder.model),
            scorer,
            keep_meta_info=wanted.keep_meta_info,
            is_upstream=shop.is_upstream,
        )
        files.append(folder.write("result", task.name, lines))
        statistic = _statistic(result.results, task.name)
        if statistic is not None:
            files.append(folder.write("summary", task.name, [statistic]))
        else:
            folder.remove("summary", task.name)
    files.append(folder.write_table())
    return result, files


def _name_in(result: RunResult, model: str) -> str:
    """Return the run's name for its only model. A model given by its file is named after its class."""
    names = {row.model for row in result.results}
    if model in names or len(names) != 1:
        return model
    return names.pop()


def _statistic(
    results: Sequence[Result],
    task: str,
) -> dict[str, object] | None:
    """Return the result of the user's summarizer for a task."""
    for result in results:
        if result.task == task and STATISTIC in result.details:
            return dict(result.details[STATISTIC])
    return None
