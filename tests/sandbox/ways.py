"""The ways in which this machine runs programs: every tier that passes its self-test, with and without forks."""

from dataclasses import replace
from functools import cache

from assay.sandbox import Tier, choose
from assay.sandbox.fork_server import has_forks

STARTED = ", started"
"""Of a tier that forks: with a sandbox started for each execution."""


def way(name: str) -> Tier | None:
    """The tier of that name, as it is tried."""
    tier = choose(name.removesuffix(STARTED)).tier
    return (
        replace(tier, forks=False)
        if name.endswith(STARTED) and has_forks(tier)
        else tier
    )


@cache
def ways() -> dict[str, Tier]:
    """All that hold here, the usual one first."""
    found: dict[str, Tier] = {}
    for name in ("bubblewrap", "landlock"):
        if (tier := way(name)) is not None:
            found[name] = tier
            if has_forks(tier):
                found[name + STARTED] = replace(tier, forks=False)
    return found
