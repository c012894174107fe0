"""Prediction-powered means: a judge's verdicts on every sample, corrected by people's labels on some of them.

A judge makes errors, which shift its mean. People are right, but label few samples. The
judge's mean over all samples is corrected by its error on the samples with labels. The
judge's weight is the one that gives the narrowest interval (Angelopoulos, Duchi and
Zrnic 2023, PPI++), so a bad judge has hardly any influence.
"""

import math
from collections.abc import Sequence

from .distributions import t_quantile
from .estimate import Ends, Estimate
from .intervals import estimate_mean

METHOD = "prediction-powered t"
FEWEST_LABELS = 20
"""The number of labels below which the interval is flagged as unreliable."""
UNSEEN = 1.0
"""The number of hypothetical worst-case samples that are added to the variance."""


def judge_weight(
    labels: Sequence[float],
    judged: Sequence[float],
    others: Sequence[float],
) -> float:
    """Return the weight of the judge, from 0 to 1: its covariance with the labels
    divided by the variance of its verdicts.
    """
    n = len(labels)
    rest = len(others)
    spread = _variance([*judged, *others])
    if n < 2 or not rest or spread <= 0:
        return 0.0
    mean = math.fsum(labels) / n
    judge_mean = math.fsum(judged) / n
    together = (
        math.fsum(
            (y - mean) * (f - judge_mean) for y, f in zip(labels, judged, strict=True)
        )
        / n
    )
    return min(1.0, max(0.0, together / ((1 + n / rest) * spread)))


def prediction_powered_mean(
    labels: Sequence[float],
    judged: Sequence[float],
    others: Sequence[float],
    *,
    ends: Ends | None = None,
) -> Estimate:
    """Return the mean of the verdicts that people would give on all samples, with its 95 % interval.

    `labels` and `judged` are the verdicts of people and of the judge on the same
    samples, drawn at random; `others` are the judge's verdicts on the remaining
    samples. Without others, or if the judge always gives the same verdict, the result
    is the mean of the labels.
    """
    n = len(labels)
    if len(judged) != n:
        raise ValueError(
            f"{n} labels against {len(judged)} verdicts: both must be of the same samples"
        )
    weight = judge_weight(labels, judged, others)
    if n < 2 or weight == 0.0:
        return estimate_mean(
            list(labels),
            binary=set(labels) <= {0.0, 1.0},
            ends=ends,
        )
    residuals = [y - weight * f for y, f in zip(labels, judged, strict=True)]
    value = math.fsum(residuals) / n + weight * math.fsum(others) / len(others)
    # The mean of the residuals and the weight use one degree of freedom each. On a scale with ends the rare errors of
    # a good judge may not be among the labels: the variance allows for one more, as bad as the scale allows.
    if ends is not None:
        unseen_variance = UNSEEN * ((1 + weight) * (ends[1] - ends[0]) / 2) ** 2
    else:
        unseen_variance = 0.0
    label_variance = (
        (_variance(residuals) * (n - 1) + unseen_variance) / max(n - 2, 1) / n
    )
    variance = label_variance + weight**2 * _variance(others) / len(others)
    stderr = math.sqrt(variance)
    if label_variance > 0:
        df = max(n - 2, 1) * (variance / label_variance) ** 2
    else:
        df = math.inf
    half_width = t_quantile(0.975, min(df, 1e6)) * stderr
    low = value - half_width
    high = value + half_width
    if ends is not None:
        value, low, high = (min(max(x, ends[0]), ends[1]) for x in (value, low, high))
    if n < FEWEST_LABELS:
        unreliable = f"interval unreliable: {n} labels"
    else:
        unreliable = ""
    return Estimate(
        value,
        stderr,
        low,
        high,
        n,
        None,
        METHOD,
        scale=ends,
        unreliable=unreliable,
    )


def _variance(values: Sequence[float]) -> float:
    n = len(values)
    if n < 2:
        return 0.0
    mean = math.fsum(values) / n
    return math.fsum((value - mean) ** 2 for value in values) / (n - 1)
