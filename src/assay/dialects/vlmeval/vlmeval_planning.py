"""Make tasks from a TSV, a file with dataset classes, an entry of a JSON config, or the name of a dataset.

The name of a dataset means its TSV in `$LMUData`.
"""

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...code.sources import digest_behind
from ...code.userfiles import split_reference
from ...core import EMPTY, Task, UnknownName, UsageError
from ...runner.options import RunOptions
from ...scorers.text.match import answered
from ...scorers.vision.mmvet import MmVet
from ...scorers.vision.vlmeval_published import MmVetVlmeval
from ...summarizers.benchmark_tables import MmVet as MmVetScores
from ..declared_fetch import fetch_declared
from ..kits.state import of_process
from ..kits.user_code import read_config
from ..parameters import parameters_of
from ..shapes import Fields
from .dataset_facts import SNAPSHOT, Kind, added_url, data_root, is_mme, kind_of
from .evaluating import TextEvaluation, model_label
from .rules import chosen_rules
from .vlmeval_classes import (
    ClassDataset,
    columns_of,
    dataset_classes,
    idle_classes,
    named_datasets,
)
from .vlmeval_pairs import dataset_entry
from .vlmeval_prompts import DialoguePrompt, GuestPrompt, TsvPrompt, VideoPrompt
from .vlmeval_rows import Source
from .vlmeval_samples import ToSample
from .vlmeval_scoring import (
    Circular,
    ExactMatching,
    JudgedChoice,
    JudgedYesNo,
    MmeScores,
    yes_no_rule,
)
from .vlmeval_toolkit import TOOLKIT

TABLE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".gz", ".zst")
NEED_THE_MODEL = (
    "MMLongBench_DOC",
    "DUDE",
    "DUDE_MINI",
    "SLIDEVQA",
    "SLIDEVQA_MINI",
)
"""Datasets whose class VLMEvalKit creates with `model=NAME`: the model decides how pages are joined to images."""


def tasks(reference: str, run: RunOptions) -> Sequence[Task]:
    """Return the tasks that a task reference names.

    It is `file.tsv`, `file.py[:Class[@dataset]]`, `config.json#dataset`, or a dataset's
    name.
    """
    process = of_process()
    process.trust_pickle = run.trust_pickle
    process.allow_private_urls = run.allow_private_urls
    process.media_root = Path(run.media_root).expanduser() if run.media_root else None
    _check_data(run.data)
    config, _, entry = reference.rpartition("#")
    if config.endswith(".json"):
        return [_from_config(Path(config).expanduser(), entry, run)]
    path, attribute = split_reference(reference)
    if path.endswith(".py"):
        data_name = None
        if run.data:
            data_name = Path(run.data).name.split(".")[0]
        named_classes = dataset_classes(TOOLKIT.load(path), attribute, data_name)
        return [_class_task(kind, name, path, run) for kind, name in named_classes]
    if Path(path).suffix in TABLE_SUFFIXES or Path(path).is_file():
        file = Path(path).expanduser()
        name = file.name.split(".")[0]
        _warn_of_idle_classes(name, run)
        return [table_task(file, name, run)]
    return [_named(reference, run)]


def _check_data(data: str | None) -> None:
    """Raise if the path in `--data` does not exist.

    VLMEvalKit's users may give the name of a dataset there. In this case the error
    suggests the right options.
    """
    if data is None or Path(data).expanduser().exists():
        return
    table = data_root() / f"{data}.tsv"
    fix = "check the path"
    if table.exists():
        fix = f"--data {table}, or name the dataset: file.py:Class@{data}"
    raise UsageError("no such file", where=f"--data {data}", fix=fix)


def table_task(
    path: Path,
    name: str,
    run: RunOptions,
) -> Task:
    """Make the task of a TSV without a class. Its name and its columns determine the prompt and the scorer."""
    if run.data:
        source_path = Path(run.data)
    else:
        source_path = path
    if not source_path.exists():
        raise UsageError("no such file", where=str(source_path))
    columns = columns_of(source_path)
    if "question" not in columns:
        raise UsageError(
            "a benchmark of vlmeval needs a `question` column",
            where=str(source_path),
            fix=f"it has {sorted(columns)}",
        )
    kind = kind_of(name, columns)
    chosen, summarizers = judged_by(kind, name, run, has_answers="answer" in columns)
    is_snapshot = source_path.name == SNAPSHOT
    return Task(
        name=name,
        dataset=path,
        to_sample=ToSample(
            Source(name, source_path),
            kind,
            with_images=not is_snapshot,
        ),
        template=TsvPrompt(kind),
        scorers=chosen,
        summarizers=summarizers,
        protocol=protocol_of(name),
        hints={"dataset": name},
        description=f"VLMEvalKit benchmark ({kind})",
    )


def protocol_of(name: str) -> str:
    """Return the protocol id of a benchmark, with a suffix if VLMEvalKit's own rules apply."""
    return f"vlmeval/{name}{chosen_rules().protocol}"


def judged_by(
    kind: Kind,
    name: str,
    run: RunOptions,
    *,
    has_answers: bool,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the scorers and summarizers of a benchmark with this type of questions.

    If the run has a judge, there is a scorer by rules alone and one with the judge.
    """
    if not has_answers or kind == "MT":
        return (answered,), ()  # no rule defines a correct dialogue
    with_judge = "judge" in run.judges
    if kind == "MCQ":
        if with_judge:
            judges = [JudgedChoice()]
        else:
            judges = []
        return (ExactMatching(), *judges), (Circular(),)
    if kind == "Y/N":
        if with_judge:
            readers = [JudgedYesNo()]
        else:
            readers = []
        return (yes_no_rule(), *readers), (MmeScores() if is_mme(name) else "mean",)
    if kind == "MMVet":
        grades = MmVetVlmeval() if chosen_rules().grades_at_least_zero else MmVet()
        return (grades,), (MmVetScores(),)
    return ("exact_match", "includes"), ()


def _from_config(
    path: Path,
    name: str,
    run: RunOptions,
) -> Task:
    """Make the task of a dataset in a JSON config, from the class and arguments given there."""
    data = read_config(path, ("data",))["data"]
    if name not in data:
        raise UnknownName(
            "dataset",
            name,
            data,
            where=str(path),
            hint=f"it has {', '.join(data)}",
        )
    configured = dataset_entry(name, data[name], run.register, str(path))
    if configured is None:
        return _named(name, run)
    kind, dataset, file, settings = configured
    return _class_task(kind, dataset, file, run, settings, name)


def _model_argument(
    kind: type,
    dataset: str,
    run: RunOptions,
) -> dict[str, str]:
    """Return `{"model": NAME}` for a dataset class whose constructor needs it, otherwise an empty dict."""
    if dataset not in NEED_THE_MODEL or not {"model", "**"} & {*parameters_of(kind)}:
        return {}
    label = of_process().label
    if label:
        models = [label]
    else:
        models = [model_label(str(model)) for model in run.models]
    if len(models) == 1:
        return {"model": models[0]}
    return {}


def _class_task(
    kind: type,
    dataset_name: str,
    path: str | None,
    run: RunOptions,
    settings: Fields = EMPTY,
    name: str | None = None,
) -> Task:
    """Make a task from a user's dataset class: from its rows, its prompts, and its `evaluate` if it has one."""
    name = name or dataset_name
    arguments = {**_model_argument(kind, dataset_name, run), **settings}
    dataset = ClassDataset(
        kind,
        dataset_name,
        run.data,
        path or "vlmeval.dataset",
        arguments,
    )
    rows = dataset.rows
    columns = dataset.columns
    kind_name = dataset.kind(columns)
    if path:
        code = digest_behind(path, libraries=False)
    else:
        code = ""
    if dataset.evaluates:
        evaluation = TextEvaluation.of(dataset, run, name, code)
        scorers: tuple[Any, ...] = (evaluation,)
        summarizers: tuple[Any, ...] = ()
    else:
        has_answers = "answer" in columns
        scorers, summarizers = judged_by(
            kind_name,
            dataset_name,
            run,
            has_answers=has_answers,
        )
    hints = {"dataset": dataset_name}
    if dataset.is_dialogue:
        hints["type"] = "MT"
    summary = (kind.__doc__ or "").strip().partition("\n")[0]
    return Task(
        name=name,
        dataset=rows,
        to_sample=ToSample(dataset.source, kind_name, with_images=False),
        template=_template(dataset, dataset_name, f"{code}{dict(settings) or ''}"),
        scorers=scorers,
        summarizers=summarizers,
        protocol=protocol_of(name),
        hints=hints,
        description=summary or f"{kind.__name__} of {path}",
    )


def _template(
    dataset: ClassDataset,
    name: str,
    code: str,
) -> GuestPrompt:
    """Return the template that builds prompts with a dataset class.

    Dialogues are sent turn by turn. Videos are sent as images of frames, unless the
    model accepts whole videos.
    """
    if dataset.is_video:
        video = VideoPrompt(dataset.instance, name, code)
        dataset.source.whole_video = partial(video, whole=True)
        return video
    if dataset.is_dialogue:
        dataset.source.is_dialogue = True
        return DialoguePrompt(dataset.instance, name, code)
    return GuestPrompt(dataset.instance, name, code)


def _named(name: str, run: RunOptions) -> Task:
    """Make the task of a dataset given by name: from a class in a registered file, or from `$LMUData/<name>.tsv`."""
    for file in run.register:
        for kind, dataset in named_datasets(TOOLKIT.load(file)):
            if name in (dataset, kind.__name__):
                return _class_task(kind, dataset, file, run)
    _warn_of_idle_classes(name, run)
    if run.data:
        path = Path(run.data)
    else:
        path = data_root() / f"{name}.tsv"
    url = added_url(name)
    if not path.exists() and url is not None:
        path = fetch_declared(url, path, allow_private=run.allow_private_urls)
    if not path.exists():
        hint = f"put {name}.tsv into {data_root()}, or name the file"
        checkout = TOOLKIT.checkout()
        if checkout:
            hint = f"no file of {checkout.dataset_folder} has it; {hint}"
        known_names = [file.stem for file in data_root().glob("*.tsv")]
        raise UnknownName(
            "dataset",
            name,
            known_names,
            where=str(data_root()),
            hint=hint,
        )
    return table_task(path, name, run)


def _warn_of_idle_classes(name: str, run: RunOptions) -> None:
    """Warn about registered classes that are not used for a TSV because they declare no dataset."""
    for file in run.register:
        for kind in idle_classes(TOOLKIT.load(file)):
            fix = f"name it with the dataset: {file}:{kind.__name__}@{name}, or declare DATASET_URL"
            warnings.warn(
                f"{file}: class {kind.__name__} names no dataset and is not used; fix: {fix}",
                stacklevel=3,
            )
