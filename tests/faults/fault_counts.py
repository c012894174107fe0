"""How often the faults are tried: a few times on every commit, as often as the fault plan says at night.

`ASSAY_FAULTS=night` (as `make faults` sets it) takes the large counts. Tests that read a count carry the marker
`faults`; what they draw at random comes from `drawn`, so that every run of them, and every worker, draws the same.
"""

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
SETTING = "ASSAY_FAULTS"


@dataclass(frozen=True)
class Counts:
    """One set of counts."""

    kills: int
    """Of a run, at points of its progress."""
    samples_of_killed_runs: int
    kills_with_tools: int
    """Of a run with tools, in the middle of a write to its journal."""
    samples_with_tools: int
    rounds_with_tools: int
    kills_while_summing: int
    """At steps of writing `summary.json`."""
    kills_while_indexing: int
    """While the journal of the run before is read."""
    kills_of_replicas: int
    """Of one replica, for each kind of model and of work: four kinds."""
    full_disks: int
    """Sizes of a disk that is too small for the run."""
    rounds_of_writers: int
    """Ten processes that want to write to one folder."""
    rounds_of_sharing: int
    """Two runs with one cache at the same time."""
    interruptions: int
    """Points of progress for each signal."""
    sleepers: int
    """Runs that are stopped, each at another point of its progress."""
    sleep_seconds: float
    runs_with_secrets: int
    """Runs whose faults show every planted secret."""
    fuzzed_answers: int
    """HTTP answers that our reader and h11 must read alike."""
    steps_of_writing: int
    """Calls of each function of `os`, at most, at which a run over an older one ends: for each of six changes."""
    hostile_characters: int
    """Length of a text that no scorer may read in more than linear time."""
    simulations: int
    """Experiments that count how often an interval covers the truth, for each case."""
    examples: int
    """Inputs that hypothesis tries, where a test does not say itself how many."""


COMMIT = Counts(
    kills=3,
    samples_of_killed_runs=400,
    kills_with_tools=3,
    samples_with_tools=2,
    rounds_with_tools=12,
    kills_while_summing=3,
    kills_while_indexing=2,
    kills_of_replicas=1,
    full_disks=1,
    rounds_of_writers=5,
    rounds_of_sharing=5,
    interruptions=1,
    sleepers=1,
    sleep_seconds=0.3,
    runs_with_secrets=2,
    fuzzed_answers=5_000,
    steps_of_writing=2,
    hostile_characters=50_000,
    simulations=150,
    examples=40,
)
NIGHT = Counts(
    kills=50,
    samples_of_killed_runs=2_000,
    kills_with_tools=200,
    samples_with_tools=20,
    rounds_with_tools=40,
    kills_while_summing=20,
    kills_while_indexing=10,
    kills_of_replicas=5,
    full_disks=20,
    rounds_of_writers=50,
    rounds_of_sharing=20,
    interruptions=20,
    sleepers=20,
    sleep_seconds=60.0,
    runs_with_secrets=100,
    fuzzed_answers=200_000,
    steps_of_writing=1_000,
    hostile_characters=1_000_000,
    simulations=400,
    examples=200,
)
COUNTS = {"": COMMIT, "night": NIGHT}[os.environ.get(SETTING, "")]


def drawn(purpose: str, places: Iterable[T], count: int) -> list[T]:
    """`count` of the places in their order, or all where there are fewer; which ones depends on the purpose alone."""
    places = list(places)
    chosen = sorted(
        random.Random(purpose).sample(range(len(places)), min(count, len(places)))
    )
    return [places[place] for place in chosen]
