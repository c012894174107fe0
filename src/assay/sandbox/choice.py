"""Which tier this machine has: the best one that a self-test accepts, and why no better one."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from ..core import UsageError
from .box import Tier
from .bubblewrap import Bubblewrap, find_bubblewraps
from .landlock import Landlock, Unconfined
from .running import SandboxError
from .selftest import why_not

TIERS = ("bubblewrap", "landlock", "none")
FIX = "pip install 'assay[sandbox]'; `assay doctor` says what each tier lacks"


@dataclass(frozen=True)
class Choice:
    """A tier, or none, with the reasons against those that were refused."""

    tier: Tier | None
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def reasons(self) -> str:
        """Why each better tier was refused, in one line."""
        return "; ".join(f"{name}: {why}" for name, why in self.refused)


_known: dict[str, Choice] = {}
_choosing = threading.Lock()


def choose(wanted: str = "auto") -> Choice:
    """The best tier (`auto`), or the named one; tried once in each process. `none` is never chosen by itself."""
    with _choosing:
        if wanted not in _known:
            _known[wanted] = _choose(wanted)
        return _known[wanted]


def best_tier(wanted: str = "auto") -> Tier:
    """The tier, where one holds."""
    choice = choose(wanted)
    if choice.tier is None:
        raise SandboxError(f"no sandbox holds on this machine ({choice.reasons})", fix=FIX)
    return choice.tier


def _choose(wanted: str) -> Choice:
    if wanted not in ("auto", *TIERS):
        raise UsageError(f"there is no sandbox tier {wanted!r}", fix=f"auto, {', '.join(TIERS)}")
    if wanted == "none":
        return Choice(Unconfined())
    refused: list[tuple[str, str]] = []
    for name in TIERS[:-1] if wanted == "auto" else (wanted,):
        there = False
        for tier in _candidates(name):
            there = True
            if not (why := why_not(tier)):
                return Choice(tier, tuple(refused))
            refused.append((name, why))
        if not there:
            refused.append((name, _MISSING[name]))
    return Choice(None, tuple(refused))


_MISSING = {
    "bubblewrap": "bwrap is not installed",
    "landlock": "no Landlock",
}


def _candidates(name: str) -> Iterator[Tier]:
    if name == "bubblewrap":
        yield from map(Bubblewrap, find_bubblewraps())
    elif name == "landlock":
        yield Landlock()
