"""Pair models with datasets, given by name on the command line or in a JSON config.

Classes in a config are looked up in the files given by `--register`, then among
VLMEvalKit's. A dataset of a config has the reference `config.json#name`, so that it can
be scored again.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

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
from . import dataset_names as datasets
from .claims import NAMES
from .dataset_facts import data_root
from .evaluating import model_label
from .vlmeval_classes import dataset_classes, named_datasets
from .vlmeval_toolkit import TOOLKIT, supported_VLM

ENDPOINTS = ("GPT4V", "OpenAIWrapper", "LMDeployAPI")
"""VLMEvalKit's classes for OpenAI-compatible endpoints. assay uses its own model instead."""
Entry = tuple[type, str, str | None, Fields]
"""A dataset in a config: its class, the name passed to the class, the user's file with the class, other arguments."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One model and one dataset to run it on. The dataset may be set later."""

    model: str
    label: str
    """The model's name in folder and file names."""
    model_args: Fields = field(default_factory=lambda: EMPTY)
    generation: Fields = field(default_factory=lambda: EMPTY)
    data: str = ""
    """The reference of the dataset, from which a run can be repeated; empty until the dataset is set."""
    name: str = ""
    """The dataset's name in file names."""


def dataset_entry(
    name: str,
    entry: Fields,
    register: Sequence[str],
    where: str,
) -> Entry | None:
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
    shipped = {label: getattr(datasets, label) for label in labels}
    kind, file = find_class(
        "dataset class",
        class_name,
        {label: kind for label, kind in shipped.items() if isinstance(kind, type)},
        loaded(register),
        lambda file: {kind.__name__: kind for kind in file.datasets},
        f"{where}, key `data.{name}.class`",
    )
    if file:
        path = str(file)
    else:
        path = None
    return kind, str(settings.pop("dataset", name)), path, settings


def loaded(register: Sequence[str]) -> list[UserFile]:
    """Load the files given by `--register`."""
    return [TOOLKIT.load(file) for file in register]


def model_entry(
    name: str,
    entry: Fields,
    register: Sequence[str],
    where: str,
) -> Pair:
    """Return a pair with the model of a config entry, under its name in assay, and its arguments.

    The dataset is not set yet.
    """
    settings, label = dict(entry), file_name(name, 80)
    class_name = settings.pop("class", None)
    if class_name is None:
        return Pair(registered_model(name, register) or name, label, settings)
    if class_name in ENDPOINTS:
        return endpoint_pair(name, settings, f"{where}, key `model.{name}`")
    _, path = find_class(
        "model class",
        class_name,
        dict.fromkeys(ENDPOINTS),
        loaded(register),
        lambda file: file.models,
        f"{where}, key `model.{name}.class`",
    )
    return Pair(f"{path}:{class_name}", label, settings)


def registered_model(
    name: str,
    register: Sequence[str],
) -> str | None:
    """Return `file.py:name` if a file given by `--register` defines the class or the `supported_VLM` entry `name`.

    Return None if no file does.
    """
    for path, file in zip(register, loaded(register), strict=True):
        if name in file.models or name in file.registered:
            return f"{path}:{name}"
    if name in supported_VLM and register:
        return f"{register[-1]}:{name}"
    return None


def endpoint_pair(
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
        settings["base_url"] = (
            str(settings.pop("api_base"))
            .removesuffix("/")
            .removesuffix("/chat/completions")
        )
    for idle in ("retry", "wait", "verbose", "img_size", "img_detail", "use_azure"):
        settings.pop(idle, None)
    generation = {
        key: settings.pop(key) for key in tuple(settings) if key in OPTION_NAMES
    }
    return Pair(f"openai/{model}", file_name(name, 80), settings, generation)


def pairs_of(
    flags: argparse.Namespace,
    work_dir: Path,
) -> list[Pair]:
    """Return a pair for every model and dataset on the command line. Raise for an unknown name before anything runs."""
    loaded(flags.register)
    if flags.config:
        path = Path(flags.config).expanduser()
        config = read_config(path)
        data = _configured(config["data"], path, flags.register)
        models = [
            model_entry(name, entry, flags.register, str(path))
            for name, entry in config["model"].items()
        ]
    else:
        config_data = _data_config(flags, work_dir)
        data = [
            config_data.get(name)
            or _of_checkout(name, flags, work_dir)
            or (name, dataset_name(name))
            for name in flags.data
        ]
        models = [_model(name, flags) for name in flags.model]
    if not data or not models:
        raise UsageError(
            "nothing to run", fix="--data NAME --model NAME, or --config FILE"
        )
    if flags.use_vllm and "vllm" in registry:
        models = [
            replace(m, model=f"vllm/{m.model[3:]}") if m.model.startswith("hf/") else m
            for m in models
        ]
    _refuse_same_files("models", [(model.label, model.model) for model in models])
    _refuse_same_files("datasets", [(name, reference) for reference, name in data])
    built = [replace(model, model_args=_built_with(model, flags)) for model in models]
    return [
        replace(model, data=reference, name=name)
        for model in built
        for reference, name in data
    ]


def _refuse_same_files(
    kind: str,
    named: Sequence[tuple[str, str]],
) -> None:
    """Raise if two different models, or datasets, share a name in file names. `named` has (name, reference) pairs."""
    references: dict[str, str] = {}
    for name, reference in named:
        first = references.setdefault(name, reference)
        if first != reference:
            raise UsageError(
                f"two {kind} have the name {name!r} in files: {first} and {reference}",
                fix="give each a run of its own with another --work-dir",
            )


def dataset_name(data: str) -> str:
    """Return a dataset's name in file names, given a name, a file, or `file.py:Class@name`."""
    path, _, attribute = data.rpartition(":") if ".py:" in data else (data, "", "")
    if (
        path.endswith(".py")
        and "@" not in attribute
        and Path(path).expanduser().is_file()
    ):
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


def _configured(
    data: Fields,
    path: Path,
    register: Sequence[str],
) -> list[tuple[str, str]]:
    """Return a (reference, name) pair for each dataset in a config file. Raise for an undefined class."""
    for name, entry in data.items():
        dataset_entry(name, entry, register, str(path))
    return [(f"{path}#{name}", name) for name in data]


def _of_checkout(
    name: str,
    flags: argparse.Namespace,
    work_dir: Path,
) -> tuple[str, str] | None:
    """Return the (reference, name) of a dataset that the checkout around the working folder defines, or None."""
    checkout = TOOLKIT.checkout()
    is_path = is_reference(name) or bool(Path(name).suffix) or Path(name).exists()
    if checkout is None or is_path or _is_registered(name, flags):
        return None
    has_table = (data_root() / f"{name}.tsv").exists()
    defined = checkout.dataset(name, with_own=not has_table)
    if defined is None:
        return None
    if not defined.arguments:
        return f"{defined.file}:{defined.cls}@{name}", name
    flags.register = [*flags.register, str(defined.file)]
    entry = {"class": defined.cls, **defined.arguments}
    return _kept_config({"data": {name: entry}}, work_dir, name), name


def _is_registered(
    name: str,
    flags: argparse.Namespace,
) -> bool:
    for file in loaded(flags.register):
        for kind, dataset in named_datasets(file):
            if name in (dataset, kind.__name__):
                return True
    return False


def _kept_config(
    config: Fields,
    work_dir: Path,
    name: str,
) -> str:
    """Save a config of datasets in the work folder, and return the reference of the dataset `name` in it.

    The saved file allows the run to be repeated.
    """
    path = work_dir / f"data_config-{digest_of(config)[:8]}.json"
    text = json.dumps(config, indent=2, ensure_ascii=False)
    FileLedger(work_dir).claim(path).write_text(text, "utf-8")
    return f"{path}#{name}"


def _data_config(
    flags: argparse.Namespace,
    work_dir: Path,
) -> dict[str, tuple[str, str]]:
    """Return the (reference, name) of each dataset in `--data-config`, by name.

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
    return {name: (_kept_config(config, work_dir, name), name) for name in plain}


def _model(
    name: str,
    flags: argparse.Namespace,
) -> Pair:
    """Return the model for a name on the command line, by its reference in assay.

    This is `file.py:name` for a registered file and `openai/name` for an endpoint. Raise if the name is unknown.
    """
    reference = name if is_reference(name) else registered_model(name, flags.register)
    if reference is None:
        scheme, slash, _ = name.partition("/")
        has_scheme = bool(slash) and scheme in registry
        is_endpoint = bool(flags.base_url) and scheme != "openai"
        is_file = name.endswith(".gguf")
        if (
            name in registry
            or name in CATALOGUE
            or is_file
            or (has_scheme and not is_endpoint)
        ):
            reference = name
        elif flags.base_url:
            reference = f"openai/{name}"
        elif (defined := _model_of_checkout(name)) is not None:
            return defined
        elif flags.mode == "eval":
            # No model is called, so a name from upstream's files is enough.
            reference = name
        else:
            checkout = TOOLKIT.checkout()
            if checkout:
                of_checkout = checkout.model_names()
            else:
                of_checkout = []
            names = [*supported_VLM, *of_checkout, *registry.names(), *CATALOGUE]
            raise UnknownName(
                "model",
                name,
                names,
                where="--model",
                hint=f"{HINT}, --base-url URL the endpoint",
            )
    return Pair(reference, model_label(name))


def _model_of_checkout(name: str) -> Pair | None:
    """Return the model that the checkout around the working folder lists under a name in its `config.py`, or None."""
    defined = TOOLKIT.definition_of_model(name)
    if defined is None:
        return None
    settings = dict(defined.arguments)
    if defined.cls in ENDPOINTS:
        return endpoint_pair(name, settings, f"--model {name}")
    return Pair(f"{defined.file}:{defined.cls}", model_label(name), settings)


def _built_with(
    model: Pair,
    flags: argparse.Namespace,
) -> Record:
    """Return the arguments for building a model: the config's, and those of the flags that it accepts.

    The flags are `--retry`, and `--use-vllm`, which raises an error if the model does
    not accept it.
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
