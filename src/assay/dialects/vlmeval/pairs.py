"""Pairs: which models run on which datasets, from the names of a command line or of a JSON config."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...code.userfiles import is_reference, split_reference
from ...core import UnknownName, UsageError, digest_of
from ...models.embedded import CATALOGUE
from ...registry import models as registry
from ...store.file_ledger import FileLedger
from ..kits.guest_files import HINT, checked_config, read_config
from .classes import dataset_classes
from .config_file import Pair, dataset_entry, model_entry, registered_model
from .evaluating import model_label
from .facade.config import supported_VLM
from .loading import load_guest, parameters_of


def pairs_of(flags: argparse.Namespace, work_dir: Path) -> list[Pair]:
    """Every model with every dataset; a name that nobody knows is an error before anything runs."""
    for file in flags.register:
        load_guest(file)
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
            config_data.get(name) or (name, dataset_name(name)) for name in flags.data
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
    built = [replace(model, model_args=_built_with(model, flags)) for model in models]
    return [
        replace(model, data=reference, name=name)
        for model in built
        for reference, name in data
    ]


def dataset_name(data: str) -> str:
    """What files call a dataset that was given as a name, a file, or `file.py:Class@name`."""
    path, _, attribute = data.rpartition(":") if ".py:" in data else (data, "", "")
    if (
        path.endswith(".py")
        and "@" not in attribute
        and Path(path).expanduser().is_file()
    ):
        found = dataset_classes(load_guest(path), attribute or None, None, quiet=True)
        if len(found) == 1:
            return found[0][1]
    if attribute:
        return attribute.partition("@")[2] or attribute
    return Path(data).name.split(".")[0] if Path(path).suffix else data


def json_object(text: str | None, where: str) -> dict[str, Any]:
    """A JSON object given on a command line."""
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
    data: Mapping[str, Any], path: Path, register: Sequence[str]
) -> list[tuple[str, str]]:
    """References and names of a config's datasets; a class that nobody defines is found here."""
    for name, entry in data.items():
        dataset_entry(name, entry, register, str(path))
    return [(f"{path}#{name}", name) for name in data]


def _data_config(
    flags: argparse.Namespace, work_dir: Path
) -> dict[str, tuple[str, str]]:
    """The datasets of `--data-config` by name; kept as a file, since a run must be repeatable."""
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
    path = work_dir / f"data_config-{digest_of(config)[:8]}.json"
    FileLedger(work_dir).claim(path).write_text(
        json.dumps(config, indent=2, ensure_ascii=False), "utf-8"
    )
    return {name: (f"{path}#{name}", name) for name in plain}


def _model(name: str, flags: argparse.Namespace) -> Pair:
    """A model as assay names it: of a registered file `file.py:name`, at an endpoint `openai/name`."""
    reference = name if is_reference(name) else registered_model(name, flags.register)
    if reference is None:
        is_known = name in registry or name in CATALOGUE or name.endswith(".gguf")
        scheme, slash, _ = name.partition("/")
        if is_known or (
            slash and scheme in registry and not (flags.base_url and scheme != "openai")
        ):
            reference = name
        elif flags.base_url:
            reference = f"openai/{name}"
        else:
            names = [*supported_VLM, *registry.names(), *CATALOGUE]
            raise UnknownName(
                "model",
                name,
                names,
                where="--model",
                hint=f"{HINT}, --base-url URL the endpoint",
            )
    return Pair(reference, model_label(name))


def _built_with(model: Pair, flags: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a model's class: those of the config, and the flags it has a parameter for."""
    args = dict(model.model_args)
    if not flags.use_vllm and flags.retry is None:
        return args
    accepted: tuple[str, ...] = ()
    if is_reference(model.model):
        path, attribute = split_reference(model.model)
        kind: Any = getattr(
            load_guest(path), attribute or "", None
        ) or supported_VLM.get(attribute or "")
        kind = getattr(kind, "func", kind)
        accepted = parameters_of(kind) if isinstance(kind, type) else ()
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
