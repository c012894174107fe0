"""Overlay: a module of ours over the user's or upstream's of the same name, which answers for what ours lacks."""

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Find = Callable[[str], Any]
"""The value of a name of theirs; raises `AttributeError`."""


class Overlay(ModuleType):
    """Ours first, theirs for the rest; theirs is run only when something of it is asked for."""

    def __init__(self, name: str, ours: ModuleType | None, find: Find) -> None:
        super().__init__(name, ours.__doc__ if ours is not None else None)
        scope = vars(ours) if ours is not None else {}
        names = {
            key: value
            for key, value in scope.items()
            if not key.startswith("__") and not _is_child(ours, value)
        }
        self.__dict__.update(names, _ours=ours, _find=find, _kept=tuple(names))

    def __getattr__(self, attribute: str) -> Any:
        scope = self.__dict__
        if attribute == "__all__":
            return self.own_names()
        ours = scope.get("_ours")
        if not attribute.startswith("__") and ours is not None:
            value = getattr(ours, attribute, scope)  # scope: a value that no module has
            if value is not scope and not _is_child(ours, value):
                return value
        if attribute.startswith("__") or "_find" not in scope:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {attribute!r}"
            )
        value = scope["_find"](attribute)
        setattr(self, attribute, value)
        return value

    def __setattr__(self, attribute: str, value: Any) -> None:
        """A name of ours that a guest replaces is replaced where our own functions look it up."""
        super().__setattr__(attribute, value)
        ours = self.__dict__.get("_ours")
        if (
            ours is not None
            and ours.__name__.startswith("assay.")
            and attribute in self.__dict__["_kept"]
        ):
            setattr(ours, attribute, value)

    def own_names(self) -> list[str]:
        """The public names of ours."""
        ours = self.__dict__["_ours"]
        declared = getattr(ours, "__all__", None)
        return (
            list(declared)
            if declared is not None
            else [n for n in self.__dict__["_kept"] if not n.startswith("_")]
        )


def _is_child(ours: ModuleType | None, value: Any) -> bool:
    """Whether a value is a module inside ours: the guest has one of its own under that name."""
    return (
        ours is not None
        and isinstance(value, ModuleType)
        and value.__name__.startswith(f"{ours.__name__}.")
    )


def with_names(module: ModuleType, names: Mapping[str, Any]) -> ModuleType:
    """A library's module with some of its names replaced, for guests alone."""

    def find(attribute: str) -> Any:
        return getattr(importlib.import_module(module.__name__), attribute)

    replaced = Overlay(module.__name__, module, find)
    replaced.__dict__.update(names)
    return replaced
