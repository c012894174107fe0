"""From what a user points at to tasks: a TSV, a file with dataset classes, or a dataset's name in `$LMUData`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core import Sample, Task, UnknownName, UsageError
from ...datasets.declared_fetch import fetch_declared
from ...datasets.files import open_file
from ...runner.options import RunOptions
from ...runner.run import run_folder
from ...scorers.mmvet import MmVet
from ...scorers.yes_no import YesNo
from ...summarizers.mmvet import MmVet as MmVetScores
from ...userfiles import split_reference
from .classes import ClassDataset, dataset_classes
from .evaluating import SetEvaluation
from .kinds import Kind, is_mme, kind_of
from .loading import load_guest, source_digest
from .places import DATASET_URLS, SNAPSHOT, data_root
from .prompts import GuestPrompt, TsvPrompt
from .rows import Source
from .samples import ToSample
from .scoring import Circular, ExactMatching, JudgedChoice, JudgedYesNo, MmeScores, answered
from .session import session

TABLE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".gz", ".zst")


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """The tasks behind `file.tsv`, `file.py`, `file.py:Class`, `file.py:Class@dataset`, or a dataset's name."""
    session.trust_pickle = run.trust_pickle
    session.allow_private_urls = run.allow_private_urls
    session.judge, session.judge_args = run.judges.get("judge"), run.judge_args
    path, attribute = split_reference(reference)
    if path.endswith(".py"):
        return _from_classes(path, attribute, run)
    if Path(path).suffix in TABLE_SUFFIXES or Path(path).is_file():
        file = Path(path).expanduser()
        return [table_task(file, file.name.split(".")[0], run)]
    return [_named(reference, run)]


def table_task(path: Path, name: str, run: RunOptions) -> Task:
    """A plain TSV under VLMEvalKit's rules for its name and its columns."""
    source_path = Path(run.data) if run.data else path
    columns = _columns(source_path)
    if "question" not in columns:
        raise UsageError(
            "a benchmark of vlmeval needs a `question` column", where=str(source_path), fix=f"it has {sorted(columns)}"
        )
    kind = kind_of(name, columns)
    chosen, summarizers = judged_by(kind, name, run, has_answers="answer" in columns)
    is_snapshot = source_path.name == SNAPSHOT
    return Task(
        name=name,
        dataset=path,
        to_sample=ToSample(Source(name, source_path), kind, with_pictures=not is_snapshot),
        template=TsvPrompt(kind),
        scorers=chosen,
        summarizers=summarizers,
        protocol=f"vlmeval/{name}",
        hints={"dataset": name},
        description=f"VLMEvalKit benchmark ({kind})",
    )


def judged_by(
    kind: Kind, name: str, run: RunOptions, *, has_answers: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Scorers and summarizers of a kind of benchmark; rules and judge side by side where a judge is given."""
    if not has_answers:
        return (answered,), ()
    with_judge = "judge" in run.judges
    if kind == "MCQ":
        return (ExactMatching(), *([JudgedChoice()] if with_judge else [])), (Circular(),)
    if kind == "Y/N":
        scorers = (YesNo(), *([JudgedYesNo()] if with_judge else []))
        return scorers, (MmeScores(),) if is_mme(name) else ("mean",)
    if kind == "MMVet":
        return (MmVet(),), (MmVetScores(),)
    return ("exact_match", "includes"), ()


def _from_classes(path: str, attribute: str | None, run: RunOptions) -> list[Task]:
    module = load_guest(path)
    found = dataset_classes(module, attribute, Path(run.data).name.split(".")[0] if run.data else None)
    return [_class_task(kind, name, path, run) for kind, name in found]


def _class_task(kind: type, name: str, path: str, run: RunOptions) -> Task:
    """A user's dataset class as a task: its rows, its prompts, and its own `evaluate` where it has one."""
    dataset = ClassDataset(kind, name, run.data, path)
    rows = dataset.rows
    columns = dataset.columns
    kind_name = dataset.kind(columns)
    code = source_digest(path)
    if dataset.evaluates:
        scorers: tuple[Any, ...] = (SetEvaluation.of(dataset, run, _work_folder(run), code),)
        summarizers: tuple[Any, ...] = ()
    else:
        scorers, summarizers = judged_by(kind_name, name, run, has_answers="answer" in columns)
    return Task(
        name=name,
        dataset=rows,
        to_sample=ToSample(dataset.source, kind_name, with_pictures=False),
        template=GuestPrompt(dataset.instance, name, code),
        scorers=scorers,
        summarizers=summarizers,
        protocol=f"vlmeval/{name}",
        hints={"dataset": name},
        description=(kind.__doc__ or "").strip().partition("\n")[0] or f"{kind.__name__} of {Path(path).name}",
    )


def _named(name: str, run: RunOptions) -> Task:
    """A dataset by its name: of a registered file's class, or `$LMUData/<name>.tsv`."""
    for file in run.register:
        module = load_guest(file)
        for kind, known in dataset_classes(module, None, None, quiet=True):
            if name in (known, kind.__name__):
                return _class_task(kind, known, file, run)
    path = Path(run.data) if run.data else data_root() / f"{name}.tsv"
    if not path.exists() and DATASET_URLS.get(name):
        path = fetch_declared(DATASET_URLS[name], path, allow_private=run.allow_private_urls)
    if not path.exists():
        known_names = [file.stem for file in data_root().glob("*.tsv")]
        raise UnknownName("dataset", name, known_names, where=str(data_root()),
                          hint=f"put {name}.tsv into {data_root()}, or name the file")  # fmt: skip
    return table_task(path, name, run)


def _columns(path: Path) -> frozenset[str]:
    if not path.exists():
        raise UsageError("no such file", where=str(path))
    shard = open_file(path)
    if shard.columns is not None:
        return frozenset(shard.columns)
    first = next((row for _, _, row in shard.rows() if isinstance(row, Mapping)), {})
    return frozenset(first.fields if isinstance(first, Sample) else first)


def _work_folder(run: RunOptions) -> Path:
    return session.work_folder or run_folder(run) / "vlmeval"
