"""The betting confidence sequence: a mean of bounded scores with an interval that is valid at every check.

Every possible mean is a candidate. Two gamblers bet on every score: one that it is
above the candidate, one that it is below. If a gambler becomes rich (half the capital
grows 1 / alpha times), the candidate is excluded permanently. Each gambler divides the
capital among bets of many sizes. One of them is near the best size, so the interval is
nearly as narrow as possible at every number of samples. It is valid from the first
sample on, whatever the distribution of the scores, but it needs known bounds. See
Waudby-Smith and Ramdas 2024, JRSS B 86:1 (hedged capital); the mixture over bets is by
Robbins.
"""

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .estimate import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


METHOD = "betting confidence sequence"
GRID = 2000
"""The number of steps between the candidate means on the scale. Interval ends are rounded outwards to candidates."""
_BETS = 12
_SMALLEST, _LARGEST = 0.004, 0.95
"""The range of bet sizes, as fractions of the largest bet that a gambler can always afford to lose."""


class BettingSequence:
    """The mean so far with its confidence sequence. Scores are added one at a time."""

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        minimum: float = 0.0,
        maximum: float = 1.0,
    ) -> None:
        import numpy as np

        if maximum <= minimum:
            raise ValueError(
                f"the maximum must be above the minimum, got {minimum} and {maximum}"
            )
        self._minimum = minimum
        self._maximum = maximum
        self._threshold = math.log(2 / alpha) + math.log(_BETS)
        self._candidates = np.linspace(0.0, 1.0, GRID + 1)
        self._shares = np.geomspace(_SMALLEST, _LARGEST, _BETS)[:, None]
        self._up = np.zeros((_BETS, GRID + 1))
        """For each bet size and each candidate, the log capital of the gambler who bets on higher values."""
        self._down = np.zeros((_BETS, GRID + 1))
        self._low = 0.0
        self._high = 1.0
        self._n = 0
        self._total = 0.0
        self._total_squares = 0.0
        self._pending: Counter[float] = Counter()
        """Scores since the last check."""

    def add(self, score: float) -> None:
        """Add the next score."""
        if not self._minimum <= score <= self._maximum:
            raise ValueError(
                f"the score {score:g} is outside {self._minimum:g}..{self._maximum:g}: "
                "a betting sequence needs the true bounds"
            )
        x = (score - self._minimum) / (self._maximum - self._minimum)
        self._n += 1
        self._total += x
        self._total_squares += x * x
        self._pending[x] += 1

    def _apply_pending(self) -> None:
        """Apply the pending scores to the bets, and exclude the candidates that made a gambler rich."""
        import numpy as np

        room_below = np.maximum(self._candidates, 1e-12)
        room_above = np.maximum(1 - self._candidates, 1e-12)
        below = self._shares / room_below
        above = self._shares / room_above
        for x, count in self._pending.items():
            gain = x - self._candidates
            self._up += count * np.log1p(below * gain)
            self._down += count * np.log1p(-above * gain)
        self._pending.clear()

        too_low = self._candidates[self._is_rich(self._up)]
        too_high = self._candidates[self._is_rich(self._down)]
        low = max(self._low, float(too_low.max(initial=0.0)))
        high = min(self._high, float(too_high.min(initial=1.0)))
        # With a probability below alpha both gamblers exclude all candidates; then the last interval is kept.
        if low < high:
            self._low = low
            self._high = high
            inside = (self._candidates >= low) & (self._candidates <= high)
            self._candidates = self._candidates[inside]
            self._up = self._up[:, inside]
            self._down = self._down[:, inside]

    def _is_rich(self, capital: "NDArray[np.float64]") -> "NDArray[np.intp]":
        """Return the indexes of the candidate means against which a gambler has become rich enough to exclude them."""
        import numpy as np

        largest = capital.max(axis=0)
        # The sum of _BETS bets is at most _BETS times the largest, so it is too small for all other candidates.
        near = np.flatnonzero(largest >= self._threshold - math.log(_BETS))
        largest = largest[near]
        sums = np.exp(capital[:, near] - largest).sum(axis=0)
        rich: NDArray[np.intp] = near[sums >= np.exp(self._threshold - largest)]
        return rich

    @property
    def estimate(self) -> Estimate:
        """The result of `look`, which replaces this property: a property must not change its object."""
        warnings.warn(
            "BettingSequence.estimate is deprecated: call look()",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.look()

    def look(self) -> Estimate:
        """Return the mean so far with its confidence sequence, after one more check. Raise before the first score."""
        if not self._n:
            raise ValueError("no scores yet: there is nothing to estimate")
        if self._pending:
            self._apply_pending()
        n = self._n
        width = self._maximum - self._minimum
        mean = self._total / n
        variance = max(0.0, self._total_squares / n - mean * mean)
        stderr = None
        if n > 1:
            stderr = width * math.sqrt(variance / (n - 1))
        low = self._minimum + width * self._low
        high = self._minimum + width * self._high
        value = self._minimum + width * mean
        return Estimate(value, stderr, low, high, n, None, METHOD)


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """The rule that stops a run when the confidence sequence is narrow enough.

    The run's log records it with its schedule.
    """

    half_width: float
    first_look: int = 50
    look_every: int = 10

    def looks_at(self, t: int) -> bool:
        """Return True if the rule is to be checked after `t` scores."""
        return t >= self.first_look and (t - self.first_look) % self.look_every == 0

    def stops(
        self,
        now: Estimate,
        *,
        shuffle_seed: int | None,
    ) -> bool:
        """Return True if the run may stop at this estimate.

        `shuffle_seed` is the seed with which its samples were shuffled.
        """
        if shuffle_seed is None:
            raise ValueError(
                "early stopping needs samples in random order: shuffle the dataset with a seed"
            )
        if now.method != METHOD and now.low is not None:
            raise ValueError(
                f"early stopping needs a confidence sequence, not a fixed-n interval ({now.method})"
            )
        if now.low is None or now.high is None or not self.looks_at(now.n):
            return False
        return (now.high - now.low) / 2 <= self.half_width
