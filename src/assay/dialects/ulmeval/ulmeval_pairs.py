"""Pair models with datasets, given by name on the command line or in a JSON config."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import registry
from ...code.userfiles import is_reference, split_reference
from ...core import EMPTY, UnknownName, UsageError
from ...runner.options import RunOptions
from ..kits.judging import is_known
from ..kits.smp.file import LMUDataRoot
from ..kits.toolkit import UserFile
from ..kits.user_code import read_config
from ..recognise import imported_names
from ..shapes import Fields, Record
from .claims import claims
from .dataset_tasks import BENCHMARKS, assay_benchmark, tasks_of, upstreams_class
from .drawing_models import supported_ULM
from .ulmeval_predictions import imported
from .ulmeval_toolkit import (
    TOOLKIT,
    configured_dataset,
    configured_model,
    named_datasets,
)


@dataclass(frozen=True)
class Settings:
    """The flags of ULMEvalKit's command, and assay's additional flags for it."""

    data: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    config: str | None = None
    work_dir: str = "outputs"
    mode: str = "all"
    """The stages to run: `all`, `infer` (without evaluation) or `eval` (without calling the model)."""
    num_generations: int | None = None
    judge: str | None = None
    helpers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Models other than the judge that some assay benchmarks need, by role: a detector, a VQA model."""
    upstream: bool = False
    """True to apply ULMEvalKit's own rules."""
    judge_args: Fields = field(default_factory=lambda: EMPTY)
    """Arguments for a user's `evaluate`: nproc, verbose, retry and those given as JSON."""
    api_nproc: int = 4
    ignore: bool = False
    reuse_aux: bool = True
    use_vllm: bool = False
    result_file: str | None = None
    register: tuple[str, ...] = ()
    limit: str | None = None
    fresh: bool = False
    trust_pickle: bool = False
    allow_private_urls: bool = False


@dataclass(frozen=True)
class Pair:
    """One model and the dataset to run it on."""

    model_name: str
    model: Any
    dataset_name: str
    reference: str

    @property
    def data(self) -> str | None:
        """The path of an assay benchmark's table in `$LMUData`, named as in ULMEvalKit; None if it does not exist."""
        is_ours = self.reference in {*BENCHMARKS.values(), "t2i_compbench"}
        if not is_ours or self.reference == self.dataset_name:
            return None
        names = [self.dataset_name]
        if self.dataset_name == "DPGBench":
            names.append("DPG_Bench")
        tables = [Path(LMUDataRoot()) / f"{name}.tsv" for name in names]
        return next((str(table) for table in tables if table.is_file()), None)


def pairs_of(settings: Settings) -> list[Pair]:
    """Return a pair for every model and dataset on the command line. Raise for an unknown name before anything runs."""
    files = _registered(settings.register)
    models: Record = {}
    data: dict[str, str] = {}
    if settings.config is not None:
        if settings.data or settings.model:
            raise UsageError(
                "--config names models and datasets itself",
                fix="leave out --data and --model",
            )
        path = Path(settings.config).expanduser()
        config = read_config(path)
        loaded = [*files.values()]
        for name, entry in config["model"].items():
            factory, args, file = configured_model(name, entry, loaded, str(path))
            models[name] = TOOLKIT.adapt(factory, name, args, file)
        for name, entry in config["data"].items():
            configured_dataset(name, entry, loaded, str(path))
            data[name] = f"{settings.config}#{name}"
    else:
        if not settings.data or not (settings.model or settings.result_file):
            raise UsageError(
                "--data and --model, or --config, must be given",
                fix="`assay ulmeval --help`",
            )
        for entry in settings.data:
            data |= _datasets(entry, files, settings)
        if settings.result_file is None:
            models = dict(_model(entry, files, settings) for entry in settings.model)
        else:
            models = _imported(Path(settings.result_file).expanduser(), settings)
    return [
        Pair(model_name, model, name, reference)
        for model_name, model in models.items()
        for name, reference in data.items()
    ]


def _registered(entries: Sequence[str]) -> dict[str, UserFile]:
    """Load the files given by `--register`. For a folder, load those of its Python files that use ULMEvalKit."""
    files: list[str] = []
    for entry in entries:
        path = Path(entry).expanduser()
        if not path.is_dir():
            files.append(entry)
            continue
        for file in sorted(path.glob("*.py")):
            if claims(file, imported_names(file)) is not None:
                files.append(str(file))
    return {file: TOOLKIT.load(file, force=True) for file in files}


def _datasets(
    entry: str,
    files: Mapping[str, UserFile],
    settings: Settings,
) -> dict[str, str]:
    """Return the task references for the datasets in an entry of `--data`, by name."""
    if is_reference(entry) or Path(entry).suffix == ".tsv":
        options = RunOptions(trust_pickle=settings.trust_pickle, dialect="ulmeval")
        path, attribute = split_reference(entry)
        names = sorted({task.name for task in tasks_of(entry, options)})
        if not path.endswith(".py"):
            return dict.fromkeys(names, entry)
        # Use the class that the user gave, even if another class in the file declares the same dataset.
        if attribute:
            kind = attribute.partition("@")[0] + "@"
        else:
            kind = ""
        references = {name: f"{path}:{kind}{name}" for name in names}
        if attribute in names:
            references[attribute] = f"{path}:{attribute}"
        return references
    references = {
        name: f"{path}:{name}"
        for path, file in files.items()
        for _, name in named_datasets(file)
    }
    table = Path(LMUDataRoot()) / f"{entry}.tsv"
    reference = references.get(entry) or built_in(entry)
    if reference is None and table.is_file():
        reference = str(table)
    if reference is not None:
        return {entry: reference}
    benchmark = registry.tasks.resolve(entry)
    if benchmark is not None:
        return {benchmark: benchmark}
    hint = f"--register FILE names the file that defines it, or put {table.name} into {LMUDataRoot()}"
    raise UnknownName(
        "dataset",
        entry,
        references,
        where="--data",
        hint=hint,
    )


def built_in(name: str) -> str | None:
    """Return assay's benchmark for a dataset name of ULMEvalKit, or None.

    Under ULMEvalKit's rules, return the name itself.
    """
    if upstreams_class(name) is not None:
        return name
    return assay_benchmark(name)


def _model(
    entry: str,
    files: Mapping[str, UserFile],
    settings: Settings,
) -> tuple[str, Any]:
    """Return the name of a model and an adapter of the user's class. For a model of assay, both are the name."""
    args = {"use_vllm": True} if settings.use_vllm else {}
    path, attribute = split_reference(entry)
    models: dict[str, tuple[Any, Path]] = {}
    if path.endswith(".py"):
        file = TOOLKIT.load(path, force=True)
        definition = file.model(attribute)
        if definition is None:
            return entry, entry
        entry, factory = definition
        return entry, TOOLKIT.adapt(factory, entry, args, file.path)
    for file in files.values():
        for name, factory in {**file.models, **file.registered}.items():
            models[name] = factory, file.path
    if entry in models:
        factory, path_of_file = models[entry]
        return entry, TOOLKIT.adapt(factory, entry, args, path_of_file)
    if is_known(entry):
        return entry, entry
    if entry in supported_ULM:
        return entry, TOOLKIT.adapt(supported_ULM[entry], entry, args, None)
    if settings.mode == "eval":
        return entry, entry  # no model is called, so a name from its files is enough
    raise UnknownName(
        "model",
        entry,
        models,
        where="--model",
        hint="--register FILE names the file that defines it",
    )


def _imported(path: Path, settings: Settings) -> Record:
    """Return the model that answers from `--result-file`, by the name in `--model` or else the file's stem."""
    if settings.model:
        name = settings.model[0]
    else:
        name = path.stem
    return {name: imported(path, name, trust=settings.trust_pickle)}
