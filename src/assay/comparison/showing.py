"""Statistical power: how wide the interval of a run with N samples is, and which
difference N samples can detect.

The scores come from a finished run, or from assumptions. To know how much two runs
differ on the same samples, both must exist. Otherwise this is assumed, and the output
says so: right-or-wrong scores are assumed to differ half as often as for two unrelated
models, and other scores to have a correlation of one half.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import Result, UsageError
from ..store import RunReader
from ..store.imported import open_run
from ..summarizers.statistics import (
    minimum_detectable_difference,
    minimum_detectable_paired_binary,
    paired_binary_power,
    sample_size,
    sample_size_paired_binary,
    wilson,
)
from ..summarizers.statistics.distributions import t_quantile
from ..summarizers.statistics.power_analysis import rounded_up
from .comparing import compare_runs

STEPS = (0.01, 0.02, 0.03, 0.05, 0.1)
"""Differences for which to print the required number of samples, as fractions of the score's range."""
CORRELATION = 0.5
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Scores:
    """The distribution of one metric's sample scores: measured in a run, or assumed."""

    name: str
    n: int
    mean: float
    deviation: float
    """The standard deviation of a sample's score. It accounts for clusters of samples."""
    is_binary: bool
    pairs: float | None
    """The share of samples on which two runs differ; None if scores are not right-or-wrong."""
    paired_variance: float
    """Variance of the difference of two runs on one sample."""
    origin: str
    """Where `pairs` and `paired_variance` come from, in words: two runs, or an assumption."""
    width: float = 1.0
    """The highest minus the lowest possible score."""

    def half_width(self, n: int) -> float:
        """Return half the width of the 95 % interval of one run of n samples."""
        if self.is_binary:
            low, high = wilson(round(self.mean * n), n)
            return (high - low) / 2
        return t_quantile(0.975, n - 1) * self.deviation / math.sqrt(n)

    def smallest_difference(self, n: int) -> float | None:
        """Return the smallest true difference that n samples detect with 80 % power; None if they detect none."""
        if self.pairs is None:
            return minimum_detectable_difference(n, self.paired_variance)
        try:
            return minimum_detectable_paired_binary(n, self.pairs)
        except ValueError:
            return _one_way(n)

    def needed(self, difference: float) -> int:
        """Return the sample size that detects a difference with 80 % power."""
        if self.pairs is None:
            return sample_size(difference, self.paired_variance)
        return sample_size_paired_binary(
            min(difference, 1.0), max(self.pairs, min(difference, 1.0))
        )

    def lines(
        self,
        counts: Sequence[int],
        differences: Sequence[float],
    ) -> Iterator[str]:
        """Yield the lines for a terminal: what `counts` samples can detect, and how many samples `differences` need."""
        yield f"{self.name}: {self._describe()}"
        for n in counts:
            smallest = self.smallest_difference(n)
            if smallest is None:
                words = "no difference"
            else:
                words = f"a difference of {smallest:.3f}"
            yield f"  {n:,} samples give the value to ± {self.half_width(n):.3f} and show {words} between two runs"
        for difference in differences:
            yield f"  a difference of {difference:g} takes about {rounded_up(self.needed(difference)):,} samples"

    def _describe(self) -> str:
        if self.pairs is not None:
            share = f", and two runs differ on {self.pairs:.1%} of samples"
        else:
            share = ""
        if self.is_binary:
            value = f"{self.mean:.1%} right"
        else:
            value = f"mean {self.mean:.3f}, deviation {self.deviation:.3f}"
        return f"{value}{share} ({self.origin})"

    def to_plain(
        self,
        counts: Sequence[int],
        differences: Sequence[float],
    ) -> dict[str, Any]:
        """Return the figures as JSON."""
        rows = [
            {
                "n": n,
                "half_width": self.half_width(n),
                "difference": self.smallest_difference(n),
            }
            for n in counts
        ]
        needed = [
            {"difference": difference, "n": self.needed(difference)}
            for difference in differences
        ]
        return {
            "name": self.name,
            "mean": self.mean,
            "deviation": self.deviation,
            "pairs": self.pairs,
            "paired_variance": self.paired_variance,
            "origin": self.origin,
            "shown": rows,
            "needed": needed,
        }

    def steps(self) -> list[float]:
        """Return the default differences to list, in the units of the score."""
        return [step * self.width for step in STEPS]


def assumed_scores(
    n: int,
    rate: float | None,
    deviation: float | None,
    pairs: float | None,
) -> Scores:
    """Return an assumed distribution of scores.

    Pass `rate` for right-or-wrong scores, and `deviation` for others.
    """
    if deviation is not None:
        origin = f"assumed, correlation {CORRELATION:g}"
        variance = 2 * deviation**2 * (1 - CORRELATION)
        return Scores(
            "scores",
            n,
            0.0,
            deviation,
            False,
            None,
            variance,
            origin,
            5 * deviation,
        )
    rate = 0.5 if rate is None else rate
    return _binary("right or wrong", n, rate, pairs, "assumed")


def pilot_scores(
    run: str | Path,
    baseline: str | Path | None = None,
    pairs: float | None = None,
) -> list[Scores]:
    """Return the distribution of sample scores for each metric of a finished run.

    With a `baseline`, the differences between the scores of the two runs are also used.
    """
    reader = open_run(run)
    results = reader.results
    paired = {}
    if baseline is not None:
        rows = compare_runs(baseline, run).rows
        for row in rows:
            if row.paired is not None:
                paired[(row.task, row.model, row.metric)] = row.paired
        if not paired:
            if rows:
                why = rows[0].refused
            else:
                why = "it has no numbers"
            message = f"cannot be compared with {baseline}: {why}"
            raise UsageError(
                message,
                where=str(run),
                fix="give two runs of one task",
            )
    several = len({result.model for result in results}) > 1
    all_scores = []
    for result in results:
        name = f"{result.task}.{result.metric}" + (
            f" ({result.model})" if several else ""
        )
        scores = _of_result(name, reader, result, pairs)
        other = paired.get((result.task, result.model, result.metric))
        if (
            scores is not None
            and other is not None
            and other.difference.stderr is not None
        ):
            if scores.pairs is not None:
                share = (other.wins + other.losses) / other.n
            else:
                share = None
            variance = other.difference.stderr**2 * other.n
            origin = f"measured against {baseline}"
            # If two runs have equal verdicts on all samples, they do not show how much other runs differ.
            if variance:
                scores = replace(
                    scores,
                    pairs=share,
                    paired_variance=variance,
                    origin=origin,
                )
        if scores is not None:
            all_scores.append(scores)
    if not all_scores:
        fix = "give a finished run with at least two scored samples, or assumptions: --n 500 --rate 0.7"
        raise UsageError(
            "the run has no number with a standard error",
            where=str(run),
            fix=fix,
        )
    return all_scores


def _of_result(
    name: str,
    reader: RunReader,
    result: Result,
    pairs: float | None,
) -> Scores | None:
    if result.value is None or result.stderr is None or result.n < 2:
        return None
    values, _ = reader.sample_values(result)
    is_binary = (
        result.clusters is None
        and "scale" not in result.details
        and set(values.values()) <= {0.0, 1.0}
    )
    if is_binary and values:
        return _binary(name, result.n, result.value, pairs, "the second run is assumed")
    low, high = result.details.get("scale", (0.0, 1.0))
    deviation = result.stderr * math.sqrt(result.n)
    if not deviation:
        return None
    origin = f"the second run is assumed, correlation {CORRELATION:g}"
    variance = 2 * deviation**2 * (1 - CORRELATION)
    return Scores(
        name,
        result.n,
        result.value,
        deviation,
        False,
        None,
        variance,
        origin,
        high - low,
    )


def _one_way(n: int) -> float | None:
    """Return the smallest difference that n samples detect, in the case that every
    changed sample favours the same run.
    """
    shares = []
    for share in range(1, 101):
        if paired_binary_power(n, share / 100, share / 100) >= POWER:
            shares.append(share / 100)
    return shares[0] if shares else None


def _binary(
    name: str,
    n: int,
    rate: float,
    pairs: float | None,
    origin: str,
) -> Scores:
    # At 0 and 1 the spread is unknown, so half a sample is assumed to differ.
    inner = min(max(rate, 0.5 / n), 1 - 0.5 / n)
    share = inner * (1 - inner) if pairs is None else pairs
    return Scores(
        name,
        n,
        rate,
        math.sqrt(inner * (1 - inner)),
        True,
        share,
        share,
        origin,
    )
