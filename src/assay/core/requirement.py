"""Libraries that a scorer needs, declared so that missing ones are reported before the run."""

import importlib.util
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from .errors import MissingExtra


@dataclass(frozen=True, slots=True)
class Requirement:
    """A library that a scorer needs, by its import name."""

    package: str
    feature: str
    """Name and purpose of the library, for messages."""
    pip: str
    """Arguments of `pip install`."""

    def check(self, where: str | None = None) -> None:
        """Raise `MissingExtra` if the library is not installed. The library is not imported."""
        try:
            spec = importlib.util.find_spec(self.package)
        except (ImportError, ValueError):  # hidden, or a stub without a spec
            spec = None
        if spec is None:
            raise MissingExtra(self.feature, self.pip, where=where)

    def library(self, module: str, where: str) -> ModuleType:
        """Import and return a module of the library."""
        return library(module, self.feature, self.pip, where=where)


def library(
    module: str,
    feature: str,
    pip: str,
    *,
    where: str | None = None,
) -> ModuleType:
    """Import a module of an optional library. Raise `MissingExtra` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(feature, pip, where=where) from error
