"""Requirements: libraries that a scorer cannot do without, declared so that the plan finds what is missing."""

import importlib.util
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .errors import MissingExtra


@dataclass(frozen=True, slots=True)
class Requirement:
    """One library, by the name it is imported under."""

    package: str
    feature: str
    """What it is called in the message."""
    pip: str
    """What follows `pip install`."""

    def check(self, where: str | None = None) -> None:
        """Raises `MissingExtra` where it is not installed; imports nothing."""
        try:
            found = importlib.util.find_spec(self.package)
        except (ImportError, ValueError):  # hidden, or a stand-in without a spec
            found = None
        if found is None:
            raise MissingExtra(self.feature, self.pip, where=where)

    def library(self, module: str, where: str) -> Any:
        """A module of the library, imported now."""
        return library(module, self.feature, self.pip, where=where)


def library(module: str, feature: str, pip: str, *, where: str | None = None) -> Any:
    """A module of a library that assay does not bring along; `MissingExtra` where it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(feature, pip, where=where) from error
