"""BFCL v4 as tasks and suites. Data and checkers come from the installed `bfcl-eval` package."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..core import Suite, Task
from ..core.request import GenerateOptions
from . import bfcl_single_turn as single_turn
from .bfcl_multi_turn import CATEGORIES as MULTI_TURN
from .bfcl_multi_turn import MultiTurnRows, SystemTools, bfcl_turns
from .bfcl_package import FC, PROMPT
from .bfcl_single_turn import CATEGORIES, SingleTurnRows

CITATION = "Patil et al. 2025, The Berkeley Function Calling Leaderboard, ICML 2025"
LICENCE = "Apache-2.0 (data and checkers)"
OPTIONS = GenerateOptions(temperature=0.0, max_tokens=4096)
MOST_ANSWERS = 200
"""The maximum number of answers in a sample with several turns. BFCL's own limit is 21 for each turn."""
MODES = {FC: "", PROMPT: "_prompt"}
"""Suffix of the task name for each mode."""


def _single_turn(name: str, mode: str) -> Task:
    """Return the task of a category whose samples have one turn."""
    category = CATEGORIES[name]
    return Task(
        f"bfcl_{name}{MODES[mode]}",
        dataset=SingleTurnRows(category, mode),
        template="messages",
        scorers=(single_turn.bfcl,),
        options=OPTIONS,
        protocol=f"bfcl_{name}@{mode}",
        description=f"BFCL v4, category {category}, mode {mode}",
        citation=CITATION,
        licence=LICENCE,
    )


def _multi_turn(category: str, mode: str) -> Task:
    """Return the task of a category whose samples are conversations with several turns."""
    return Task(
        f"bfcl_{category}{MODES[mode]}",
        dataset=MultiTurnRows(category, mode),
        template="messages",
        tools=(SystemTools(mode),),
        limits={"turns": MOST_ANSWERS},
        scorers=(bfcl_turns,),
        options=OPTIONS,
        protocol=f"bfcl_{category}@{mode}",
        description=f"BFCL v4, category {category}, mode {mode}",
        citation=CITATION,
        licence=LICENCE,
    )


def _all_tasks() -> list[Task]:
    """Return the tasks of every category in every mode."""
    tasks = []
    for mode in MODES:
        tasks += [_single_turn(name, mode) for name in CATEGORIES]
        tasks += [_multi_turn(category, mode) for category in MULTI_TURN]
    return tasks


TASKS = {task.name: task for task in _all_tasks()}
"""All BFCL tasks by name."""


LIVE = tuple(name for name in CATEGORIES if name.startswith("live_"))
NON_LIVE = tuple(name for name in CATEGORIES if name not in LIVE)
LIVE_CALLS = tuple(name for name in LIVE if "relevance" not in name)
NON_LIVE_WEIGHTS: Mapping[str, float] = {
    "simple": 1 / 12,
    "java": 1 / 12,
    "javascript": 1 / 12,
    "multiple": 1 / 4,
    "parallel": 1 / 4,
    "parallel_multiple": 1 / 4,
}
NO_CALL_WEIGHTS: Mapping[str, float] = {"irrelevance": 1 / 2, "live_irrelevance": 1 / 2}
TURN_WEIGHTS: Mapping[str, float] = dict.fromkeys(MULTI_TURN, 1 / 4)
OVERALL_SHARES: Mapping[str, float] = {
    "non_live": 0.1,
    "live": 0.1,
    "no_call": 0.1,
    "turns": 0.3,
}
"""Weight of each group of tasks in BFCL's overall score.

The weights do not sum to 1: memory and web search are missing, and count as 0.
"""


@dataclass(frozen=True)
class OfficialWeights:
    """The weights of tasks in BFCL's overall score, or in the score of a group."""

    mode: str
    shares: Mapping[str, float]
    """Weight of each group of tasks in the score."""

    def __call__(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """Return the weight of each task. `sizes` has the number of samples of each task."""
        ending = MODES[self.mode]
        weights: dict[str, float] = {}
        for group, share in self.shares.items():
            weights_in_group = self._group(group, sizes)
            for part, weight in weights_in_group.items():
                task = f"bfcl_{part}{ending}"
                weights[task] = share * weight
        return weights

    def _group(
        self,
        group: str,
        sizes: Mapping[str, int],
    ) -> Mapping[str, float]:
        """Return the weights of the categories within a group. They sum to 1."""
        if group == "non_live":
            return NON_LIVE_WEIGHTS
        if group == "no_call":
            return NO_CALL_WEIGHTS
        if group == "turns":
            return TURN_WEIGHTS
        ending = MODES[self.mode]
        counts = {part: sizes.get(f"bfcl_{part}{ending}", 0) for part in LIVE_CALLS}
        total = sum(counts.values()) or 1
        return {part: count / total for part, count in counts.items()}


def _suite(
    name: str,
    parts: tuple[str, ...],
    mode: str,
    description: str,
    shares: Mapping[str, float],
) -> Suite:
    tasks = tuple(TASKS[f"bfcl_{part}{MODES[mode]}"] for part in parts)
    weights = OfficialWeights(mode, shares)
    return Suite(f"{name}{MODES[mode]}", tasks, f"{description}, mode {mode}", weights)


def _suites(mode: str) -> Iterator[Suite]:
    """Yield the suites of all tasks and groups in one mode."""
    every = (*NON_LIVE, *LIVE, *MULTI_TURN)
    yield _suite("bfcl", every, mode, "BFCL v4", OVERALL_SHARES)
    turns = "BFCL v4, several turns"
    yield _suite("bfcl_multi_turn", MULTI_TURN, mode, turns, {"turns": 1.0})
    live = "BFCL v4, users' questions"
    yield _suite("bfcl_live", LIVE, mode, live, {"live": 1.0})
    title = "BFCL v4, written questions"
    yield _suite("bfcl_non_live", NON_LIVE, mode, title, {"non_live": 1.0})


SUITES = {suite.name: suite for mode in MODES for suite in _suites(mode)}


def __getattr__(name: str) -> Task | Suite:
    """Return the task or suite called `name`, so that tasks and suites are attributes of this module."""
    if name in TASKS:
        return TASKS[name]
    if name in SUITES:
        return SUITES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
