"""Tasks from testbed files, one for each dataset with a retriever. Rows come from a file, a script or a loader."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ...code.userfiles import split_reference
from ...core import (
    AssayError,
    DataSource,
    Fewshot,
    Sample,
    Task,
    UnknownName,
    UsageError,
)
from ...core.errors import users_line
from ...datasets import open_dataset
from ...runner.options import RunOptions
from ..returned import defined_at
from ..shapes import Fields
from .contexts import Contexts
from .metrics import find_metric
from .script import ScriptData
from .testbed_loading import Loaded, known_retriever, load_path
from .testbed_rows import Accuracy, Conversation, Reading, Retrieval, ToSample

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
ROWS_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class RetrievedTask(Task):
    """A task that looks up scorers first among the user's `evaluate` metrics, in the folders the testbed documents."""

    metric: Callable[[str], Any] | None = None
    """Returns the metric with a name, or `None`."""

    def but(self, **changes: Any) -> "RetrievedTask":
        """Return a copy with some fields changed. Scorer names are searched among the user's metrics first."""
        if self.metric is not None and "scorers" in changes:
            changes["scorers"] = tuple(
                self._scorer(entry) for entry in changes["scorers"]
            )
        changed = Task.but(self, **changes)
        assert isinstance(changed, RetrievedTask)
        return changed

    def _scorer(self, entry: object) -> Any:
        """Return the user's metric with this name, or else assay's scorer."""
        if not isinstance(entry, str) or self.metric is None:
            return entry
        metric = self.metric(entry)
        return entry if metric is None else metric


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a testbed file, dataset folder or tree of folders; `file.py:name` is a single one."""
    file, dataset = split_reference(reference)
    path = Path(file).expanduser()
    tasks_of_file = [
        task
        for loaded in load_path(
            path,
            force=run.dialect == "testbed",
            first=run.register,
        )
        for task in _of(loaded, run)
    ]
    if dataset is None and tasks_of_file:
        return tasks_of_file
    names = [task.name for task in tasks_of_file]
    chosen = [task for task in tasks_of_file if task.name == dataset]
    if chosen:
        return chosen
    if dataset is not None and names:
        hint = f"{file} registers {', '.join(names)}"
        raise UnknownName(
            "dataset",
            dataset,
            names,
            where=file,
            hint=hint,
        )
    raise UsageError(
        "registers no dataset retriever",
        where=file,
        fix="decorate one with @register_dataset_retriever; if a package testbed is installed, --dialect testbed",
    )


def _of(loaded: Loaded, run: RunOptions) -> list[Task]:
    names = dict.fromkeys([*loaded.retrievers, *loaded.postprocesses])
    if not names and loaded.script is not None:
        names = dict.fromkeys([loaded.script.stem])
    retriever_by_name = {
        name: known_retriever(name, loaded.retrievers) for name in names
    }
    retrievers = {
        name: retriever
        for name, retriever in retriever_by_name.items()
        if retriever is not None
    }
    if loaded.script is not None and not retrievers:
        raise UsageError(
            f"no retriever is registered for {loaded.script.stem!r}",
            where=str(loaded.folder),
            fix="register one in its __init__.py",
        )
    is_replaced = run.data is not None or run.num_fewshot is not None
    if loaded.loaders and not is_replaced:
        return [_from_loader(key, loaded, retrievers, run) for key in loaded.loaders]
    return [_from_rows(name, retrievers, loaded, run) for name in retrievers]


def _from_rows(
    name: str,
    retrievers: Fields,
    loaded: Loaded,
    run: RunOptions,
) -> Task:
    dataset, fewshot = _data(name, loaded, run)
    if run.data:
        folder = Path(run.data).expanduser()
    else:
        folder = loaded.folder
    retrieval = Retrieval(
        name,
        retrievers[name],
        str(folder if folder.is_dir() else folder.parent),
    )
    column = run.columns.get("target")
    task = RetrievedTask(
        name=name,
        dataset=dataset,
        to_sample=ToSample(retrieval, column),
        template=Conversation(retrieval),
        scorers=(Accuracy(_reading(name, loaded, run), typed=column is not None),),
        fewshot=fewshot,
        description=f"a dataset of the testbed, by its retriever {getattr(retrieval.retriever, '__name__', '')!r}",
        data_hint=f"the rows that the retriever of {name!r} reads",
        metric=_metrics(loaded, run),
    )
    _check_reading(task, run)
    return task


def _from_loader(
    key: str,
    loaded: Loaded,
    retrievers: Fields,
    run: RunOptions,
) -> Task:
    loader = loaded.loaders[key]
    names = list(retrievers)
    if len(names) not in (1, len(loader.datasets)):
        raise UsageError(
            f"{len(names)} retrievers are registered for the {len(loader.datasets)} datasets of {key!r}",
            where=str(loaded.folder),
            fix="register one retriever, or one for each dataset in their order",
        )
    if len(names) == 1:
        spread = names * len(loader.datasets)
    else:
        spread = names
    folder = str(loaded.folder)
    contexts = Contexts(
        loader,
        [Retrieval(name, retrievers[name], folder) for name in spread],
        run.columns.get("target"),
    )
    return RetrievedTask(
        name=spread[-1] if len(loaded.loaders) == 1 else f"{spread[-1]}_{key}",
        dataset=contexts.samples,
        template=contexts,
        scorers=(
            Accuracy(_reading(spread[-1], loaded, run), typed="target" in run.columns),
        ),
        system=None,
        description=f"the contexts of {key!r}, as its samplers choose them",
        metric=_metrics(loaded, run),
    )


def _reading(
    name: str,
    loaded: Loaded,
    run: RunOptions,
) -> Reading:
    from .data_registry import SHIPPED

    postprocess = loaded.postprocesses.get(name)
    if name in SHIPPED and name not in loaded.retrievers:
        shipped = SHIPPED[name][1]
    else:
        shipped = None
    stop = run.generation.get("stop") or ()
    return Reading(
        postprocess or shipped, (stop,) if isinstance(stop, str) else tuple(stop)
    )


def _metrics(loaded: Loaded, run: RunOptions) -> Callable[[str], Any]:
    """Return a function that finds a metric by name, near the user's file or in the working folder."""
    names = [*loaded.retrievers, *loaded.postprocesses]
    if names:
        reading = _reading(names[0], loaded, run)
    else:
        reading = Reading()
    folder = loaded.folder.resolve()
    near = [folder, *folder.parents[:3], Path.cwd()]
    return lambda name: find_metric(name, near, reading)


def _data(
    name: str,
    loaded: Loaded,
    run: RunOptions,
) -> tuple[Any, Fewshot]:
    """Return the sources of rows and of shots: the script, `--data`, a file next to the user's file, or none yet."""
    if loaded.script is not None:
        assert loaded.guest is not None
        script = ScriptData(
            loaded.script,
            loaded.guest,
            allow_private=run.allow_private_urls,
        )
        return script, script.shots(run.data, run.split)
    if run.data is not None:
        path = Path(run.data).expanduser()
        has_train = path.is_dir() and any(path.glob("train[.-]*"))
        other = run.split not in (None, "train")
        return None, Fewshot(split="train") if has_train and other else Fewshot()
    beside = next(
        (p for s in SUFFIXES if (p := loaded.folder / f"{name}{s}").is_file()), None
    )
    return beside or DataSource(
        local=tuple(f"{name}{suffix}" for suffix in SUFFIXES)
    ), Fewshot()


def _check_reading(task: Task, run: RunOptions) -> None:
    """Raise if a post-process maps all shown answers to one result: it would count wrong predictions as right."""
    accuracy = task.scorers[0]
    source = run.data or task.dataset
    if (
        accuracy.typed
        or accuracy.reading.postprocess is None
        or not isinstance(source, (str, Path))
    ):
        return
    if not Path(source).expanduser().exists():
        return
    targets: set[str] = set()
    read: set[str] = set()
    try:
        samples = open_dataset(
            source,
            columns=run.columns,
            split=run.split,
            to_sample=task.to_sample,
        )
        for sample in islice(samples, ROWS_LOOKED_AT):
            if isinstance(sample, Sample) and sample.target is not None:
                targets.add(str(sample.target))
                read.add(repr(accuracy.reading(str(sample.target))))
    except AssayError:
        return  # the plan opens the data too, and says what is wrong with it
    except Exception as error:
        raise UsageError(
            f"its post-process fails on a shown answer: {type(error).__name__}: {error}{users_line(error)}",
            where=f"dataset {task.name!r}",
            fix="--columns target=COLUMN names the column its results are compared with",
        ) from error
    if len(targets) > 1 and len(read) == 1:
        some = ", ".join(map(repr, sorted(targets)[:4]))
        definition = defined_at(accuracy.reading.postprocess)
        raise UsageError(
            f"its post-process reads all of {some} as {read.pop()} ({definition})",
            where=f"dataset {task.name!r}",
            fix="--columns target=COLUMN names the column its results are compared with",
        )
