"""Aggregates over groups of samples or over tasks: micro, macro, pooled errors, and the median."""

import math
from collections.abc import Callable, Hashable, Sequence
from statistics import median as _middle

from .clusters import cluster_codes, finite
from .intervals import Estimate, estimate_mean


def micro(parts: Sequence[Estimate]) -> Estimate:
    """The mean over all samples of all parts: each part weighs as many as it has."""
    total = sum(part.n for part in parts)
    if not total:
        raise ValueError("no samples in any part: there is nothing to aggregate")
    return _weighted(parts, [part.n / total for part in parts], "micro")


def macro(parts: Sequence[Estimate]) -> Estimate:
    """The mean of the parts' values: each part weighs the same, however small."""
    if not parts:
        raise ValueError("no parts: there is nothing to aggregate")
    return _weighted(parts, [1 / len(parts)] * len(parts), "macro")


def _weighted(parts: Sequence[Estimate], weights: Sequence[float], method: str) -> Estimate:
    """A weighted sum of independent estimates.

    The interval is put together from the parts' own (each side's distances added in squares), so it keeps
    their asymmetry, stays in the range of the score, and has a width even where every part is perfect.
    """
    value = math.fsum(weight * part.value for weight, part in zip(weights, parts, strict=True))
    n = sum(part.n for part in parts)
    counts = [part.clusters for part in parts]
    clusters = sum(count or 0 for count in counts) if all(count is not None for count in counts) else None
    errors, below, above = [], [], []
    for weight, part in zip(weights, parts, strict=True):
        if part.stderr is None or part.low is None or part.high is None:
            return Estimate(value, None, None, None, n, clusters, f"{method}; n/a: a part has no interval")
        errors.append(weight * part.stderr)
        below.append(weight * (part.value - part.low))
        above.append(weight * (part.high - part.value))
    return Estimate(
        value,
        math.hypot(*errors),
        value - math.hypot(*below),
        value + math.hypot(*above),
        n,
        clusters,
        method,
    )


def pooled_stderr(sizes: Sequence[int], stderrs: Sequence[float]) -> float:
    """The standard error of the micro mean as lm-eval pools it: as if all parts had one variance.

    For comparison with numbers printed there. `micro` keeps the parts apart (stratified), as is right.
    """
    if len(sizes) != len(stderrs):
        raise ValueError(f"{len(sizes)} sizes but {len(stderrs)} standard errors")
    total = sum(sizes)
    if total <= len(sizes):
        raise ValueError("a pooled standard error needs more samples than parts")
    squares = math.fsum((n - 1) * n * stderr**2 for n, stderr in zip(sizes, stderrs, strict=True))
    return math.sqrt(squares / (total - len(sizes)) / total)


def reduce_groups(
    values: Sequence[float], groups: Sequence[Hashable], reduce: Callable[[Sequence[float]], float] = min
) -> dict[Hashable, float]:
    """One value per group, in order of appearance; `min` means right only if all of the group is."""
    numbers = finite(values)
    cluster_codes(groups, len(numbers))
    members: dict[Hashable, list[float]] = {}
    for number, group in zip(numbers, groups, strict=True):
        members.setdefault(group, []).append(number)
    return {group: float(reduce(member)) for group, member in members.items()}


def estimate_groups(
    values: Sequence[float], groups: Sequence[Hashable], reduce: Callable[[Sequence[float]], float] = min
) -> Estimate:
    """The mean over groups: value and error come from the same grouping, so they cannot disagree."""
    return estimate_mean(list(reduce_groups(values, groups, reduce).values()))


def median(values: Sequence[float]) -> float:
    """The middle of the sorted values; of an even number, halfway between the two in the middle."""
    return float(_middle(finite(values)))
