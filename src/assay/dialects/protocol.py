"""Which rule a dialect's names follow where the correct rule and upstream's differ: ours, or upstream's own.

Ours is the default. `enable(NAME, protocol="upstream")`, `assay python --upstream` and the `--upstream` of a dialect's
command choose upstream's for the rest of the process; a facade asks `is_upstream(NAME)` at the place where they differ.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ..core import EMPTY, UsageError

OURS = "assay"
UPSTREAM = "upstream"
DOCUMENTED = "upstream@documented"
"""Upstream's rules of the revision that its how-to document describes, where that is not the newest."""

_upstream: dict[str, str] = {}
_here: ContextVar[Mapping[str, str]] = ContextVar("protocols", default=EMPTY)
"""Rules that hold for one piece of work only, over those of the process."""


def choose(dialect: str, protocol: str) -> None:
    """Sets the rule of one dialect for this process; replicas and workers get it with their start."""
    if protocol not in (OURS, UPSTREAM, DOCUMENTED):
        raise UsageError(
            f"unknown protocol {protocol!r}",
            fix=f"protocol={OURS!r} or protocol={UPSTREAM!r}",
        )
    _upstream.pop(dialect, None)
    if protocol != OURS:
        _upstream[dialect] = protocol


def is_upstream(dialect: str) -> bool:
    """Whether this dialect follows upstream's rule where ours differs."""
    here = _here.get().get(dialect)
    return dialect in _upstream if here is None else here != OURS


def is_documented(dialect: str) -> bool:
    """Whether the rules are to be those of the documented revision."""
    return _here.get().get(dialect, _upstream.get(dialect)) == DOCUMENTED


@contextmanager
def following(dialect: str, protocol: str) -> Iterator[None]:
    """While this holds, a dialect follows a rule in this thread or task, whatever the process chose."""
    token = _here.set({**_here.get(), dialect: protocol})
    try:
        yield
    finally:
        _here.reset(token)
