"""Guest files: loaded once with `ulmeval` importable in them, and what they define.

A file cut out of ULMEvalKit's own tree (`from .text_base import …`, `from ..smp import *`) finds the same names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...code.userfiles import split_reference
from ...core import Model, UnknownName
from ..guest import Guest
from ..kits.guest_files import load_once, own_classes
from .claims import NAMES
from .facade.config import supported_ULM
from .facade.dataset import ImageBaseDataset, TextBaseDataset
from .models import adapt, is_model_class


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
        """A model class or factory by name; without a name the only one there is; `None` if there is none."""
        found = {**self.models, **self.registered}
        if name is None:
            chosen = self.registered or self.models
            return next(iter(chosen.items())) if len(chosen) == 1 else None
        if name in found:
            return name, found[name]
        thing = getattr(self.module, name, None)
        if thing is None and found:
            raise UnknownName(
                "model",
                name,
                found,
                where=str(self.path),
                hint=f"it has {', '.join(found)}",
            )
        return (name, thing) if is_model_class(thing) else None


def load_guest(path: str | Path, *, force: bool = False) -> GuestFile:
    """The file, loaded once; a file that changed since is loaded again.

    A module of the user's called `ulmeval` that has nothing of ULMEvalKit in it is hidden by ours only with `force`.
    """
    return load_once("ulmeval", NAMES, path, GuestFile, force=force)


def model_of(reference: str, args: Mapping[str, Any]) -> Model | None:
    """`file.py:Class`, `file.py:registered-name`, or `file.py` with one model in it; `None` if it defines none."""
    path, name = split_reference(reference)
    if not path.endswith(".py"):
        return None
    found = load_guest(path).model(name)
    if found is None:
        return None
    return adapt(found[1], reference, args, Path(path).expanduser())
