"""Pair models with datasets, from the names of a command line or of a JSON config."""

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
from ..kits.user_code import read_config
from ..recognise import imported_names
from ..shapes import Fields, Record
from .claims import claims
from .dataset_tasks import BENCHMARKS, assay_benchmark, tasks_of, upstreams_class
from .drawing_models import supported_ULM
from .ulmeval_predictions import imported
from .ulmeval_toolkit import TOOLKIT, configured_dataset, configured_model


@dataclass(frozen=True)
class Settings:
    """The flags of the original command, and assay's own flags for it."""

    data: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    config: str | None = None
    work_dir: str = "outputs"
    mode: str = "all"
    """`all`, `infer` (no evaluation) or `eval` (no model)."""
    num_generations: int | None = None
    judge: str | None = None
    helpers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Models of other roles that some benchmarks of assay need: a detector, a VQA model."""
    upstream: bool = False
    """True if upstream's own rules are used."""
    judge_args: Fields = field(default_factory=lambda: EMPTY)
    """The arguments of `evaluate`: nproc, verbose, retry and those given as JSON."""
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
    """One model on one dataset."""

    model_name: str
    model: Any
    dataset_name: str
    reference: str

    @property
    def data(self) -> str | None:
        """The table in `$LMUData` of a benchmark that has another name in assay."""
        names = (
            (self.dataset_name, "DPG_Bench")
            if self.dataset_name == "DPGBench"
            else (self.dataset_name,)
        )
        tables = [Path(LMUDataRoot()) / f"{name}.tsv" for name in names]
        is_other = (
            self.reference in {*BENCHMARKS.values(), "t2i_compbench"}
            and self.reference != self.dataset_name
        )
        if is_other:
            return next((str(table) for table in tables if table.is_file()), None)
        return None


def pairs_of(settings: Settings) -> list[Pair]:
    """Return every model with every dataset. Raise for an unknown name before anything runs."""
    register = _registered(settings.register)
    if settings.config is not None:
        if settings.data or settings.model:
            raise UsageError(
                "--config names models and datasets itself",
                fix="leave out --data and --model",
            )
        path = Path(settings.config).expanduser()
        config = read_config(path)
        files = [TOOLKIT.load(file, force=True) for file in register]
        models = {}
        for name, entry in config["model"].items():
            factory, args, file = configured_model(name, entry, files, str(path))
            models[name] = TOOLKIT.adapt(factory, name, args, file)
        for name, entry in config["data"].items():
            configured_dataset(name, entry, files, str(path))
        data = {name: f"{settings.config}#{name}" for name in config["data"]}
    else:
        if not settings.data or not (settings.model or settings.result_file):
            raise UsageError(
                "--data and --model, or --config, must be given",
                fix="`assay ulmeval --help`",
            )
        data = {
            name: ref
            for entry in settings.data
            for name, ref in _dataset(entry, register, settings)
        }
        models = _imported(settings) or {
            name: factory
            for entry in settings.model
            for name, factory in [_model(entry, register, settings)]
        }
    return [
        Pair(model_name, model, name, reference)
        for model_name, model in models.items()
        for name, reference in data.items()
    ]


def _registered(entries: Sequence[str]) -> tuple[str, ...]:
    """Return the given files; for a folder, its Python files that are written for ULMEvalKit."""
    files: list[str] = []
    for entry in entries:
        path = Path(entry).expanduser()
        if path.is_dir():
            files += [
                str(f)
                for f in sorted(path.glob("*.py"))
                if claims(f, imported_names(f)) is not None
            ]
        else:
            files.append(entry)
    return tuple(files)


def _dataset(
    entry: str,
    register: Sequence[str],
    settings: Settings,
) -> list[tuple[str, str]]:
    """Return the names and references of an entry of `--data`."""
    if is_reference(entry) or Path(entry).suffix == ".tsv":
        options = RunOptions(trust_pickle=settings.trust_pickle, dialect="ulmeval")
        path, attribute = split_reference(entry)
        planned = tasks_of(entry, options)
        if not path.endswith(".py"):
            return [(task.name, entry) for task in planned]
        # Use the class that was named, even if another class of the file knows the same dataset.
        if attribute:
            lead = f"{path}:{attribute.partition('@')[0]}@"
        else:
            lead = f"{path}:"
        names = {task.name for task in planned}
        return [
            (name, f"{path}:{name}" if attribute == name else f"{lead}{name}")
            for name in sorted(names)
        ]
    references: dict[str, str] = {}
    for file in register:
        datasets: list[Any] = TOOLKIT.load(file, force=True).datasets
        references |= {
            name: f"{file}:{name}"
            for cls in datasets
            for name in cls.supported_datasets()
        }
    if entry in references:
        return [(entry, references[entry])]
    benchmark = built_in(entry)
    if benchmark is not None:
        return [(entry, benchmark)]
    table = Path(LMUDataRoot()) / f"{entry}.tsv"
    if table.is_file():
        return [(entry, str(table))]
    benchmark = registry.tasks.resolve(entry)
    if benchmark is not None:
        return [(benchmark, benchmark)]
    hint = f"--register FILE names the file that defines it, or put {table.name} into {LMUDataRoot()}"
    raise UnknownName(
        "dataset",
        entry,
        references,
        where="--data",
        hint=hint,
    )


def built_in(name: str) -> str | None:
    """Return assay's benchmark for a name of ULMEvalKit's; with upstream's rules the name itself."""
    if upstreams_class(name) is not None:
        return name
    return assay_benchmark(name)


def _model(
    entry: str,
    register: Sequence[str],
    settings: Settings,
) -> tuple[str, Any]:
    """Return a model's name for file names, and the model: a user's, or the name of one of assay's own."""
    args = {"use_vllm": True} if settings.use_vllm else {}
    path, attribute = split_reference(entry)
    if path.endswith(".py"):
        definition = TOOLKIT.load(path, force=True).model(attribute)
        if definition is not None:
            return definition[0], TOOLKIT.adapt(
                definition[1],
                definition[0],
                args,
                Path(path).expanduser(),
            )
        return entry, entry
    models: dict[str, tuple[Any, Path]] = {}
    for file in register:
        guest = TOOLKIT.load(file, force=True)
        models |= {
            name: (factory, guest.path)
            for name, factory in {**guest.models, **guest.registered}.items()
        }
    if entry in models:
        return entry, TOOLKIT.adapt(models[entry][0], entry, args, models[entry][1])
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


def _imported(settings: Settings) -> Record:
    """Return the predictions of `--result-file`, under the name that `--model` gives."""
    if settings.result_file is None:
        return {}
    path = Path(settings.result_file).expanduser()
    if settings.model:
        name = settings.model[0]
    else:
        name = path.stem
    return {name: imported(path, name, trust=settings.trust_pickle)}
