"""Guest files: loaded once with `ulmeval` importable in them, and what they define.

A file cut out of ULMEvalKit's own tree (`from .text_base import …`, `from ..smp import *`) finds the same names.
"""

from pathlib import Path
from typing import Any

from ...code.sources import digest_behind
from ...core import UnknownName, UsageError
from ..guest import Guest
from .claims import NAMES
from .facade.config import supported_ULM
from .facade.dataset import ImageBaseDataset, TextBaseDataset
from .models import is_model_class

_loaded: dict[tuple[Path, str, bool], "GuestFile"] = {}


class GuestFile:
    """A loaded file: its dataset classes, its model classes, and the models it registered by name."""

    def __init__(self, path: Path, guest: Guest) -> None:
        self.path = path
        before = dict(supported_ULM)
        self.module = guest.load(path)
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

    A module of the user's called `ulmeval` that has nothing of ULMEvalKit in it is hidden by ours only with `force`.
    """
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError("no such file", where=str(path))
    guest = Guest.of_file("ulmeval", NAMES, file, force=force)
    key = (file, digest_behind(file, libraries=False), force)
    if key not in _loaded:
        _loaded[key] = GuestFile(file, guest)
    return _loaded[key]
