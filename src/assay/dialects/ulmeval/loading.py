"""Guest files: loaded once with `ulmeval` importable in them, and what they define.

A file cut out of ULMEvalKit's own tree (`from .text_base import …`, `from ..smp import *`) finds the same names.
"""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core import UnknownName, UsageError
from ...sources import digest_behind
from ..guest import Guest, module_exists
from .claims import NAMES
from .facade.config import supported_ULM
from .facade.dataset import ImageBaseDataset, TextBaseDataset
from .models import is_model_class

FOLDERS = ("dataset", "ulm", "api")
"""Where in ULMEvalKit's tree a user's file may have lain."""

_loaded: dict[tuple[Path, str, bool], "GuestFile"] = {}


class UlmGuest(Guest):
    """A guest whose relative imports lead into ULMEvalKit's tree."""

    def _import(
        self,
        name: str,
        scope: Mapping[str, Any] | None = None,
        local: Mapping[str, Any] | None = None,
        wanted: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level and (scope or {}).get("__builtins__") is self._builtins:
            facade = NAMES["ulmeval"]
            places = [facade] if level > 1 else [f"{facade}.{folder}" for folder in FOLDERS]
            for place in places:
                real = f"{place}.{name}" if name else place
                if module_exists(real):
                    module = importlib.import_module(real)
                    for attribute in wanted or ():
                        if attribute != "*" and not hasattr(module, attribute):
                            raise ImportError(f"the ulmeval dialect has no {attribute!r} in {name!r}", name=name)
                    return module
        return super()._import(name, scope, local, wanted, level)


class GuestFile:
    """A loaded file: its dataset classes, its model classes, and the models it registered by name."""

    def __init__(self, path: Path, force: bool) -> None:
        self.path = path
        before = dict(supported_ULM)
        self.module = UlmGuest("ulmeval", NAMES, path.parent, force=force).load(path)
        own = [thing for thing in vars(self.module).values() if self._is_own(thing)]
        self.datasets: list[type] = [t for t in own if issubclass(t, (TextBaseDataset, ImageBaseDataset))]
        self.models: dict[str, Any] = {t.__name__: t for t in own if t not in self.datasets and is_model_class(t)}
        self.registered = {name: made for name, made in supported_ULM.items() if before.get(name) is not made}

    def _is_own(self, thing: Any) -> bool:
        return isinstance(thing, type) and thing.__module__ == self.module.__name__

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
            raise UnknownName("model", name, found, where=str(self.path), hint=f"it has {', '.join(found)}")
        return (name, thing) if is_model_class(thing) else None


def load_guest(path: str | Path, *, force: bool = False) -> GuestFile:
    """The file, loaded once; a file that changed since is loaded again.

    A package `ulmeval` that is really installed, or lies beside the file, is used instead of ours unless `force`.
    """
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError("no such file", where=str(path))
    key = (file, digest_behind(file, libraries=False), force)
    if key not in _loaded:
        _loaded[key] = GuestFile(file, force)
    return _loaded[key]
