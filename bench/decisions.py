"""Whether decisions err as seldom as they say: the gate, and rules that stop a run early. Printed by coverage.py.

A gate: two runs that differ by just what is allowed, so that each pass is wrong, and each failure too. Stopping: the
interval at the moment the rule is reached, and equal models that a comparison calls different.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.runner.plan.stopping import Until, parse_until
from assay.summarizers.statistics import (
    BettingSequence,
    Estimate,
    estimate_mean,
    paired_share_difference,
)
from assay.summarizers.statistics.power_analysis import decide, deciding_size

LIMIT = -0.02
"""What a gate allows to be lost."""
EACH_SIDE = 96.75
"""The aim is 97.5: intervals that cover 93.5 % at least miss 3.25 % on each side at most."""
Rng = np.random.Generator


@dataclass(frozen=True)
class Decisions:
    """One kind of data, and how often a decision about it must be right."""

    family: str
    name: str
    promised: float
    """In per cent."""
    decide: Callable[[Rng], bool]
    """One simulated evaluation: whether nothing wrong was decided."""
    is_slow: bool = False

    def measure(self, runs: int, seed: int = 0) -> float:
        """How often it was right, in per cent; the same in every call."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        return 100 * float(np.mean([self.decide(rng) for _ in range(runs)]))


def gates() -> Iterator[Decisions]:
    """Simulate a run that is worse by the allowed amount: it may pass or fail in about 2.5 % of cases each."""
    for n, discordance in ((100, 0.1), (200, 0.2), (1000, 0.05), (1000, 0.2)):
        for wrong in ("pass", "fail"):
            name = f"worse by the limit, {discordance:.0%} differ, n={n}: no {wrong}"
            yield Decisions(
                "gate", name, EACH_SIDE, _at_the_limit(n, discordance, wrong)
            )
    yield Decisions(
        "gate",
        "10 tasks at the limit, 20% differ, n=300: none fails",
        EACH_SIDE,
        _together(10, 300, 0.2),
    )
    yield Decisions("gate", "the n of a pilot of 200 decides", 79.0, _promise(0.2))


def _gap(rng: Rng, n: int, difference: float, discordance: float) -> Estimate:
    shares = [
        (discordance + difference) / 2,
        (discordance - difference) / 2,
        1 - discordance,
    ]
    wins, losses, _ = rng.multinomial(n, shares)
    return paired_share_difference(int(wins), int(losses), n)


def _decision(found: Estimate, limit: float, together: int = 1) -> str:
    assert found.low is not None and found.high is not None
    return decide(found.value, (found.low, found.high), limit, together=together)


def _at_the_limit(n: int, discordance: float, wrong: str) -> Callable[[Rng], bool]:
    return lambda rng: _decision(_gap(rng, n, LIMIT, discordance), LIMIT) != wrong


def _together(tasks: int, n: int, discordance: float) -> Callable[[Rng], bool]:
    def none_fails(rng: Rng) -> bool:
        found = [
            _decision(_gap(rng, n, LIMIT, discordance), LIMIT, tasks)
            for _ in range(tasks)
        ]
        return "fail" not in found

    return none_fails


def _promise(discordance: float) -> Callable[[Rng], bool]:
    """Simulate a pilot of equal models that forecasts the samples needed to show a drop of 3 points."""
    half = round(100 * discordance)
    pilot = paired_share_difference(half, half, 200)
    assert pilot.low is not None and pilot.high is not None
    n = deciding_size(200, pilot.value, (pilot.low, pilot.high), -0.03, pilot.stderr)
    assert n is not None
    return lambda rng: _decision(_gap(rng, n, 0.0, 2 * half / 200), -0.03) == "pass"


def stops() -> Iterator[Decisions]:
    """Intervals at the moment a rule ended the run, and what a normal interval in their place would have held."""
    for share in (0.05, 0.5, 0.9):
        holds = _covers(share, _binary(share), "ci=0.05")
        yield Decisions(
            "stopping", f"right in {share:.0%}, --until ci=0.05", 95.0, holds, True
        )
    scale, shares = np.arange(5) / 4, [0.02, 0.03, 0.05, 0.3, 0.6]
    holds = _covers(float(np.dot(scale, shares)), _ratings(scale, shares), "ci=0.03")
    yield Decisions(
        "stopping", "ratings, 60% the best, --until ci=0.03", 95.0, holds, True
    )
    for discordance in (0.05, 0.2):
        name = f"equal models, {discordance:.0%} differ, --until decided, at most 2,000"
        yield Decisions("stopping", name, 95.0, _undecided(discordance, 2000), True)


def _binary(share: float) -> Callable[[Rng], Any]:
    return lambda rng: (rng.random(6000) < share) * 1.0


def _ratings(scale: Any, shares: list[float]) -> Callable[[Rng], Any]:
    return lambda rng: rng.choice(scale, p=shares, size=6000)


def stopped(rule: Until, values: Any, *, is_paired: bool = False) -> Estimate:
    """Return the estimate at which a rule ends a run, or the last one."""
    bets = BettingSequence(minimum=-1.0 if is_paired else 0.0)
    for n, value in enumerate(values.tolist(), 1):
        bets.add(value)
        if rule.schedule.looks_at(n) and rule.ends(bets.look(), n, seed=0):
            break
    return bets.look()


def _covers(
    truth: float, draw: Callable[[Rng], Any], text: str
) -> Callable[[Rng], bool]:
    rule = parse_until(text)

    def holds(rng: Rng) -> bool:
        found = stopped(rule, draw(rng))
        assert found.low is not None and found.high is not None
        return found.low - 1e-9 <= truth <= found.high + 1e-9

    return holds


def _undecided(discordance: float, most: int) -> Callable[[Rng], bool]:
    rule = parse_until("decided")

    def holds(rng: Rng) -> bool:
        gaps = rng.choice(
            [1.0, -1.0, 0.0],
            p=[discordance / 2, discordance / 2, 1 - discordance],
            size=most,
        )
        return not rule.verdict(stopped(rule, gaps, is_paired=True))

    return holds


def fixed_interval_peeks(runs: int) -> float:
    """How often a normal interval that is looked at every 10 samples, until it excludes one half, wrongly does so."""
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(runs):
        values = ((rng.random(1000) < 0.5) * 1.0).tolist()
        looks = (estimate_mean(values[:n]) for n in range(50, 1001, 10))
        wrong += any(
            not (found.low or 0.0) <= 0.5 <= (found.high or 1.0) for found in looks
        )
    return 100 * wrong / runs


def samples_asked(runs: int) -> Iterator[str]:
    """How many samples rules ask for, beside a run of fixed size that knows the truth beforehand."""
    rng = np.random.default_rng(6)
    for share in (0.5, 0.9):
        counts = [
            stopped(parse_until("ci=0.05"), _binary(share)(rng)).n for _ in range(runs)
        ]
        fixed = 1.96**2 * share * (1 - share) / 0.05**2
        yield f"right in {share:.0%}, --until ci=0.05: {np.median(counts):.0f} samples; of fixed size {fixed:.0f}"
    for gap in (0.05, 0.1):
        shares = [(0.2 + gap) / 2, (0.2 - gap) / 2, 0.8]
        draws = (rng.choice([1.0, -1.0, 0.0], p=shares, size=6000) for _ in range(runs))
        counts = [
            stopped(parse_until("decided"), values, is_paired=True).n
            for values in draws
        ]
        yield f"20% differ, gap {gap}, --until decided: {np.median(counts):.0f} samples"


def all_decisions(only: str = "") -> Iterator[Decisions]:
    """All kinds, or those of a family."""
    for family in (gates, stops):
        yield from (one for one in family() if only in one.family)
