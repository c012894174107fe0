"""The intervals cover what they say: a short version of bench/coverage.py, the same in every run."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest
from fault_counts import COUNTS

RUNS = COUNTS.simulations
LEAST = 93.5 - 200 * math.sqrt(0.935 * 0.065 / RUNS)
"""93.5 % less twice the simulation's own error."""
BENCH = Path(__file__).parents[3] / "bench" / "coverage.py"


def load():
    spec = importlib.util.spec_from_file_location("bench_coverage", BENCH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


COVERAGE = load()
CHOSEN = (
    "F1, 90% at 1, n=30",
    "95 % fives, n=80",
    "Beta(20, 0.5), n=100",
    "Beta(5, 1), n=30",
    "Beta(5, 1), n=164",
    "50 of 20, p=0.98, icc=0.3",
    "20 of 20, p=0.98, icc=0.05",
    "50 of 1-20, p=0.9, icc=0.3",
    "200 of 5, p=0.98, icc=0.3",
    "50 of 1, 2, 20, 80, p=0.9, icc=0.5",
    "100 of 1, 2, 20, 80, p=0.97, icc=0.8",
    "50 of a quarter of 30, others 1, p=0.9, icc=0.9",
    "30 of half of 40, others 5, p=0.9, icc=0.9",
    "50 of 1, 2, 20, 80, two models",
    "Beta(0.3, 3), n=164",
    "Beta(0.1, 3), n=500",
    "lognormal 1, n=100",
    "exponential, n=30",
    "57 of 2-5, p~.6",
    "57 of 2-5, p~.95",
    "10 of 3",
    "5 %, n=30",
    "2 %, uneven, n=100",
    "5 %, loops in 1 %, n=500",
    "10 %, 20 speakers",
    "n=20",
    "50% yes, n=100",
    "binary, n=50, 10% differ, gap 0.09",
    "graded, 3 % differ, n=300",
    "WER, n=20",
)
CASES = {
    f"{case.family}: {case.name}": case
    for case in COVERAGE.cases()
    if case.name in CHOSEN
}


@pytest.mark.faults
@pytest.mark.parametrize("name", CASES)
def test_the_interval_covers_the_truth(name):
    tally = COVERAGE.measure(CASES[name], RUNS)

    assert tally.coverage >= LEAST
    assert tally.given >= 0.9 * RUNS
    # A row is flagged where chance gave one sample a third of an error rate, or skewed values;
    # never most rows of a case that covers.
    limit = 0.55 if name.startswith(("WER: 2 %", "open scale")) else 0.15
    assert tally.flagged <= limit * tally.given


@pytest.mark.parametrize(
    "name", ["5 of 20, p=0.9, icc=0.3", "10 %, 5 speakers", "5 %, n=10"]
)
def test_an_interval_from_too_few_units_is_flagged(name):
    (case,) = (case for case in COVERAGE.cases() if case.name == name)

    tally = COVERAGE.measure(case, 50)

    assert tally.flagged >= 0.8 * tally.given


def test_rare_loops_that_the_interval_does_not_cover_are_flagged():
    (case,) = (
        case for case in COVERAGE.cases() if case.name == "5 %, loops in 1 %, n=150"
    )

    tally = COVERAGE.measure(case, 200)

    assert tally.coverage < 90 and tally.flagged >= 0.5 * tally.given


def test_nothing_with_200_samples_in_30_clusters_is_flagged():
    large = [
        case
        for case in COVERAGE.clustered()
        if case.name.startswith(("30 of 7", "50 of", "200 of"))
    ]

    assert len(large) > 20
    assert not any(COVERAGE.measure(case, 10).flagged for case in large)


def test_an_early_stopping_rule_keeps_its_error_rate():
    decisions = sys.modules["decisions"]
    covers = decisions.Decisions(
        "stopping",
        "half",
        95.0,
        decisions._covers(0.5, decisions._binary(0.5), "ci=0.12"),
    )
    undecided = decisions.Decisions(
        "stopping", "equal", 95.0, decisions._undecided(0.2, 300)
    )

    # 40 runs that must be right in 95 %: three standard errors below it.
    assert covers.measure(40) >= 84 and undecided.measure(40) >= 84


def test_a_gate_keeps_its_error_rate():
    rows = {one.name: one for one in sys.modules["decisions"].all_decisions("gate")}

    for name in (
        "worse by the limit, 20% differ, n=200: no pass",
        "worse by the limit, 20% differ, n=200: no fail",
    ):
        assert rows[name].measure(400) >= 94.5, name
