"""Load users' files once, with `ulmeval` importable, and list what they define; also the entries of a JSON config.

A file copied from ULMEvalKit's own tree (`from .text_base import …`, `from ..smp import *`) finds the same names.
Classes of a config are looked up in the registered user files, then among ULMEvalKit's.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...code.userfiles import split_reference
from ...core import Model, UnknownName
from ..guest import Guest
from ..kits.checkout import Toolkit
from ..kits.guest_files import HINT, load_once, own_classes
from ..kits.guest_files import read_config as read_members
from .claims import NAMES
from .drawing_datasets import DATASET_CLASSES, ImageBaseDataset, TextBaseDataset
from .drawing_models import BaseAPI, BaseModel, OpenAIWrapper, supported_ULM
from .models import adapt, is_model_class

OWN_DATASET_FILES = frozenset({"image_base.py", "text_base.py"})


class GuestFile:
    """A loaded file: its dataset classes, its model classes, and the models it registered by name."""

    def __init__(self, guest: Guest, path: Path) -> None:
        self.path = path
        before = dict(supported_ULM)
        self.module = guest.load(path)
        classes = own_classes(self.module)
        self.datasets: list[type] = [
            t for t in classes if issubclass(t, (TextBaseDataset, ImageBaseDataset))
        ]
        self.models: dict[str, Any] = {
            t.__name__: t
            for t in classes
            if t not in self.datasets and is_model_class(t)
        }
        self.registered = {
            name: factory
            for name, factory in supported_ULM.items()
            if before.get(name) is not factory
        }

    def model(self, name: str | None) -> Any:
        """Return a model class or factory by name, or the only one if `name` is None; None if there is none."""
        models = {**self.models, **self.registered}
        if name is None:
            chosen = self.registered or self.models
            return next(iter(chosen.items())) if len(chosen) == 1 else None
        if name in models:
            return name, models[name]
        thing = getattr(self.module, name, None)
        if thing is None and models:
            raise UnknownName(
                "model",
                name,
                models,
                where=str(self.path),
                hint=f"it has {', '.join(models)}",
            )
        return (name, thing) if is_model_class(thing) else None


def load_guest(path: str | Path, *, force: bool = False) -> GuestFile:
    """Load the file once; reload it if it changed.

    A user's module called `ulmeval` that has nothing of ULMEvalKit in it is replaced only with `force`.
    """
    return load_once("ulmeval", NAMES, path, GuestFile, force=force)


def _datasets_of(file: Path) -> list[tuple[type, str]]:
    """Return the dataset classes of a file with the names of their datasets."""
    classes: list[Any] = [*load_guest(file).datasets]
    return [(cls, name) for cls in classes for name in cls.supported_datasets()]


TOOLKIT = Toolkit("ulmeval", ("ulm", "api"), OWN_DATASET_FILES, _datasets_of)


def class_of_checkout(name: str) -> Any:
    """Return the class that the checkout around the working folder has for a dataset, or None."""
    checkout = TOOLKIT.checkout()
    defined = checkout.dataset(name) if checkout is not None else None
    if defined is None:
        return None
    return getattr(load_guest(defined.file).module, defined.cls)


def model_of(reference: str, args: Mapping[str, Any]) -> Model | None:
    """Return the model of `file.py:Class`, `file.py:registered-name`, or `file.py` with one model.

    Return None if the file has none.
    """
    path, name = split_reference(reference)
    if not path.endswith(".py"):
        return None
    definition = load_guest(path).model(name)
    if definition is None:
        return None
    return adapt(definition[1], reference, args, Path(path).expanduser())


@dataclass(frozen=True, slots=True)
class Config:
    """The resolved names of a config file."""

    models: Mapping[str, tuple[Any, Mapping[str, Any], Path | None]]
    """By name: a factory, its options, and the file it comes from."""
    data: Mapping[str, tuple[type, str, Mapping[str, Any]]]
    """By name: a dataset class, the name it is built with, and its further options."""


def read_config(path: Path, register: Sequence[str]) -> Config:
    """Return the models and datasets of a config file; an unknown name is an error that suggests the nearest."""
    plain = read_members(path)
    guests = [load_guest(file, force=True) for file in register]
    return Config(
        {
            name: _model(name, entry, guests, path)
            for name, entry in plain["model"].items()
        },
        {
            name: _dataset(name, entry, guests, path)
            for name, entry in plain["data"].items()
        },
    )


def _model(
    name: str, entry: Any, guests: Sequence[GuestFile], path: Path
) -> tuple[Any, Mapping[str, Any], Path | None]:
    settings = dict(entry)
    class_name = settings.pop("class", None)
    registered = {
        key: (factory, guest.path)
        for guest in guests
        for key, factory in guest.registered.items()
    }
    if class_name is None:
        if name in registered:
            return registered[name][0], settings, registered[name][1]
        if name in supported_ULM:
            return supported_ULM[name], settings, None
        raise UnknownName(
            "model",
            name,
            {*registered, *supported_ULM},
            where=f"{path}, key `model`",
            hint=HINT,
        )
    own_classes: tuple[Any, ...] = (BaseAPI, BaseModel, OpenAIWrapper)
    classes: dict[str, tuple[Any, Path | None]] = {
        cls.__name__: (cls, None) for cls in own_classes
    }
    classes |= {
        key: (factory, guest.path)
        for guest in guests
        for key, factory in guest.models.items()
    }
    if class_name not in classes:
        raise UnknownName(
            "model class",
            str(class_name),
            classes,
            where=f"{path}, key `model.{name}.class`",
            hint=HINT,
        )
    return classes[class_name][0], settings, classes[class_name][1]


def _dataset(
    name: str, entry: Any, guests: Sequence[GuestFile], path: Path
) -> tuple[type, str, Mapping[str, Any]]:
    settings = dict(entry)
    class_name = settings.pop("class", None)
    classes: dict[str, Any] = {
        cls.__name__: cls for guest in guests for cls in guest.datasets
    }
    classes |= {cls.__name__: cls for cls in DATASET_CLASSES}
    if class_name is None:
        dataset_class = next(
            (cls for cls in classes.values() if name in cls.supported_datasets()), None
        )
    else:
        dataset_class = classes.get(class_name)
    if dataset_class is None:
        where = f"{path}, key `data.{name}{'.class' if class_name else ''}`"
        raise UnknownName(
            "dataset class", str(class_name or name), classes, where=where, hint=HINT
        )
    dataset = str(settings.pop("dataset", name))
    accepted = inspect.signature(dataset_class).parameters
    return (
        dataset_class,
        dataset,
        {key: value for key, value in settings.items() if key in accepted},
    )
