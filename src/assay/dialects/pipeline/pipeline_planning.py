"""Plan tasks from registration files and names: a dataset with an evaluator that drives the model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...code.sources import parsed
from ...core import GenerateOptions, Task, UnknownName, UsageError
from ...runner.options import RunOptions
from ..guest import Guest
from ..protocol import is_upstream as chose_upstream
from ..recognise import imported_names
from ..shapes import Fields
from . import builtin
from . import pipeline_checkout as checkout
from . import pipeline_prompts as prompts
from .claims import NAMES, claims
from .dataset_registry import (
    DatasetConfig,
    DatasetRegistry,
    asks_in_own_words,
    new_entries,
)
from .driver import Drive, Rows, as_upstream
from .evaluator_registry import EvaluatorConfig, EvaluatorRegistry
from .pipeline_engine import as_turn
from .reference import Reference, parse

DEFAULT_EVALUATOR = "generation"
"""The evaluator for a dataset without its own: it only generates, and judges no answer."""
NEEDS = dict.fromkeys(("perplexity", "perplexity@upstream"), frozenset({"likelihood"}))
UPSTREAM = "@upstream"
TELLING_NAMES = ("dataset_registry", "evaluator_registry")
"""Module names that only files of this dialect mention."""
SHIPPED = (builtin.perplexity, prompts.evaluate)
"""Evaluators of assay whose results differ under upstream's rules."""

HINT = "`assay pipeline --list` prints all; --register FILE makes more known"

_registered_here = False


@contextmanager
def registered_here() -> Iterator[None]:
    """Use the names registered in this process while the context is active; no file is loaded again."""
    global _registered_here
    before, _registered_here = _registered_here, True
    try:
        yield
    finally:
        _registered_here = before


def tasks_of(
    text: str,
    run: RunOptions,
    *,
    is_upstream: bool = False,
) -> Sequence[Task]:
    """Return the tasks of a reference; files named by `--register` are loaded first."""
    reference = parse(text)
    if not _registered_here:
        for file in run.register:
            load(file)
    if reference.file is None:
        return [make_task(reference, run, is_upstream=is_upstream)]
    datasets, evaluators = load(reference.file)
    if reference.dataset is not None:
        return [make_task(reference, run, evaluators, is_upstream=is_upstream)]
    if not datasets:
        raise UsageError(
            "registers no dataset",
            where=reference.file,
            fix="`assay python FILE` runs a script; name the file that registers the dataset with --register",
        )
    references = [Reference(None, name, None, reference.settings) for name in datasets]
    return [
        make_task(single, run, evaluators, is_upstream=is_upstream)
        for single in references
    ]


def load(path: str | Path) -> tuple[list[str], list[str]]:
    """Run a registration file; return the names of the datasets and evaluators that it registered."""
    file = Path(path).expanduser()
    checkout.notice(file)
    datasets = dict(DatasetRegistry._registry)
    evaluators = dict(EvaluatorRegistry._registry)
    Guest.of_file("pipeline", NAMES, file).load(file)
    return (
        list(new_entries(DatasetRegistry._registry, datasets)),
        list(new_entries(EvaluatorRegistry._registry, evaluators)),
    )


def discover(folder: Path) -> list[Path]:
    """Return the `register_*.py` files of a folder that are written for this dialect.

    A file that is not valid Python counts if its text names a module of the dialect. Loading it reports the error.
    """
    files = []
    for file in sorted(folder.glob("register_*.py")):
        if parsed(file) is None:
            text = file.read_text(encoding="utf-8", errors="replace")
            is_ours = any(name in text for name in TELLING_NAMES)
        else:
            is_ours = claims(file, imported_names(file)) is not None
        if is_ours:
            files.append(file)
    return files


def broken_files(folder: Path) -> list[Path]:
    """Return the `register_*.py` files of a folder that are not valid Python and were not recognised."""
    recognised = discover(folder)
    return [
        file
        for file in sorted(folder.glob("register_*.py"))
        if file not in recognised and parsed(file) is None
    ]


def make_task(
    reference: Reference,
    run: RunOptions,
    evaluators: Sequence[str] = (),
    *,
    is_upstream: bool = False,
) -> Task:
    """Build the task of a dataset and an evaluator; by default the evaluator of the same name, or the file's only one.

    Under upstream's rules, an empty answer, 0 and `False` are not answers, and shipped evaluators
    have an upstream form.
    """
    evaluator_name = reference.evaluator or (run.scorers[0] if run.scorers else None)
    is_named_upstream = (evaluator_name or "").endswith(UPSTREAM)
    if (
        evaluator_name
        and is_named_upstream
        and not EvaluatorRegistry.get(evaluator_name)
    ):
        # `my_evaluator@upstream`: the user's own evaluator on references read by upstream's rules.
        evaluator_name = evaluator_name.removesuffix(UPSTREAM)
        is_upstream = True
    is_upstream = is_upstream or chose_upstream("pipeline")
    with as_upstream(is_upstream):
        dataset, in_own_words = (
            _dataset(reference.dataset or ""),
            asks_in_own_words(reference.dataset or ""),
        )
    evaluator = _evaluator(evaluator_name or _matching(dataset.name, evaluators))
    if (
        is_upstream
        and evaluator.evaluator in SHIPPED
        and EvaluatorRegistry.get(f"{evaluator.name}{UPSTREAM}")
    ):
        evaluator = _evaluator(f"{evaluator.name}{UPSTREAM}")
    name = f"{dataset.name}/{evaluator.name.removesuffix(UPSTREAM) if is_upstream else evaluator.name}"
    length = run.generation.get("max_tokens")
    drive = Drive(
        dataset,
        evaluator,
        dict(reference.settings),
        dataset.default_max_length if length is None else int(length),
        run.batch_size
        if isinstance(run.batch_size, int)
        else dataset.default_batch_size,
        is_upstream,
    )
    return Task(
        name=name,
        protocol=f"{name}{_protocol(is_upstream, in_own_words)}",
        dataset=Rows(dataset, run.data, is_upstream),
        template=as_turn,
        driver=drive,
        needs=NEEDS.get(evaluator.name, frozenset()),
        options=GenerateOptions(max_tokens=drive.max_length),
        description=f"{dataset.description or dataset.name}, judged by {evaluator.name}",
        data_hint="the file its loader reads",
    )


def _protocol(is_upstream: bool, in_own_words: bool) -> str:
    """Return the protocol under upstream's rules. It records whether a prompt uses assay's own sentence."""
    if not is_upstream:
        return ""
    return f"{UPSTREAM}+own_words" if in_own_words else UPSTREAM


def source_files(reference: Reference) -> tuple[str, ...]:
    """Return the files that registered a dataset and an evaluator, so that a run can be repeated from `run.json`."""
    dataset = _dataset(reference.dataset or "")
    evaluator = _evaluator(reference.evaluator or "")
    files: dict[str, None] = {}
    for function in (dataset.loader, dataset.prompt_template, evaluator.evaluator):
        file = _source_file(function)
        if file is not None:
            files[file] = None
    return tuple(files)


def _source_file(function: object) -> str | None:
    """Return the file of a user's function, or None for the main program and assay's own functions."""
    scope: Fields = getattr(function, "__globals__", {})
    module = str(scope.get("__name__", ""))
    if module == "__main__" or module.startswith("assay."):
        return None
    file = scope.get("__file__")
    return None if file is None else str(file)


def _dataset(name: str) -> DatasetConfig:
    config = DatasetRegistry.get(name)
    if config is None:
        raise UnknownName("dataset", name, DatasetRegistry.list_datasets(), hint=HINT)
    return config


def _evaluator(name: str) -> EvaluatorConfig:
    config = EvaluatorRegistry.get(name)
    if config is None:
        raise UnknownName(
            "evaluator",
            name,
            EvaluatorRegistry.list_evaluators(),
            hint=HINT,
        )
    return config


def _matching(
    dataset: str,
    evaluators: Sequence[str],
) -> str:
    if dataset in evaluators:
        return dataset
    if len(evaluators) == 1:
        return evaluators[0]
    if not evaluators and EvaluatorRegistry.get(dataset) is not None:
        return dataset
    return DEFAULT_EVALUATOR
