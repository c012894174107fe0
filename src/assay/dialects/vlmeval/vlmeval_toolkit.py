"""Describe VLMEvalKit to the modules shared with ULMEvalKit, with the registry to which user files add models."""

import inspect
from collections.abc import Callable
from functools import partial as partial
from pathlib import Path
from typing import Any

from ..kits.toolkit import Toolkit
from .claims import NAMES
from .vlmeval_classes import is_dataset_class, named_datasets
from .vlmeval_models import GuestApiModel, GuestModel, is_model_class

OWN_DATASET_FILES = frozenset(
    f"{name.rpartition('.')[2]}.py"
    for name in NAMES
    if name.startswith("vlmeval.dataset.") and "utils" not in name
)


class SupportedModels(dict[str, Callable[[], Any]]):
    """Functions that create a model, by name.

    A name that is not registered is looked up in the checkout, if there is one.
    """

    def __missing__(self, name: str) -> Callable[[], Any]:
        factory = TOOLKIT.model_of_checkout(name)
        if factory is None:
            raise KeyError(name)
        return factory


supported_VLM: dict[str, Callable[[], Any]] = SupportedModels()
"""Functions without arguments that create a model, by name. User files add them: `partial(MyModel, path=…)`."""
api_models: dict[str, Callable[[], Any]] = {}
"""Models behind an API, in VLMEvalKit's separate list. assay looks up names only in `supported_VLM`."""
TOOLKIT = Toolkit(
    package="vlmeval",
    names=NAMES,
    models=supported_VLM,
    is_dataset=is_dataset_class,
    is_model=is_model_class,
    model_class=GuestModel,
    api_class=GuestApiModel,
    named_datasets=named_datasets,
    model_folders=("vlm", "api"),
    own_dataset_files=OWN_DATASET_FILES,
)


def upstream_base(kind: type) -> type | None:
    """Return VLMEvalKit's own `ImageBaseDataset`, or None.

    It is taken from the checkout around the class's file or the working folder, or from
    the installed package.
    """
    file = inspect.getsourcefile(kind)
    folders = [None] if file is None else [Path(file).parent, None]
    for folder in folders:
        checkout = TOOLKIT.checkout(folder)
        if checkout is not None:
            source = checkout.dataset_folder / "image_base.py"
            base: type = TOOLKIT.load(source).member("ImageBaseDataset")
            return base
    return None
