"""Which rule a dialect's names follow where the correct rule and upstream's differ: ours, or upstream's own.

Ours is the default. `enable(NAME, protocol="upstream")`, `assay python --upstream` and the `--upstream` of a dialect's
command choose upstream's for the rest of the process; a facade asks `is_upstream(NAME)` at the place where they differ.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ..core import UsageError

OURS = "assay"
UPSTREAM = "upstream"

_upstream: set[str] = set()


def choose(dialect: str, protocol: str) -> None:
    """Sets the rule of one dialect for this process; replicas and workers get it with their start."""
    if protocol not in (OURS, UPSTREAM):
        raise UsageError(f"unknown protocol {protocol!r}", fix=f"protocol={OURS!r} or protocol={UPSTREAM!r}")
    if protocol == UPSTREAM:
        _upstream.add(dialect)
    else:
        _upstream.discard(dialect)


def is_upstream(dialect: str) -> bool:
    """Whether this dialect follows upstream's rule where ours differs."""
    return dialect in _upstream


@contextmanager
def following(dialect: str, protocol: str) -> Iterator[None]:
    """While this holds, a dialect follows a rule: what is built then keeps it."""
    before = is_upstream(dialect)
    choose(dialect, protocol)
    try:
        yield
    finally:
        choose(dialect, UPSTREAM if before else OURS)
