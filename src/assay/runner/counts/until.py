"""`--until`: when a run has seen enough. Judged by confidence sequences, which hold however often one looks."""

from dataclasses import dataclass, replace

from ...core import UsageError, nearest, shorten
from ...summarizers.statistics import Estimate, StoppingRule

CI, DECIDED = "ci", "decided"
NARROWEST = 0.002
"""A narrower interval is finer than the grid on which sequences are computed."""
FIX = "ci=0.02, or decided with --baseline RUN"


@dataclass(frozen=True, slots=True)
class Until:
    """A rule that may end a run early."""

    text: str
    """As it was typed."""
    half_width: float | None = None
    """The value is known to ± this; `None` where a difference is to be decided."""
    margin: float = 0.0
    """A difference that lies within ± this is decided, too: the two are alike."""

    @property
    def is_paired(self) -> bool:
        """Whether it looks at the difference from a baseline."""
        return self.half_width is None

    @property
    def schedule(self) -> StoppingRule:
        """At which numbers of samples it looks."""
        return StoppingRule(self.half_width or self.margin)

    def ends(self, now: Estimate, count: int, seed: int) -> bool:
        """Whether a run may end at this estimate, of a value or of a difference, after so many samples were drawn."""
        if self.is_paired:
            return self.verdict(now) != ""
        return self.schedule.stops(replace(now, n=count), shuffle_seed=seed)

    def verdict(self, now: Estimate) -> str:
        """What is decided of a difference: `higher`, `lower`, `alike`; empty where nothing is."""
        if now.low is None or now.high is None:
            return ""
        if now.low > 0 or now.high < 0:
            return "higher" if now.low > 0 else "lower"
        return (
            "alike"
            if self.margin and -self.margin <= now.low and now.high <= self.margin
            else ""
        )


def parse_until(text: str) -> Until:
    """The rule that is typed as `ci=0.02`, `decided` or `decided=0.02`."""
    name, equals, value = str(text).strip().partition("=")
    if name not in (CI, DECIDED):
        close = nearest(name, (CI, DECIDED))
        fix = f"did you mean {close}{equals}{value}?" if close else FIX
        raise UsageError(f"--until {shorten(text)} is not a rule", fix=fix)
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
    return (
        Until(f"{name}={value}", number)
        if name == CI
        else Until(f"{name}={value}", None, number)
    )
