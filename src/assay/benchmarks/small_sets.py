"""Small datasets that are part of assay: for the quick start, and a demo for each modality."""

import re
from typing import Literal

from ..core import (
    Outcome,
    Output,
    Sample,
    Score,
    Suite,
    Task,
)
from .task_rows import read_tasks


def follows_format(sample: Sample, output: Output) -> Score:
    """Return 1 if the whole answer, without surrounding white space, matches the row's pattern."""
    answer = output.text.strip()
    if not answer:
        return Score(0.0, Outcome.UNPARSED)
    return Score(
        float(re.fullmatch(sample["pattern"], answer) is not None), answer=answer
    )


def lit_lamps(sample: Sample) -> set[str]:
    """Return the initial state of a sample: the lamps that are lit before the request."""
    return set(sample["lit"])


def switch_lamp(
    room: Literal["kitchen", "hall"],
    on: bool,
    state: set[str],
) -> str:
    """Switch the lamp of a room on or off.

    Args:
        room: Whose lamp.
        on: True to switch it on, false to switch it off.
    """
    if on:
        state.add(room)
    else:
        state.discard(room)
    return f"the {room} lamp is {'on' if on else 'off'}"


def lamps_as_asked(sample: Sample, output: Output) -> Score:
    """Return 1 if exactly the requested lamps are lit after the answer."""
    lit = ", ".join(sorted(output.state)) or "none"
    return Score(float(lit == sample.target), answer=lit)


TASKS = read_tasks("small.toml", __name__)
_QUICKSTART = ("arithmetic", "facts", "choices", "dialogue", "format")
quickstart = Suite(
    "quickstart",
    tuple(TASKS[f"quickstart_{name}"] for name in _QUICKSTART),
    description="five small sets, half a minute on one CPU core",
)


def __getattr__(name: str) -> Task:
    """Return the task called `name`, so that the tasks in the TOML file are attributes of this module."""
    if name in TASKS:
        return TASKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
