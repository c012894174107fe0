"""`--until`: end a run as soon as it has seen enough samples.

The rule uses confidence sequences, which stay valid however often they are checked.
"""

from dataclasses import dataclass, replace

from ...core import UsageError, nearest, shorten
from ...summarizers.statistics import Estimate, StoppingRule

CI, DECIDED = "ci", "decided"
NARROWEST = 0.002
"""Narrower intervals are not allowed, because sequences are computed on a grid."""
FIX = "ci=0.02, or decided with --baseline RUN"


@dataclass(frozen=True, slots=True)
class Until:
    """A rule that may end a run early."""

    text: str
    """The rule as typed."""
    half_width: float | None = None
    """Stop when the value is known to ± this; None if a difference is to be decided."""
    margin: float = 0.0
    """A difference within ± this is decided as well: the two models are alike."""

    @property
    def is_paired(self) -> bool:
        """True if the rule is about the difference from a baseline."""
        return self.half_width is None

    @property
    def schedule(self) -> StoppingRule:
        """The numbers of samples at which the rule is checked."""
        return StoppingRule(self.half_width or self.margin)

    def ends(self, now: Estimate, count: int, seed: int) -> bool:
        """Return True if a run may end with this estimate of a value or difference, after `count` samples."""
        if self.is_paired:
            return self.verdict(now) != ""
        estimate = replace(now, n=count)
        return self.schedule.stops(estimate, shuffle_seed=seed)

    def verdict(self, now: Estimate) -> str:
        """Return the decision about a difference: `higher`, `lower`, `alike`; empty if there is none yet."""
        if now.low is None or now.high is None:
            return ""
        if now.low > 0 or now.high < 0:
            return "higher" if now.low > 0 else "lower"
        if self.margin and -self.margin <= now.low and now.high <= self.margin:
            return "alike"
        return ""


def parse_until(text: str) -> Until:
    """Parse a rule typed as `ci=0.02`, `decided` or `decided=0.02`."""
    rule = str(text).strip()
    name, equals, value = rule.partition("=")
    if name not in (CI, DECIDED):
        close = nearest(name, (CI, DECIDED))
        if close:
            fix = f"did you mean {close}{equals}{value}?"
        else:
            fix = FIX
        problem = f"--until {shorten(text)} is not a rule"
        raise UsageError(problem, fix=fix)
    if name == DECIDED and not equals:
        return Until(DECIDED)
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not NARROWEST <= number < 0.5:
        raise UsageError(
            f"--until {text}: {shorten(value)} is not a number from {NARROWEST:g} to 0.5",
            fix=FIX,
        )
    if name == CI:
        return Until(f"{name}={value}", number)
    rule = f"{name}={value}"
    return Until(rule, None, number)
