"""BFCL v4 as tasks and suites. Data and checkers come from the installed `bfcl-eval` package."""

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
"""Answers of one sample with several turns. BFCL's own limit is 21 in each turn."""
MODES = {FC: "", PROMPT: "_prompt"}
"""Modes, and what each adds to the name of a task."""


def _single_turn(name: str, mode: str) -> Task:
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
    tasks = []
    for mode in MODES:
        tasks += [_single_turn(name, mode) for name in CATEGORIES]
        tasks += [_multi_turn(category, mode) for category in MULTI_TURN]
    return tasks


TASKS = {task.name: task for task in _all_tasks()}
"""Tasks by name."""


def _suite(name: str, parts: tuple[str, ...], mode: str, description: str) -> Suite:
    tasks = tuple(TASKS[f"bfcl_{part}{MODES[mode]}"] for part in parts)
    return Suite(f"{name}{MODES[mode]}", tasks, description)


LIVE = tuple(name for name in CATEGORIES if name.startswith("live_"))
NON_LIVE = tuple(name for name in CATEGORIES if name not in LIVE)
SUITES = {
    suite.name: suite
    for mode in MODES
    for suite in (
        _suite("bfcl", (*NON_LIVE, *LIVE, *MULTI_TURN), mode, f"BFCL v4, mode {mode}"),
        _suite(
            "bfcl_multi_turn", MULTI_TURN, mode, f"BFCL v4, several turns, mode {mode}"
        ),
        _suite("bfcl_live", LIVE, mode, f"BFCL v4, users' questions, mode {mode}"),
        _suite(
            "bfcl_non_live", NON_LIVE, mode, f"BFCL v4, written questions, mode {mode}"
        ),
    )
}


def __getattr__(name: str) -> Task | Suite:
    """Return a task or a suite as an attribute of this module."""
    if name in TASKS:
        return TASKS[name]
    if name in SUITES:
        return SUITES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
