"""An estimate: a number with what is known about its error, and whether its interval can be relied on."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Ends = tuple[float, float]
"""The lowest and the highest value a number can have."""
Floats: TypeAlias = "NDArray[np.float64]"
"""An array; its name is quoted, since importing this package must not import numpy."""
FEWEST_UNITS = 12
"""Below this many clusters, or samples without clusters, no method that rests on their spread covers 93.5 % throughout
(docs/development/coverage.md has the figures)."""

RARE_SHARE = 0.3
"""Where one sample or cluster makes more than this share of a number on an open scale, the next such sample may double
it: an error rate with one loop in 100 recordings (docs/development/coverage.md has the figures)."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What the data say about the error of a number: what an interval is made of, and what aggregates need of it."""

    variance: float
    """The square of the standard error, corrected for clusters that weigh much."""
    base: float
    """Samples, were each a trial that counts as much as any other."""
    prior: float = 1.0
    """How many times the variance of right-or-wrong trials is to be feared before any spread was seen."""
    seen: float = 0.0
    """How many samples or clusters the spread rests on: the more unequal their shares in it, the fewer."""
    df: float = 1.0
    """Degrees of freedom of the variance."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with what is known about its error."""

    value: float
    stderr: float | None
    """`None` where it cannot be known: fewer than two samples, or a single cluster. 0 says that no spread was seen,
    not that there is none: an interval, where there is one, has a width all the same."""
    low: float | None
    high: float | None
    n: int
    clusters: int | None
    """How many clusters the samples fall into; `None` where the samples count as independent."""
    method: str
    """How the interval was made, in words a table can print."""
    scale: Ends | None = None
    """Between which values the number lies, where that is known."""
    spread: Spread | None = None
    unreliable: str = ""
    """Why the interval may cover less than it says; empty where it does not."""


def flag_few_units(estimate: Estimate) -> Estimate:
    """The estimate, marked where its interval rests on too few clusters or samples."""
    units, what = (
        (estimate.n, "samples")
        if estimate.clusters is None
        else (estimate.clusters, "clusters")
    )
    if estimate.low is None or units >= FEWEST_UNITS:
        return estimate
    return replace(estimate, unreliable=f"interval unreliable: {units} {what}")


def flag_rare(estimate: Estimate, largest: float) -> Estimate:
    """The estimate on an open scale, marked where one sample or cluster makes much of it: `largest`."""
    if (
        estimate.unreliable
        or estimate.low is None
        or largest <= RARE_SHARE * abs(estimate.value)
    ):
        return estimate
    what = "sample" if estimate.clusters is None else "cluster"
    share = f"{largest / abs(estimate.value):.0%}" if estimate.value else "all"
    return replace(
        estimate,
        unreliable=f"interval unreliable: one {what} makes {share} of the value",
    )
