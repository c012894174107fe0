"""Configs: models and datasets of a run as JSON, `{"model": {name: {"class": C, …}}, "data": {name: {…}}}`.

Classes are looked up in the files given by `--register`, then among those of the dialect. A dataset of a config is
known to a run as `config.json#name`, so that it can be scored again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import EMPTY, UnknownName, UsageError
from ...core.request import OPTION_NAMES
from ..file_names import file_name
from ..kits.guest_files import HINT, own_classes
from .facade import dataset as datasets
from .facade.config import supported_VLM
from .loading import load_guest

ENDPOINTS = ("GPT4V", "OpenAIWrapper", "LMDeployAPI")
"""Classes of VLMEvalKit that ask an OpenAI-compatible endpoint: assay has a model of its own for that."""
Entry = tuple[type, str, str | None, Mapping[str, Any]]
"""A dataset of a config: its class, the name it is built with, the user's file that defines it, further arguments."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One model on one dataset."""

    model: str
    label: str
    """What folders and files call the model."""
    model_args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    generation: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    data: str = ""
    """The dataset as a reference that a run can be repeated from; empty as long as only the model is known."""
    name: str = ""
    """What files call the dataset."""


def dataset_entry(
    name: str, entry: Mapping[str, Any], register: Sequence[str], where: str
) -> Entry | None:
    """The dataset a config names; `None` for an empty entry, whose name alone says it."""
    if not entry:
        return None
    settings = dict(entry)
    wanted = settings.pop("class", None)
    if wanted is None:
        raise UsageError(
            "no `class`",
            where=f"{where}, key `data.{name}`",
            fix='{"class": "MyDataset", "dataset": …}',
        )
    classes: dict[str, tuple[type, str | None]] = {
        label: (shipped, None)
        for label in datasets.__all__
        if isinstance(shipped := getattr(datasets, label), type)
    }
    for file in register:
        classes |= {
            kind.__name__: (kind, file) for kind in own_classes(load_guest(file))
        }
    if wanted not in classes:
        raise UnknownName(
            "dataset class",
            str(wanted),
            classes,
            where=f"{where}, key `data.{name}.class`",
            hint=HINT,
        )
    kind, file_of = classes[wanted]
    return kind, str(settings.pop("dataset", name)), file_of, settings


def model_entry(
    name: str, entry: Mapping[str, Any], register: Sequence[str], where: str
) -> Pair:
    """The model a config names, as assay names it, with its options."""
    settings, label = dict(entry), file_name(name, 80)
    wanted = settings.pop("class", None)
    if wanted is None:
        return Pair(registered_model(name, register) or name, label, settings)
    if wanted in ENDPOINTS:
        return _endpoint(name, settings, f"{where}, key `model.{name}`")
    files: dict[str, str] = {}
    for file in register:
        files |= {kind.__name__: file for kind in own_classes(load_guest(file))}
    if wanted not in files:
        names = [*files, *ENDPOINTS]
        raise UnknownName(
            "model class",
            str(wanted),
            names,
            where=f"{where}, key `model.{name}.class`",
            hint=HINT,
        )
    return Pair(f"{files[wanted]}:{wanted}", label, settings)


def registered_model(name: str, register: Sequence[str]) -> str | None:
    """`file.py:name` of a class or a `supported_VLM` name that a registered file defines."""
    for file in register:
        before = set(supported_VLM)
        module = load_guest(file)
        if (
            any(kind.__name__ == name for kind in own_classes(module))
            or name in set(supported_VLM) - before
        ):
            return f"{file}:{name}"
    return f"{register[-1]}:{name}" if name in supported_VLM and register else None


def _endpoint(name: str, settings: dict[str, Any], where: str) -> Pair:
    """A class of VLMEvalKit that asks an endpoint, as assay's own model of one."""
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
    for idle in ("retry", "wait", "verbose"):
        settings.pop(idle, None)
    generation = {
        key: settings.pop(key) for key in tuple(settings) if key in OPTION_NAMES
    }
    return Pair(f"openai/{model}", file_name(name, 80), settings, generation)
