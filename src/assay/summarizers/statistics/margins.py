"""Decide by its interval whether a number is above a limit: yes, no, or not yet; and how many samples would decide.

With a paired difference and the limit -max_drop this is a test of non-inferiority. A number passes if its whole
interval is at or above the limit, and fails if all of it is below. Several numbers that are decided together pass
only if each does, which needs no correction (intersection-union test). The more numbers there are, the more likely
one of them fails by chance, so an interval that fails a number is widened by Bonferroni's rule.
"""

import math
from typing import Literal

from .distributions import normal_quantile
from .power_analysis import sample_size

Decision = Literal["pass", "fail", "inconclusive"]
LEVEL = 0.95
MOST_SAMPLES = 10_000_000
"""A decision that needs more samples than this is impractical."""
_ROUNDING = 1e-12


def decide(
    value: float,
    interval: tuple[float, float],
    limit: float,
    *,
    together: int = 1,
    level: float = LEVEL,
) -> Decision:
    """Return whether a number is at or above `limit`, by its interval; `together` numbers are decided at once.

    If nothing is wrong, any of the numbers fails in at most (1 - level) / 2 of cases, whatever their count.
    """
    low, high = interval
    if low >= limit - _ROUNDING:
        return "pass"
    error = (1 - level) / 2
    wider = normal_quantile(1 - error / together) / normal_quantile(1 - error)
    if value + (high - value) * wider < limit - _ROUNDING:
        return "fail"
    return "inconclusive"


def deciding_size(
    n: int,
    value: float,
    interval: tuple[float, float],
    limit: float,
    stderr: float | None,
    *,
    power: float = 0.8,
) -> int | None:
    """Return about how many samples decide with the given power if the number stays the same; `None` if none would.

    If no spread was seen, the interval shrinks with the number of samples, not with its root.
    """
    margin = abs(value - limit)
    if value > limit:
        reach = value - interval[0]
    else:
        reach = interval[1] - value
    if not margin or n * (reach / margin) ** 2 > MOST_SAMPLES:
        return None
    if not stderr:
        return max(n + 1, math.ceil((n + 4) * reach / margin))
    return max(
        n + 1, sample_size(margin, stderr * stderr * n, alpha=1 - LEVEL, power=power)
    )


def rounded_up(count: int) -> int:
    """Return a count rounded up to two digits, since it is not known more precisely."""
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit
