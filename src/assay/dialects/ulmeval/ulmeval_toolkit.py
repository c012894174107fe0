"""Describe ULMEvalKit to the modules shared with VLMEvalKit, and read the entries of its JSON configs."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..kits.toolkit import Toolkit, UserFile, find_class
from ..shapes import Fields
from .claims import NAMES
from .drawing_datasets import DATASET_CLASSES, ImageBaseDataset, TextBaseDataset
from .drawing_models import BaseAPI, BaseModel, OpenAIWrapper, supported_ULM
from .ulmeval_models import GuestApi, GuestModel, is_model_class


def is_dataset_class(kind: type) -> bool:
    """Return True if a class derives from one of ULMEvalKit's base classes for datasets."""
    return issubclass(kind, (TextBaseDataset, ImageBaseDataset))


def named_datasets(file: UserFile) -> list[tuple[Any, str]]:
    """Return a (class, dataset name) pair for each dataset that the classes in a file declare."""
    classes: list[Any] = file.datasets
    return [(kind, name) for kind in classes for name in kind.supported_datasets()]


TOOLKIT = Toolkit(
    package="ulmeval",
    names=NAMES,
    models=supported_ULM,
    is_dataset=is_dataset_class,
    is_model=is_model_class,
    model_class=GuestModel,
    api_class=GuestApi,
    named_datasets=named_datasets,
    model_folders=("ulm", "api"),
    own_dataset_files=frozenset({"image_base.py", "text_base.py"}),
)


def configured_model(
    name: str,
    entry: Fields,
    files: Sequence[UserFile],
    where: str,
) -> tuple[Any, Fields, Path | None]:
    """Return the class or factory of a model in a config, its arguments, and the user's file (None if built in)."""
    settings = dict(entry)
    class_name = settings.pop("class", None)
    if class_name is None:
        factory, path = find_class(
            "model",
            name,
            supported_ULM,
            files,
            lambda file: file.registered,
            f"{where}, key `model`",
        )
    else:
        shipped = {kind.__name__: kind for kind in (BaseAPI, BaseModel, OpenAIWrapper)}
        factory, path = find_class(
            "model class",
            class_name,
            shipped,
            files,
            lambda file: file.models,
            f"{where}, key `model.{name}.class`",
        )
    return factory, settings, path


def configured_dataset(
    name: str,
    entry: Fields,
    files: Sequence[UserFile],
    where: str,
) -> tuple[Any, str, Fields]:
    """Return the class of a dataset in a config, the dataset's name, and the remaining arguments.

    Arguments that the class's constructor does not accept are left out.
    """
    settings = dict(entry)
    class_name = settings.pop("class", None)
    if class_name is None:
        class_name = _class_that_knows(name, files)
    kind, _ = find_class(
        "dataset class",
        class_name,
        {cls.__name__: cls for cls in DATASET_CLASSES},
        files,
        lambda file: {cls.__name__: cls for cls in file.datasets},
        f"{where}, key `data.{name}`",
    )
    dataset = str(settings.pop("dataset", name))
    accepted = inspect.signature(kind).parameters
    arguments = {key: value for key, value in settings.items() if key in accepted}
    return kind, dataset, arguments


def _class_that_knows(
    name: str,
    files: Sequence[UserFile],
) -> str:
    """Return the name of the class that declares a dataset. If none does, return the dataset's name unchanged."""
    classes: list[Any] = [kind for file in files for kind in file.datasets]
    for kind in [*classes, *DATASET_CLASSES]:
        if name in kind.supported_datasets():
            return str(kind.__name__)
    return name
