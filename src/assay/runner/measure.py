"""Measures: the best way to ask a task of a model, chosen before the run and never changed within it.

A task of choices can be measured by the likelihood of each option, by the log-probabilities of the first token, or by
the letter a model writes. These are three different numbers, so the way taken becomes part of the protocol id.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core import Abilities, Measure, ModalityMismatch, Task, UnknownName, UsageError

STANDARD: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure(
            "likelihood",
            template={"name": "choice_likelihood", "continuation": "letter"},
            scorers=({"name": "choice_likelihood", "continuation": "letter"},),
            needs=frozenset({"likelihood"}),
        ),
        Measure(
            "first_token",
            scorers=("first_token",),
            needs=frozenset({"logprobs"}),
            options={"max_tokens": 1, "logprobs": 20, "temperature": 0.0},
        ),
        Measure("letter", scorers=("choice",)),
    )
}
"""For questions with lettered options, the best first."""


def measured(task: Task, abilities: Abilities, wanted: str | None = None, model: str = "") -> Task:
    """The task as it will be asked: by the first of its measures a model can serve, or by the one that is wanted."""
    ways = {way.name: way for way in _ways(task)}
    if wanted is None:
        sure = [way for way in ways.values() if can_serve(abilities, way) and not way.needs & abilities.unsure]
        return _taken(task, sure[0]) if sure else task
    if not ways:
        ways = dict(STANDARD)
    if wanted not in ways:
        raise UnknownName(
            "measure", wanted, ways, where=f"task {task.name!r}", hint=f"it can be measured by {', '.join(ways)}"
        )
    if not can_serve(abilities, ways[wanted]):
        lacking = ", ".join(sorted(_lacking(abilities, ways[wanted])))
        raise ModalityMismatch(
            f"measuring task {task.name!r} by {wanted} takes {lacking}, and model {model!r} has none",
            fix="leave --measure out to take the best it has, or choose another model",
        )
    return _taken(task, ways[wanted])


def can_serve(abilities: Abilities, way: Measure) -> bool:
    """Whether a model has all that a measure takes."""
    return not _lacking(abilities, way)


def _lacking(abilities: Abilities, way: Measure) -> set[str]:
    return {need for need in way.needs if not getattr(abilities, need, False)}


def _ways(task: Task) -> Iterator[Measure]:
    for entry in task.measures:
        if isinstance(entry, Measure):
            yield entry
        elif entry in STANDARD:
            yield STANDARD[entry]
        else:
            raise UsageError(
                f"no standard measure is called {entry!r}",
                where=f"task {task.name!r}, key `measures`",
                fix=f"known: {', '.join(STANDARD)}; any other is a Measure(…)",
            )


def _taken(task: Task, way: Measure) -> Task:
    changes: dict[str, Any] = {"measures": (), "protocol": _named(task.protocol, way.name)}
    if way.template is not None:
        changes["template"] = way.template
    if way.scorers:
        changes["scorers"] = way.scorers
        changes["summarizers"] = way.summarizers if way.summarizers is not None else task.summarizers
    if way.options:
        changes["options"] = task.options.set(**way.options)
    return task.but(**changes)


def _named(protocol: str, measure: str) -> str:
    return f"{protocol}-{measure}" if "@" in protocol else f"{protocol}@{measure}"
