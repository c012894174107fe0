"""What became of one extension file of a checkout."""

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """How far a file came, best first."""

    RUNS = "runs to a number"
    LOADS = "loads"
    PACKAGE = "needs a package"
    NETWORK = "needs the network"
    FAILS = "fails"


@dataclass(frozen=True)
class Outcome:
    """One file, class or registry entry, and how far it came."""

    kind: str
    """Such as `dataset`, `model`, `API`, `task`."""
    name: str
    state: State
    detail: str = ""
    """The package, the address or the error's one line; the number where it ran to one."""
