"""Choose between assay's rules and the original toolkit's rules, where the two differ.

assay's rules are the default. `enable(NAME, protocol="upstream")`, `assay python
--upstream` and the `--upstream` of a toolkit's command select the toolkit's rules for
the rest of the process. Code that depends on the choice calls `is_upstream(NAME)`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ..core import EMPTY, UsageError

OURS = "assay"
UPSTREAM = "upstream"
DOCUMENTED = "upstream@documented"
"""Protocol id of the rules in a toolkit's how-to document, which may describe an older revision than the newest."""

_upstream: dict[str, str] = {}
_here: ContextVar[Mapping[str, str]] = ContextVar("protocols", default=EMPTY)
"""Protocols by toolkit that apply in the current thread or asyncio task, and override those of the process."""


def choose(dialect: str, protocol: str) -> None:
    """Set the protocol of one toolkit for this process. Worker processes receive it when they start."""
    if protocol not in (OURS, UPSTREAM, DOCUMENTED):
        raise UsageError(
            f"unknown protocol {protocol!r}",
            fix=f"protocol={OURS!r} or protocol={UPSTREAM!r}",
        )
    _upstream.pop(dialect, None)
    if protocol != OURS:
        _upstream[dialect] = protocol


def is_upstream(dialect: str) -> bool:
    """Return True if the toolkit's own rules were chosen."""
    here = _here.get().get(dialect)
    if here is None:
        return dialect in _upstream
    return here != OURS


def error_of_rule(
    dialect: str,
    error: Exception,
    upstreams: type[Exception],
) -> Exception:
    """Return `error`. Under the toolkit's rules, return an exception of type `upstreams` with the same message.

    `upstreams` is the type that the original toolkit raises.
    """
    if is_upstream(dialect):
        return upstreams(str(error))
    return error


def is_documented(dialect: str) -> bool:
    """Return True if a toolkit's rules are those of the revision that its how-to document describes."""
    return _here.get().get(dialect, _upstream.get(dialect)) == DOCUMENTED


@contextmanager
def following(dialect: str, protocol: str) -> Iterator[None]:
    """Apply a protocol to one toolkit inside the block, only in this thread or asyncio task."""
    token = _here.set({**_here.get(), dialect: protocol})
    try:
        yield
    finally:
        _here.reset(token)
