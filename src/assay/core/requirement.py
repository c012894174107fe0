"""Requirements: libraries that a scorer cannot do without, declared so that the plan finds what is missing."""

import importlib.util
from dataclasses import dataclass

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
