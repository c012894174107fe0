"""Modules that combine assay's replacement of a toolkit's module with the original, which provides all other names.

Only a toolkit's own files see libraries with some names replaced by assay's. A
dialect's `claims.LIBRARIES` lists the modules with the replacements; for example
`datasets.load_dataset` runs loading scripts.
"""

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .shapes import Fields
from .source_names import module_exists

if TYPE_CHECKING:
    from .guest import Guest

STANDS_IN = "STANDS_IN"
"""A module of assay with this attribute is only a fallback: the toolkit's own file is used if it exists."""

Find = Callable[[str], Any]
"""A function that returns the value of a name in the original module, or raises `AttributeError`."""


class Overlay(ModuleType):
    """A module with assay's names and, for all other names, those of the original. The original is run when needed."""

    def __init__(
        self,
        name: str,
        ours: ModuleType | None,
        find: Find,
    ) -> None:
        if ours is None:
            super().__init__(name)
            scope = {}
        else:
            super().__init__(name, ours.__doc__)
            scope = vars(ours)
        names = {}
        for key, value in scope.items():
            if not key.startswith("__") and not _is_child(ours, value):
                names[key] = value
        self.__dict__.update(
            names,
            _ours=ours,
            _find=find,
            _kept=tuple(names),
        )

    def __getattr__(self, attribute: str) -> object:
        scope = self.__dict__
        if attribute == "__all__":
            return self.own_names()
        ours = scope.get("_ours")
        if not attribute.startswith("__") and ours is not None:
            value = getattr(
                ours,
                attribute,
                scope,
            )  # The scope serves as a default value that no module contains.
            if value is not scope and not _is_child(ours, value):
                return value
        if attribute.startswith("__") or "_find" not in scope:
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {attribute!r}"
            )
        value = scope["_find"](attribute)
        setattr(self, attribute, value)
        return value

    def __setattr__(self, attribute: str, value: object) -> None:
        """Set a name here. If assay's module defines it, set it there too, where assay's functions look it up."""
        super().__setattr__(attribute, value)
        ours = self.__dict__.get("_ours")
        if (
            ours is not None
            and ours.__name__.startswith("assay.")
            and attribute in self.__dict__["_kept"]
        ):
            setattr(ours, attribute, value)

    def own_names(self) -> list[str]:
        """Return the public names of assay's module, without those of the original."""
        ours = self.__dict__["_ours"]
        declared = getattr(ours, "__all__", None)
        if declared is not None:
            return list(declared)
        return [n for n in self.__dict__["_kept"] if not n.startswith("_")]


class Part(ModuleType):
    """A view of a module of assay with only those names that the toolkit's module also has.

    It supports names that the module creates on access, in its `__getattr__`.
    """

    def __init__(
        self,
        module: ModuleType,
        names: Sequence[str],
    ) -> None:
        super().__init__(module.__name__, module.__doc__)
        there = {name: vars(module)[name] for name in names if name in vars(module)}
        public = [name for name in names if name != STANDS_IN]
        self.__dict__.update(
            there,
            __all__=public,
            _module=module,
        )

    def __getattr__(self, name: str) -> object:
        scope = self.__dict__
        if name in scope.get("__all__", ()):
            return getattr(scope["_module"], name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute here and, if it is one of the shared names, also in assay's module."""
        super().__setattr__(name, value)
        if name in self.__dict__["__all__"]:
            setattr(self.__dict__["_module"], name, value)


def _is_child(
    ours: ModuleType | None,
    value: object,
) -> bool:
    """Return True if a value is a submodule of assay's module. The toolkit's submodule takes precedence."""
    return (
        ours is not None
        and isinstance(value, ModuleType)
        and value.__name__.startswith(f"{ours.__name__}.")
    )


def with_names(module: ModuleType, names: Fields) -> ModuleType:
    """Return a copy of a library's module in which some names are replaced, for the toolkit's files only."""

    def find(attribute: str) -> object:
        return getattr(importlib.import_module(module.__name__), attribute)

    replaced = Overlay(module.__name__, module, find)
    replaced.__dict__.update(names)
    return replaced


def stands_for(
    name: str,
    names: Mapping[str, str],
) -> str | None:
    """Return the module of assay that replaces a toolkit's module; `None` if none does.

    The longest known prefix of `name` decides. `module: name name …` means that assay
    replaces only these names.
    """
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        real = names.get(".".join(parts[:size]))
        if real is None:
            continue
        inner = parts[size:]
        if inner and ":" in real:
            return None
        return ".".join([real, *inner])
    return None


def replacement(
    real: str | None,
    guest: "Guest | None" = None,
) -> ModuleType | None:
    """Import the module of assay that `stands_for` returned. Return `None` if it does not exist.

    For `module: name name …`, return a view with only these names. Some names depend on
    the loader of the user's files, such as a registry. They are created for `guest`.
    """
    if real is None:
        return None
    name, _, part = real.partition(":")
    if not module_exists(name):
        return None
    whole = importlib.import_module(name)
    parts = part.split()
    module = Part(whole, parts) if parts else whole
    if guest is None or not hasattr(whole, "names_for"):
        return module
    of_guest = whole.names_for(guest)
    if parts:
        of_guest = {key: of_guest[key] for key in of_guest if key in parts}
    return with_names(module, of_guest)


class Libraries:
    """The libraries in which assay replaces names for one toolkit. Each module is created when it is first imported."""

    def __init__(self, dialect: str) -> None:
        self._sources: dict[str, str] = {}
        for part in dialect.split("+"):
            claims = f"{__package__}.{part}.claims"
            if (
                part.isidentifier()
                and importlib.util.find_spec(f"{__package__}.{part}") is not None
            ):
                declared: Mapping[str, str] = getattr(
                    importlib.import_module(claims),
                    "LIBRARIES",
                    {},
                )
                self._sources.update(declared)
        self._made: dict[str, ModuleType] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def of(self, name: str) -> ModuleType:
        """Return a library's module with assay's replacements in it. Raise `ImportError` if it is not installed."""
        if name not in self._made:
            real = importlib.import_module(name)
            self._made[name] = with_names(
                real, importlib.import_module(self._sources[name]).NAMES
            )
        return self._made[name]
