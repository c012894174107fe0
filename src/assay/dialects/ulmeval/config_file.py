"""`--config`: models and datasets of a run as JSON, `{"model": {name: {"class": C, …}}, "data": {name: {…}}}`.

Classes are looked up in the guest files that were registered, then among those of the dialect.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import UnknownName
from ..kits.guest_files import HINT
from ..kits.guest_files import read_config as read_members
from .facade import api, ulm
from .facade import dataset as datasets
from .facade.config import supported_ULM
from .loading import GuestFile, load_guest


@dataclass(frozen=True, slots=True)
class Config:
    """What a config file names, resolved."""

    models: Mapping[str, tuple[Any, Mapping[str, Any], Path | None]]
    """By name: a factory, its options, and the file it comes from."""
    data: Mapping[str, tuple[type, str, Mapping[str, Any]]]
    """By name: a dataset class, the name it is built with, and its further options."""


def read_config(path: Path, register: Sequence[str]) -> Config:
    """The models and datasets of a config file; a name that nobody knows is an error with the nearest."""
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
    wanted = settings.pop("class", None)
    registered = {
        key: (factory, guest.path)
        for guest in guests
        for key, factory in guest.registered.items()
    }
    if wanted is None:
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
    classes: dict[str, tuple[Any, Path | None]] = {
        n: (getattr(m, n), None) for m in (api, ulm) for n in m.__all__
    }
    classes |= {
        key: (factory, guest.path)
        for guest in guests
        for key, factory in guest.models.items()
    }
    if wanted not in classes:
        raise UnknownName(
            "model class",
            str(wanted),
            classes,
            where=f"{path}, key `model.{name}.class`",
            hint=HINT,
        )
    return classes[wanted][0], settings, classes[wanted][1]


def _dataset(
    name: str, entry: Any, guests: Sequence[GuestFile], path: Path
) -> tuple[type, str, Mapping[str, Any]]:
    settings = dict(entry)
    wanted = settings.pop("class", None)
    classes = {cls.__name__: cls for guest in guests for cls in guest.datasets}
    classes |= {cls.__name__: cls for cls in datasets.DATASET_CLASSES}
    if wanted is None:
        found = next(
            (cls for cls in classes.values() if name in cls.supported_datasets()), None
        )  # type: ignore[attr-defined]
    else:
        found = classes.get(wanted)
    if found is None:
        where = f"{path}, key `data.{name}{'.class' if wanted else ''}`"
        raise UnknownName(
            "dataset class", str(wanted or name), classes, where=where, hint=HINT
        )
    dataset = str(settings.pop("dataset", name))
    accepted = inspect.signature(found).parameters
    return (
        found,
        dataset,
        {key: value for key, value in settings.items() if key in accepted},
    )
