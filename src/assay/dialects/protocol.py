"""Choose between assay's rule and upstream's own rule for a dialect, where the two differ.

assay's rule is the default. `enable(NAME, protocol="upstream")`, `assay python --upstream` and the `--upstream` of
a dialect's command choose upstream's for the rest of the process. A facade calls `is_upstream(NAME)` where the
rules differ.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ..core import EMPTY, UsageError

OURS = "assay"
UPSTREAM = "upstream"
DOCUMENTED = "upstream@documented"
"""Upstream's rules in the revision that its how-to document describes, if that is not the newest."""

_upstream: dict[str, str] = {}
_here: ContextVar[Mapping[str, str]] = ContextVar("protocols", default=EMPTY)
"""Rules for the current piece of work, which override those of the process."""


def choose(dialect: str, protocol: str) -> None:
    """Set the rule of one dialect for this process. Replicas and workers receive it when they start."""
    if protocol not in (OURS, UPSTREAM, DOCUMENTED):
        raise UsageError(
            f"unknown protocol {protocol!r}",
            fix=f"protocol={OURS!r} or protocol={UPSTREAM!r}",
        )
    _upstream.pop(dialect, None)
    if protocol != OURS:
        _upstream[dialect] = protocol


def is_upstream(dialect: str) -> bool:
    """Return True if this dialect follows upstream's rule where assay's differs."""
    here = _here.get().get(dialect)
    if here is None:
        return dialect in _upstream
    return here != OURS


def error_of_rule(
    dialect: str,
    error: Exception,
    upstreams: type[Exception],
) -> Exception:
    """Return an error; if the dialect follows upstream's rule, as the exception that upstream raises for it."""
    if is_upstream(dialect):
        return upstreams(str(error))
    return error


def is_documented(dialect: str) -> bool:
    """Return True if the rules are those of the documented revision."""
    return _here.get().get(dialect, _upstream.get(dialect)) == DOCUMENTED


@contextmanager
def following(dialect: str, protocol: str) -> Iterator[None]:
    """Let a dialect follow a rule in this thread or task while the context is active."""
    token = _here.set({**_here.get(), dialect: protocol})
    try:
        yield
    finally:
        _here.reset(token)
