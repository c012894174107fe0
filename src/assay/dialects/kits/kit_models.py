"""A user's model class of either toolkit, or a factory of one."""

from pathlib import Path
from typing import Any

from ...code.sources import digest_behind
from ...models.calling import Builder
from ..request_models import RequestModel
from ..shapes import Fields
from .toolkit import class_of


class KitModel(RequestModel):
    """A class, a `partial` of one, or an object that exists already."""

    identity: Fields

    def __init__(
        self,
        target: Any,
        name: str,
        args: Fields,
        file: Path | None,
    ) -> None:
        self.name = name
        self.kind: Any = class_of(target)
        self.source = {
            "file": file.name if file else self.kind.__module__,
            "sha256": digest_behind(file, libraries=False) if file else "",
        }
        """The user's file and its digest, for the identity of the model."""
        self._builder = Builder(target, args, name)
        if not callable(target):
            self._builder.built = target

    def build(self) -> Any:
        """Return the user's object, built on first use."""
        self.built = self._builder.build()
        return self.built
