"""Make tasks from testbed files: one for each dataset with a retriever.

The rows come from a data file, a loading script or a context loader.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ...code.userfiles import split_reference
from ...core import (
    AssayError,
    DataError,
    DataSource,
    Fewshot,
    Message,
    Prompt,
    Sample,
    Task,
    UnknownName,
    UsageError,
)
from ...core.errors import users_line
from ...datasets import open_dataset
from ...datasets.faults import NamedFault
from ...runner.options import RunOptions
from ..returned import defined_at
from ..shapes import Fields
from .context_loaders import Place, places_of
from .data_registry import SHIPPED
from .metrics import FolderMetric, find_metric
from .script import ScriptData
from .testbed_loading import Loaded, known_retriever, load_path
from .testbed_rows import (
    Accuracy,
    Conversation,
    Reading,
    Retrieval,
    ToSample,
    as_template_errors,
)

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
ROWS_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class RetrievedTask(Task):
    """A task whose scorers may be the user's own `evaluate` metrics, given by name."""

    find: Callable[[str], FolderMetric | None] | None = None
    """Function that finds a user's metric by name, or returns `None`."""

    def but(self, **changes: Any) -> "RetrievedTask":
        """Return a copy with some fields changed. In `scorers`, a name of a user's metric becomes the metric."""
        if self.find is not None and "scorers" in changes:
            changes["scorers"] = tuple(
                (isinstance(scorer, str) and self.find(scorer)) or scorer
                for scorer in changes["scorers"]
            )
        return replace(self, **changes)


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks of a testbed file, dataset folder or tree of folders; `file.py:name` names one task."""
    file, dataset = split_reference(reference)
    path = Path(file).expanduser()
    force = run.dialect == "testbed"
    tasks_of_file = [
        task
        for loaded in load_path(path, force=force, first=run.register)
        for task in _of(loaded, run)
    ]
    if not tasks_of_file:
        raise UsageError(
            "registers no dataset retriever",
            where=file,
            fix="decorate one with @register_dataset_retriever; if a package testbed is installed, --dialect testbed",
        )
    if dataset is None:
        return tasks_of_file
    chosen = [task for task in tasks_of_file if task.name == dataset]
    if not chosen:
        names = [task.name for task in tasks_of_file]
        raise UnknownName(
            "dataset",
            dataset,
            names,
            where=file,
            hint=f"{file} registers {', '.join(names)}",
        )
    return chosen


def _of(loaded: Loaded, run: RunOptions) -> list[Task]:
    names = dict.fromkeys([*loaded.retrievers, *loaded.postprocesses])
    if not names and loaded.script is not None:
        names = dict.fromkeys([loaded.script.stem])
    retrievers = {}
    for name in names:
        retriever = known_retriever(name, loaded.retrievers)
        if retriever is not None:
            retrievers[name] = retriever
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
    folder = Path(run.data).expanduser() if run.data else loaded.folder
    retriever = retrievers[name]
    retrieval = Retrieval(
        name,
        retriever,
        str(folder if folder.is_dir() else folder.parent),
    )
    task = _task(
        name,
        loaded,
        run,
        name=name,
        dataset=dataset,
        to_sample=ToSample(retrieval, run.columns.get("target")),
        template=Conversation(retrieval),
        fewshot=fewshot,
        description=f"a dataset of the testbed, by its retriever {getattr(retriever, '__name__', '')!r}",
        data_hint=f"the rows that the retriever of {name!r} reads",
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
    spread = names * len(loader.datasets) if len(names) == 1 else names
    folder = str(loaded.folder)
    contexts = Contexts(
        loader,
        [Retrieval(name, retrievers[name], folder) for name in spread],
        run.columns.get("target"),
    )
    return _task(
        spread[-1],
        loaded,
        run,
        name=spread[-1] if len(loaded.loaders) == 1 else f"{spread[-1]}_{key}",
        dataset=contexts.samples,
        template=contexts,
        system=None,
        description=f"the contexts of {key!r}, as its samplers choose them",
    )


class Contexts:
    """The contexts of a loader in a user's file, each with its shots.

    `samples` yields the query of each context. Calling the object builds the prompt of a sample.
    """

    def __init__(
        self,
        loader: Any,
        retrievals: Sequence[Retrieval],
        column: str | None = None,
    ) -> None:
        self.loader = loader
        self.retrievals = retrievals
        """The retriever of each dataset of the loader."""
        self.column = column
        names = dict.fromkeys(retrieval.name for retrieval in retrievals)
        self.__name__ = f"contexts of {', '.join(names)}"
        all_places = places_of(loader)
        sources = [retrieval.source for retrieval in retrievals]
        self.source = "\n".join([repr(all_places), *sources])
        """Properties that identify the prompts in digests: the rows of each context, and the code that renders them."""
        self._contexts: dict[str, tuple[Place, ...]] = {}
        """The rows of each context, by the id of its query. If a query occurs again, a number is added to its id."""
        for places in all_places:
            name = query = self._id(places[-1])
            number = 1
            while name in self._contexts:
                number += 1
                name = f"{query}#{number}"
            self._contexts[name] = places

    def samples(self) -> Iterator[Sample | DataError]:
        """Yield one sample per context, with the query's row as its fields. An unreadable query keeps its id."""
        for name, places in self._contexts.items():
            dataset, index = places[-1]
            row = self.loader.datasets[dataset][index]
            fields = row if isinstance(row, Mapping) else {"row": row}
            try:
                target = ToSample(self.retrievals[dataset], self.column)(row).target
            except DataError as error:
                named = NamedFault(error.what, row=index, fix=error.fix)
                named.sample_id = name
                yield named
            else:
                yield Sample(id=name, target=target, fields=fields)

    def __call__(self, sample: Sample) -> Prompt:
        *shots, query = self._contexts[sample.id]
        messages: list[Message] = []
        for position, (dataset, index) in enumerate((*shots, query)):
            retrieval = self.retrievals[dataset]
            row = self.loader.datasets[dataset][index]
            is_query = position == len(shots)
            with as_template_errors(
                f"row {index} of dataset {dataset}, sample {sample.id!r}"
            ):
                messages += retrieval.messages(row, is_last=is_query)
        samplers = self.loader.samplers or ()
        picker = ", ".join(type(sampler).__name__ for sampler in samplers)
        details = {
            "shots": [self._id(shot) for shot in shots],
            "picked_by": picker or f"seed {self.loader.seed}",
        }
        return Prompt(tuple(messages), details=details)

    def _id(self, place: Place) -> str:
        dataset, index = place
        if len(self.loader.datasets) == 1:
            return str(index)
        return f"{dataset}:{index}"


def _task(
    registered: str,
    loaded: Loaded,
    run: RunOptions,
    **fields: Any,
) -> RetrievedTask:
    """Return the task of a registered dataset, whose scorer applies the dataset's postprocessing function.

    Before that, predictions are cut at the stop words of the run.
    """
    postprocess = loaded.postprocesses.get(registered)
    is_shipped = registered in SHIPPED and registered not in loaded.retrievers
    if postprocess is None and is_shipped:
        postprocess = SHIPPED[registered][1]
    stop = run.generation.get("stop") or ()
    reading = Reading(postprocess, (stop,) if isinstance(stop, str) else tuple(stop))
    folder = loaded.folder.resolve()
    near = [folder, *folder.parents[:3], Path.cwd()]
    return RetrievedTask(
        scorers=(Accuracy(reading, typed="target" in run.columns),),
        find=partial(find_metric, near=near, reading=reading),
        **fields,
    )


def _data(
    name: str,
    loaded: Loaded,
    run: RunOptions,
) -> tuple[Any, Fewshot]:
    """Return the source of a dataset's rows and of its shots.

    Rows come from the loading script, from `--data`, or from a file next to the user's
    file. If all are missing, the run fails later with the file names that were tried.
    """
    if loaded.script is not None:
        script = ScriptData(
            loaded.script,
            loaded.guest,
            allow_private=run.allow_private_urls,
        )
        return script, script.shots(run.data, run.split)
    if run.data is not None:
        path = Path(run.data).expanduser()
        has_train = path.is_dir() and any(path.glob("train[.-]*"))
        is_other_split = run.split not in (None, "train")
        shots = Fewshot(split="train") if has_train and is_other_split else Fewshot()
        return None, shots
    names = tuple(f"{name}{suffix}" for suffix in SUFFIXES)
    for file in (loaded.folder / name for name in names):
        if file.is_file():
            return file, Fewshot()
    return DataSource(local=names), Fewshot()


def _check_reading(task: Task, run: RunOptions) -> None:
    """Raise if a postprocessing function maps all answers in the data to the same value.

    With such a function, wrong predictions would also be scored as correct.
    """
    accuracy = task.scorers[0]
    postprocess = accuracy.reading.postprocess
    source = run.data or task.dataset
    if accuracy.typed or postprocess is None or not isinstance(source, (str, Path)):
        return
    if not Path(source).expanduser().exists():
        return
    where = f"dataset {task.name!r}"
    fix = "--columns target=COLUMN names the column its results are compared with"
    targets: set[str] = set()
    results: set[str] = set()
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
                results.add(repr(accuracy.reading(str(sample.target))))
    except AssayError:
        return  # The plan also opens the data, and reports the error.
    except Exception as error:
        reason = f"{type(error).__name__}: {error}{users_line(error)}"
        raise UsageError(
            f"its post-process fails on a shown answer: {reason}",
            where=where,
            fix=fix,
        ) from error
    if len(targets) > 1 and len(results) == 1:
        some = ", ".join(map(repr, sorted(targets)[:4]))
        raise UsageError(
            f"its post-process reads all of {some} as {results.pop()} ({defined_at(postprocess)})",
            where=where,
            fix=fix,
        )
