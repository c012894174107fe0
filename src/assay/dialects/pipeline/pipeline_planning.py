"""Make tasks from registration files and names: a dataset with an evaluator that calls the model.

Task references are `FILE.py`, `FILE.py:dataset`, `gsm8k/generation`, or with settings
`mmlu_pro/mmlu_pro?{"noise": 0.5}`.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...code.sources import parsed
from ...code.userfiles import split_reference
from ...core import EMPTY, GenerateOptions, Task, UnknownName, UsageError
from ...runner.options import RunOptions
from ..guest import Guest
from ..protocol import is_upstream
from ..recognise import imported_names
from ..shapes import Fields
from . import pipeline_checkout as checkout
from .claims import NAMES, claims
from .dataset_registry import (
    DatasetConfig,
    DatasetRegistry,
    has_assay_wording,
    new_entries,
)
from .driver import Drive, Rows, as_upstream
from .evaluator_registry import EvaluatorConfig, EvaluatorRegistry
from .pipeline_engine import as_turn

DEFAULT_EVALUATOR = "generation"
"""The evaluator of a dataset for which no other one matches. It only generates, without scoring."""
NEEDS = dict.fromkeys(("perplexity", "perplexity@upstream"), frozenset({"likelihood"}))
UPSTREAM = "@upstream"
REGISTRY_MODULES = ("dataset_registry", "evaluator_registry")
"""Module names that occur only in files for rwkv-benchmark."""
HINT = "`assay pipeline --list` prints all; --register FILE makes more known"


@dataclass(frozen=True, slots=True)
class Reference:
    """The parts of a task reference. `make_task` chooses the parts that are missing."""

    file: str | None = None
    dataset: str | None = None
    evaluator: str | None = None
    settings: Fields = field(default_factory=lambda: EMPTY)

    def __str__(self) -> str:
        names = f"{self.dataset}/{self.evaluator}"
        if self.settings:
            settings = json.dumps(dict(self.settings), sort_keys=True)
            return f"{names}?{settings}"
        return names


def parse(text: str) -> Reference:
    """Return the parts of a task reference. Raise if its settings are not JSON."""
    bare, mark, settings = text.partition("?")
    file: str | None = None
    names: str | None = bare
    if bare.endswith(".py") or ".py:" in bare:
        file, names = split_reference(bare)
    dataset, _, evaluator = (names or "").partition("/")
    try:
        keywords = {}
        if mark:
            keywords = json.loads(settings)
    except ValueError as error:
        raise UsageError(
            f"the settings are not valid JSON: {error}", where=text
        ) from error
    return Reference(file, dataset or None, evaluator or None, keywords)


_registered_here = False


@contextmanager
def registered_here() -> Iterator[None]:
    """Use only datasets and evaluators that this process has already registered, inside the block. Load no files."""
    global _registered_here
    before, _registered_here = _registered_here, True
    try:
        yield
    finally:
        _registered_here = before


def tasks_of(
    text: str,
    run: RunOptions,
) -> Sequence[Task]:
    """Return the tasks that a task reference names. Files given by `--register` are loaded first."""
    reference = parse(text)
    if not _registered_here:
        for file in run.register:
            load(file)
    if reference.file is None:
        return [make_task(reference, run)]
    datasets, evaluators = load(reference.file)
    if reference.dataset is not None:
        return [make_task(reference, run, evaluators)]
    if not datasets:
        raise UsageError(
            "registers no dataset",
            where=reference.file,
            fix="`assay python FILE` runs a script; name the file that registers the dataset with --register",
        )
    return [
        make_task(Reference(None, name, None, reference.settings), run, evaluators)
        for name in datasets
    ]


def load(path: str | Path) -> tuple[list[str], list[str]]:
    """Run a registration file; return the names of the datasets and evaluators that it registered."""
    file = Path(path).expanduser()
    checkout.notice(file)
    datasets = DatasetRegistry._registry
    evaluators = EvaluatorRegistry._registry
    datasets_before = dict(datasets)
    evaluators_before = dict(evaluators)
    Guest.of_file("pipeline", NAMES, file).load(file)
    new_datasets = list(new_entries(datasets, datasets_before))
    new_evaluators = list(new_entries(evaluators, evaluators_before))
    return new_datasets, new_evaluators


def discover(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return two lists of `register_*.py` files in a folder: those for rwkv-benchmark, and other invalid ones.

    A file that is not valid Python is in the first list if its source contains the name
    of a module of rwkv-benchmark. Loading it then reports the error.
    """
    files: list[Path] = []
    broken: list[Path] = []
    for file in sorted(folder.glob("register_*.py")):
        if parsed(file) is not None:
            if claims(file, imported_names(file)) is not None:
                files.append(file)
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if any(name in text for name in REGISTRY_MODULES):
            files.append(file)
        else:
            broken.append(file)
    return files, broken


def make_task(
    reference: Reference,
    run: RunOptions,
    evaluators: Sequence[str] = (),
) -> Task:
    """Build the task of a dataset and an evaluator; by default the evaluator of the same name, or the file's only one.

    Under upstream's rules, shipped evaluators are upstream's variants, and an empty
    answer, 0 and `False` are not answers.
    """
    follows_upstream = is_upstream("pipeline")
    chosen = reference.evaluator
    if not chosen and run.scorers:
        chosen = run.scorers[0]
    if chosen and chosen.endswith(UPSTREAM) and not EvaluatorRegistry.get(chosen):
        # `my_evaluator@upstream`: the user's own evaluator on references read by upstream's rules.
        chosen = chosen.removesuffix(UPSTREAM)
        follows_upstream = True
    with as_upstream(follows_upstream):
        dataset = dataset_named(reference.dataset or "")
        in_own_words = has_assay_wording(dataset.name)
    name = chosen or _matching(dataset.name, evaluators)
    evaluator = evaluator_named(name)
    name = f"{dataset.name}/{evaluator.name}"
    protocol = name
    if follows_upstream:
        name = name.removesuffix(UPSTREAM)
        protocol = f"{name}{UPSTREAM}{'+own_words' if in_own_words else ''}"
    length = run.generation.get("max_tokens")
    if length is None:
        length = dataset.default_max_length
    batch_size = run.batch_size
    if not isinstance(batch_size, int):
        batch_size = dataset.default_batch_size
    drive = Drive(
        dataset,
        evaluator,
        dict(reference.settings),
        int(length),
        batch_size,
        follows_upstream,
    )
    return Task(
        name=name,
        protocol=protocol,
        dataset=Rows(dataset, run.data, follows_upstream),
        template=as_turn,
        driver=drive,
        needs=NEEDS.get(evaluator.name, frozenset()),
        options=GenerateOptions(max_tokens=drive.max_length),
        description=f"{dataset.description or dataset.name}, judged by {evaluator.name}",
        data_hint="the file its loader reads",
    )


def source_files(reference: Reference) -> tuple[str, ...]:
    """Return the files that registered a dataset and an evaluator, so that a run can be repeated from `run.json`."""
    dataset = dataset_named(reference.dataset or "")
    evaluator = evaluator_named(reference.evaluator or "")
    functions = (dataset.loader, dataset.prompt_template, evaluator.evaluator)
    files: list[str] = []
    for function in functions:
        file = _source_file(function)
        if file is not None and file not in files:
            files.append(file)
    return tuple(files)


def _source_file(function: object) -> str | None:
    """Return the file that defines a user's function; None for the main program and assay's own functions."""
    scope: Fields = getattr(function, "__globals__", {})
    module = str(scope.get("__name__", ""))
    if module == "__main__":
        return None
    if module.startswith("assay."):
        return None
    return scope.get("__file__")


class UnknownRegistered(UnknownName, ValueError):
    """Raised for a name that is not registered. The message suggests the nearest one. Scripts expect a `ValueError`."""


def dataset_named(name: str) -> DatasetConfig:
    """Return a registered dataset. For an unknown name, the error suggests the nearest one."""
    config = DatasetRegistry.get(name)
    if config is None:
        names = DatasetRegistry.list_datasets()
        raise UnknownRegistered("dataset", name, names, hint=HINT)
    return config


def evaluator_named(name: str) -> EvaluatorConfig:
    """Return a registered evaluator. For an unknown name, the error suggests the nearest one."""
    config = EvaluatorRegistry.get(name)
    if config is None:
        names = EvaluatorRegistry.list_evaluators()
        raise UnknownRegistered("evaluator", name, names, hint=HINT)
    return config


def _matching(
    dataset: str,
    evaluators: Sequence[str],
) -> str:
    """Choose the evaluator for a dataset: the one with the dataset's name, the file's only one, or `generation`."""
    if dataset in evaluators:
        return dataset
    if len(evaluators) == 1:
        return evaluators[0]
    if not evaluators and EvaluatorRegistry.get(dataset) is not None:
        return dataset
    return DEFAULT_EVALUATOR
