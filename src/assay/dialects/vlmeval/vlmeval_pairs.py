"""Pair models with datasets, given by name on the command line or in a JSON config.

`pairs_of` finds the datasets, then the models, and returns a `Pair` for every model and dataset:

    --data MMBench Mine --model qwen2-vl      2 datasets × 1 model: 2 pairs
    --config config.json                      the datasets and models that the file lists

A model's name on the command line is searched in the files given by `--register`, then
in assay, then in the checkout around the working folder. A dataset's name is searched
in `--data-config`, then in the checkout. A name that neither has is a dataset of assay
or a file. Classes in a config are searched in the files given by `--register`, then
among VLMEvalKit's. A dataset of a config has the task reference `config.json#name`, so
that it can be scored again.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ...code.userfiles import is_reference, split_reference
from ...core import EMPTY, UnknownName, UsageError, digest_of
from ...core.request import OPTION_NAMES
from ...models.embedded import CATALOGUE
from ...registry import models as registry
from ...store.file_ledger import FileLedger
from ..file_names import file_name
from ..kits.toolkit import HINT, UserFile, class_of, find_class
from ..kits.user_code import checked_config, read_config
from ..parameters import parameters_of
from ..shapes import Fields, Record
from . import dataset_names
from .claims import NAMES
from .dataset_facts import data_root
from .evaluating import model_label
from .vlmeval_classes import dataset_classes, named_datasets
from .vlmeval_toolkit import TOOLKIT, supported_VLM

ENDPOINTS = ("GPT4V", "OpenAIWrapper", "LMDeployAPI")
"""VLMEvalKit's classes for OpenAI-compatible endpoints. assay uses its own model instead."""
WITHOUT_EFFECT = ("retry", "wait", "verbose", "img_size", "img_detail", "use_azure")
"""Arguments of the classes in `ENDPOINTS` that assay's own endpoint model ignores."""


class DatasetEntry(NamedTuple):
    """A dataset in a config, after its class was found."""

    kind: type
    dataset: str
    """The name that is passed to the class."""
    file: str | None
    """The user's file with the class; None for one of VLMEvalKit's classes."""
    arguments: Fields
    """Further arguments of the class."""


class Dataset(NamedTuple):
    """A dataset to run on."""

    reference: str
    """Where a run finds the dataset: a name, a file, `file.py:Class@name` or `config.json#name`."""
    name: str
    """The dataset's name, as used in file names."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One model and one dataset to run it on. The dataset may be set later."""

    model: str
    label: str
    """The model's name in folder and file names."""
    model_args: Fields = field(default_factory=lambda: EMPTY)
    generation: Fields = field(default_factory=lambda: EMPTY)
    data: str = ""
    """The task reference of the dataset, from which a run can be repeated; empty until the dataset is set."""
    name: str = ""
    """The dataset's name in file names."""


def pairs_of(
    flags: argparse.Namespace,
    work_dir: Path,
) -> list[Pair]:
    """Return a pair for every model and dataset on the command line. Raise for an unknown name before anything runs.

    If a dataset's class is in a file of the checkout, that file is appended to
    `flags.register`, because the run must load it, too.
    """
    _load_files(flags.register)  # what these files register can then be found by name
    if flags.config:
        path = Path(flags.config).expanduser()
        config = read_config(path)
        datasets = _datasets_of_config(config["data"], path, flags.register)
        models = [
            _model_of_config(name, entry, flags.register, str(path))
            for name, entry in config["model"].items()
        ]
    else:
        datasets = _datasets_by_name(flags, work_dir)
        models = [_model_by_name(name, flags) for name in flags.model]
    if not datasets or not models:
        raise UsageError(
            "nothing to run", fix="--data NAME --model NAME, or --config FILE"
        )
    if flags.use_vllm and "vllm" in registry:
        models = [_with_vllm(model) for model in models]
    _refuse_same_files("models", [(model.label, model.model) for model in models])
    _refuse_same_files("datasets", [(data.name, data.reference) for data in datasets])
    pairs = []
    for model in models:
        arguments = _model_arguments(model, flags)
        for data in datasets:
            pairs.append(
                replace(
                    model,
                    model_args=arguments,
                    data=data.reference,
                    name=data.name,
                )
            )
    return pairs


def _load_files(register: Sequence[str]) -> list[UserFile]:
    """Load the files given by `--register`."""
    return [TOOLKIT.load(file) for file in register]


def _datasets_of_config(
    data: Fields,
    path: Path,
    register: Sequence[str],
) -> list[Dataset]:
    """Return each dataset in a config file. Raise for an undefined class."""
    for name, entry in data.items():
        dataset_entry(name, entry, register, str(path))
    return [Dataset(f"{path}#{name}", name) for name in data]


def _datasets_by_name(
    flags: argparse.Namespace,
    work_dir: Path,
) -> list[Dataset]:
    """Return the datasets given by `--data`.

    A name is searched in `--data-config`, then in the checkout. If neither has it, it
    is a dataset of assay or a file.
    """
    configured = _datasets_of_data_config(flags, work_dir)
    datasets = []
    for name in flags.data:
        dataset = configured.get(name) or _dataset_of_checkout(name, flags, work_dir)
        if dataset is None:
            dataset = Dataset(name, dataset_name(name))
        datasets.append(dataset)
    return datasets


def _datasets_of_data_config(
    flags: argparse.Namespace,
    work_dir: Path,
) -> dict[str, Dataset]:
    """Return the datasets in `--data-config` by name.

    The config is saved in the work folder, so that the run can be repeated.
    """
    plain = json_object(flags.data_config, "--data-config")
    if not plain:
        return {}
    unused = [name for name in plain if name not in flags.data]
    if unused:
        raise UnknownName(
            "dataset",
            unused[0],
            flags.data,
            where="--data-config",
            hint="its names are those of --data",
        )
    config = checked_config({"data": plain}, ("data",), "--data-config")
    for name, entry in config["data"].items():
        dataset_entry(name, entry, flags.register, "--data-config")
    path = _save_config(config, work_dir)
    return {name: Dataset(f"{path}#{name}", name) for name in plain}


def _save_config(config: Fields, work_dir: Path) -> Path:
    """Save a config of datasets in the work folder, so that the run can be repeated, and return its path."""
    path = work_dir / f"data_config-{digest_of(config)[:8]}.json"
    text = json.dumps(config, indent=2, ensure_ascii=False)
    FileLedger(work_dir).claim(path).write_text(text, "utf-8")
    return path


def _dataset_of_checkout(
    name: str,
    flags: argparse.Namespace,
    work_dir: Path,
) -> Dataset | None:
    """Return the dataset that the checkout around the working folder defines under a name, or None.

    The file of a class with arguments is added to `flags.register`.
    """
    checkout = TOOLKIT.checkout()
    is_path = is_reference(name) or bool(Path(name).suffix) or Path(name).exists()
    if checkout is None or is_path or _is_registered(name, flags):
        return None
    has_table = (data_root() / f"{name}.tsv").exists()
    defined = checkout.dataset(name, with_own=not has_table)
    if defined is None:
        return None
    if not defined.arguments:
        return Dataset(f"{defined.file}:{defined.cls}@{name}", name)
    flags.register = [*flags.register, str(defined.file)]
    entry = {"class": defined.cls, **defined.arguments}
    path = _save_config({"data": {name: entry}}, work_dir)
    return Dataset(f"{path}#{name}", name)


def _is_registered(
    name: str,
    flags: argparse.Namespace,
) -> bool:
    for file in _load_files(flags.register):
        for kind, dataset in named_datasets(file):
            if name in (dataset, kind.__name__):
                return True
    return False


def dataset_name(data: str) -> str:
    """Return the dataset name for file names, from a name, a file or `file.py:Class@name`."""
    path, attribute = data, ""
    if ".py:" in data:
        path, _, attribute = data.rpartition(":")
    is_file_of_classes = path.endswith(".py") and Path(path).expanduser().is_file()
    if is_file_of_classes and "@" not in attribute:
        classes = dataset_classes(
            TOOLKIT.load(path),
            attribute or None,
            None,
            quiet=True,
        )
        if len(classes) == 1:
            return classes[0][1]
    if attribute:
        return attribute.partition("@")[2] or attribute
    if Path(path).suffix:
        return Path(data).name.split(".")[0]
    return data


def _model_of_config(
    name: str,
    entry: Fields,
    register: Sequence[str],
    where: str,
) -> Pair:
    """Return a `Pair` with the model reference and arguments for a model in a config.

    The dataset is not set yet.
    """
    settings = dict(entry)
    label = file_name(name, 80)
    class_name = settings.pop("class", None)
    if class_name is None:
        return Pair(_registered_model(name, register) or name, label, settings)
    if class_name in ENDPOINTS:
        return _endpoint_model(name, settings, f"{where}, key `model.{name}`")
    _, path = find_class(
        "model class",
        class_name,
        dict.fromkeys(ENDPOINTS),
        _load_files(register),
        lambda file: file.models,
        f"{where}, key `model.{name}.class`",
    )
    return Pair(f"{path}:{class_name}", label, settings)


def _model_by_name(
    name: str,
    flags: argparse.Namespace,
) -> Pair:
    """Return the model for a name on the command line, by its model reference in assay.

    This is `file.py:name` for a registered file and `openai/name` for an endpoint. Raise if the name is unknown.
    """
    reference = name if is_reference(name) else _registered_model(name, flags.register)
    if reference is None:
        if _is_own_model(name, flags):
            reference = name
        elif flags.base_url:
            reference = f"openai/{name}"
    if reference is None:
        of_checkout = _model_of_checkout(name)
        if of_checkout is not None:
            return of_checkout
        if flags.mode != "eval":
            raise _unknown_model(name)
        # No model is called, so a name from upstream's files is enough.
        reference = name
    return Pair(reference, model_label(name))


def _is_own_model(name: str, flags: argparse.Namespace) -> bool:
    """Return True for a name of one of assay's models.

    With `--base-url`, a name such as `hf/NAME` is a model at that endpoint. Only
    `openai/NAME` still means assay's own model.
    """
    if name in registry or name in CATALOGUE or name.endswith(".gguf"):
        return True
    scheme, slash, _ = name.partition("/")
    has_scheme = bool(slash) and scheme in registry
    return has_scheme and (not flags.base_url or scheme == "openai")


def _unknown_model(name: str) -> UnknownName:
    """Return the error for a model that is not in assay, a registered file or the checkout."""
    checkout = TOOLKIT.checkout()
    of_checkout = checkout.model_names() if checkout else []
    names = [*supported_VLM, *of_checkout, *registry.names(), *CATALOGUE]
    return UnknownName(
        "model",
        name,
        names,
        where="--model",
        hint=f"{HINT}, --base-url URL the endpoint",
    )


def _registered_model(
    name: str,
    register: Sequence[str],
) -> str | None:
    """Return `file.py:name` if a file given by `--register` defines a model called `name`.

    The model may be a class, or an entry that the file adds to `supported_VLM`. Return
    None if no file defines it.
    """
    for path, file in zip(register, _load_files(register), strict=True):
        if name in file.models or name in file.registered:
            return f"{path}:{name}"
    if name in supported_VLM and register:
        return f"{register[-1]}:{name}"
    return None


def _model_of_checkout(name: str) -> Pair | None:
    """Return the model that the checkout around the working folder lists under a name in its `config.py`, or None."""
    defined = TOOLKIT.definition_of_model(name)
    if defined is None:
        return None
    settings = dict(defined.arguments)
    if defined.cls in ENDPOINTS:
        return _endpoint_model(name, settings, f"--model {name}")
    return Pair(f"{defined.file}:{defined.cls}", model_label(name), settings)


def _endpoint_model(
    name: str,
    settings: Record,
    where: str,
) -> Pair:
    """Return a pair with assay's endpoint model, for a config entry with one of VLMEvalKit's endpoint classes."""
    if "key" in settings:
        raise UsageError(
            "a key does not belong in a config",
            where=where,
            fix='"api_key_env": the environment variable with the key',
        )
    model = settings.pop("model", name)
    if "api_base" in settings:
        address = str(settings.pop("api_base")).removesuffix("/")
        settings["base_url"] = address.removesuffix("/chat/completions")
    for name_without_effect in WITHOUT_EFFECT:
        settings.pop(name_without_effect, None)
    generation = {}
    for key in list(settings):
        if key in OPTION_NAMES:
            generation[key] = settings.pop(key)
    return Pair(f"openai/{model}", file_name(name, 80), settings, generation)


def _with_vllm(model: Pair) -> Pair:
    """Return a model of the Hub with vLLM as its engine. Any other model is returned unchanged."""
    if not model.model.startswith("hf/"):
        return model
    return replace(model, model="vllm/" + model.model.removeprefix("hf/"))


def _model_arguments(
    model: Pair,
    flags: argparse.Namespace,
) -> Record:
    """Return the arguments for building a model, from the config and from flags.

    `--retry` is passed only if the model accepts it. `--use-vllm` raises an error if
    the model does not accept it.
    """
    args = dict(model.model_args)
    if not flags.use_vllm and flags.retry is None:
        return args
    accepted: tuple[str, ...] = ()
    if is_reference(model.model):
        path, attribute = split_reference(model.model)
        definition = TOOLKIT.load(path).model(attribute)
        if definition:
            accepted = parameters_of(class_of(definition[1]))
    if flags.use_vllm and not model.model.startswith("vllm/"):
        if "use_vllm" not in accepted and "**" not in accepted:
            raise UsageError(
                f"--use-vllm: {model.model} is not built with use_vllm",
                fix="start the server with `vllm serve`, then --base-url http://host:port/v1",
            )
        args.setdefault("use_vllm", True)
    if flags.retry is not None and ("retry" in accepted or "**" in accepted):
        args.setdefault("retry", flags.retry)
    return args


def _refuse_same_files(
    kind: str,
    named: Sequence[tuple[str, str]],
) -> None:
    """Raise if two different models, or two different datasets, would write files of the same name.

    `named` contains pairs of a name and a reference.
    """
    references: dict[str, str] = {}
    for name, reference in named:
        first = references.setdefault(name, reference)
        if first != reference:
            raise UsageError(
                f"two {kind} have the name {name!r} in files: {first} and {reference}",
                fix="give each a run of its own with another --work-dir",
            )


def dataset_entry(
    name: str,
    entry: Fields,
    register: Sequence[str],
    where: str,
) -> DatasetEntry | None:
    """Return the class and arguments of a dataset in a config. `entry` is its value, `name` its key.

    Return None for an empty entry, whose dataset is looked up by name.
    """
    if not entry:
        return None
    settings = dict(entry)
    class_name = settings.pop("class", None)
    if class_name is None:
        raise UsageError(
            "no `class`",
            where=f"{where}, key `data.{name}`",
            fix='{"class": "MyDataset", "dataset": …}',
        )
    labels = NAMES["vlmeval.dataset"].partition(":")[2].split()
    shipped = {}
    for label in labels:
        value = getattr(dataset_names, label)
        if isinstance(value, type):
            shipped[label] = value
    kind, file = find_class(
        "dataset class",
        class_name,
        shipped,
        _load_files(register),
        lambda file: {kind.__name__: kind for kind in file.datasets},
        f"{where}, key `data.{name}.class`",
    )
    dataset = str(settings.pop("dataset", name))
    return DatasetEntry(kind, dataset, str(file) if file else None, settings)


def json_object(
    text: str | None,
    where: str,
) -> Record:
    """Parse a JSON object from the command line; empty if it is not given. `where` is the option, for errors."""
    if not text or not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"not valid JSON: {error}", where=where) from error
    if not isinstance(value, dict):
        raise UsageError("expected a JSON object", where=where)
    return value
