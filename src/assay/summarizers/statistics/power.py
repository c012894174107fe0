"""How many samples a comparison needs, and the smallest difference a run of n samples can show.

The formulas are those of a two-sided test of a paired mean difference (Miller, "Adding error bars to evals").
"""

import math

from .distributions import normal_quantile


def sample_size(
    difference: float,
    between: float,
    *,
    noise_a: float = 0.0,
    noise_b: float = 0.0,
    repeats_a: int = 1,
    repeats_b: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Questions needed to show `difference` between two models.

    `between` is the variance over questions of the true difference, `noise_a` and `noise_b` the variance of
    one model's answers to one question, which asking each question `repeats` times divides.
    """
    if difference == 0:
        raise ValueError("no number of samples can show a difference of 0")
    if repeats_a < 1 or repeats_b < 1:
        raise ValueError(f"each question is asked at least once, got {repeats_a} and {repeats_b} repeats")
    if min(between, noise_a, noise_b) < 0:
        raise ValueError("a variance cannot be negative")
    variance = between + noise_a / repeats_a + noise_b / repeats_b
    # A result a rounding error above a whole number is that whole number.
    return math.ceil(_factor(alpha, power) * variance / difference**2 - 1e-9)


def sample_size_paired_binary(difference: float, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Samples needed when both models answer right or wrong, and differ on a share `discordance` of them."""
    _check_discordance(discordance)
    if abs(difference) > discordance:
        raise ValueError(f"models that differ on {discordance:g} of the samples cannot be {difference:g} apart")
    return sample_size(difference, discordance - difference**2, alpha=alpha, power=power)


def sample_size_correlated(
    difference: float,
    sd_a: float,
    sd_b: float,
    correlation: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Samples needed when the two models' scores have these standard deviations and this correlation."""
    if not -1 <= correlation <= 1:
        raise ValueError(f"a correlation lies in [-1, 1], got {correlation}")
    variance = max(0.0, sd_a**2 + sd_b**2 - 2 * correlation * sd_a * sd_b)
    return sample_size(difference, variance, alpha=alpha, power=power)


def minimum_detectable_difference(n: int, variance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference n samples show with this power; `variance` is that of a difference."""
    if n < 1:
        raise ValueError(f"a detectable difference needs at least one sample, got {n}")
    if variance < 0:
        raise ValueError("a variance cannot be negative")
    return math.sqrt(_factor(alpha, power) * variance / n)


def minimum_detectable_paired_binary(n: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The same for right-or-wrong scores.

    The variance is that of two equal models, `discordance` itself: slightly more than at the difference
    found, so the answer errs on the large side.
    """
    _check_discordance(discordance)
    return minimum_detectable_difference(n, discordance, alpha=alpha, power=power)


def _factor(alpha: float, power: float) -> float:
    return (normal_quantile(1 - alpha / 2) + normal_quantile(power)) ** 2


def _check_discordance(discordance: float) -> None:
    if not 0 < discordance <= 1:
        raise ValueError(f"discordance is the share of samples the models differ on, in (0, 1], got {discordance}")
