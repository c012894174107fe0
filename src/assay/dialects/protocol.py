"""Choose between assay's rules and the original toolkit's own rules, where the two differ.

assay's rules are the default. `enable(NAME, protocol="upstream")`, `assay python --upstream` and the `--upstream`
of a toolkit's command choose the toolkit's own for the rest of the process. Code with a difference asks
`is_upstream(NAME)`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ..core import EMPTY, UsageError

OURS = "assay"
UPSTREAM = "upstream"
DOCUMENTED = "upstream@documented"
"""The toolkit's own rules in the revision that its how-to document describes, if that is not the newest."""

_upstream: dict[str, str] = {}
_here: ContextVar[Mapping[str, str]] = ContextVar("protocols", default=EMPTY)
"""Protocols by toolkit for the current thread or task, which override those of the process."""


def choose(dialect: str, protocol: str) -> None:
    """Set the protocol of one toolkit for this process. Replicas and workers receive it when they start."""
    if protocol not in (OURS, UPSTREAM, DOCUMENTED):
        raise UsageError(
            f"unknown protocol {protocol!r}",
            fix=f"protocol={OURS!r} or protocol={UPSTREAM!r}",
        )
    _upstream.pop(dialect, None)
    if protocol != OURS:
        _upstream[dialect] = protocol


def is_upstream(dialect: str) -> bool:
    """Return True if the toolkit's own rules apply where they differ from assay's."""
    here = _here.get().get(dialect)
    if here is None:
        return dialect in _upstream
    return here != OURS


def error_of_rule(
    dialect: str,
    error: Exception,
    upstreams: type[Exception],
) -> Exception:
    """Return `error`, or under the toolkit's own rules an exception of the type `upstreams` with the same message.

    This is the type that the original toolkit raises.
    """
    if is_upstream(dialect):
        return upstreams(str(error))
    return error


def is_documented(dialect: str) -> bool:
    """Return True if a toolkit's rules are those of the revision that its how-to document describes."""
    return _here.get().get(dialect, _upstream.get(dialect)) == DOCUMENTED


@contextmanager
def following(dialect: str, protocol: str) -> Iterator[None]:
    """Apply a protocol to one toolkit in this thread or task, while the context is active."""
    token = _here.set({**_here.get(), dialect: protocol})
    try:
        yield
    finally:
        _here.reset(token)
