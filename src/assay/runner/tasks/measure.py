"""Measures: the best way to ask a task of a model, chosen before the run and never changed within it.

A task of choices can be measured by the likelihood of each option's letter, by that of each option's text, by the
log-probabilities of the first token, or by the letter a model writes. These are four different numbers, so the way that
was taken becomes part of the protocol id.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core import Abilities, Measure, ModalityMismatch, Task, UnknownName, UsageError
from ...templates.weighed import WeighedLetters
from .overrides import original

RecordedWays = Mapping[tuple[str, str], str]
"""By task and model: the measure by which they were asked; empty where the task was asked as it stands."""
LIKELIHOOD = "likelihood"
"""The old word for both measures by likelihood: the one a task has, of the standard ones that of letters."""


def _by_likelihood(continuation: str) -> Measure:
    """Letters after the task's own prompt, which shows the options; texts after the bare question."""
    how = {"name": "choice_likelihood", "continuation": continuation}
    template = WeighedLetters() if continuation == "letter" else how
    return Measure(
        f"{continuation}_{LIKELIHOOD}",
        template=template,
        scorers=(how,),
        needs=frozenset({"likelihood"}),
    )


STANDARD: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        _by_likelihood("letter"),
        _by_likelihood("text"),
        Measure(
            "first_token",
            scorers=("first_token",),
            needs=frozenset({"logprobs"}),
            options={"max_tokens": 1, "logprobs": 20, "temperature": 0.0},
        ),
        Measure("letter", scorers=("choice",)),
    )
}
"""For questions with lettered options, the best first. All but that of texts keep the task's own prompt."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A task as it will be asked, and the measure that was taken; empty where it is asked as it stands."""

    task: Task
    measure: str = ""


def measured(
    task: Task, abilities: Abilities, wanted: str | None = None, model: str = ""
) -> Measured:
    """The task as it will be asked: by the first of its measures a model can serve, or by the one that is wanted."""
    if wanted is None:
        ways = list(_ways(task))
        sure = [
            way
            for way in ways
            if can_serve(abilities, way) and not way.needs & abilities.unsure
        ]
        return _taken(task, sure[0]) if sure else Measured(task)
    by_name = {way.name: way for way in _ways(original(task))} or dict(STANDARD)
    name = spelled(wanted, by_name)
    if name not in by_name:
        raise UnknownName(
            "measure",
            wanted,
            by_name,
            where=f"task {task.name!r}",
            hint=f"it can be measured by {', '.join(by_name)}",
        )
    if not can_serve(abilities, by_name[name]):
        lacking = ", ".join(sorted(_lacking(abilities, by_name[name])))
        raise ModalityMismatch(
            f"measuring task {task.name!r} by {name} takes {lacking}, and model {model!r} has none",
            fix="leave --measure out to take the best it has, or choose another model",
        )
    way = by_name[name]
    if (
        way.template is not None
        and not _keeps_prompt(way)
        and task.template != original(task).template
    ):
        raise UsageError(
            f"--measure {name} asks task {task.name!r} by a template of its own, and --template gives another",
            fix=f"leave one of them out, or write the task with Measure({name!r}, template=…)",
        )
    return _taken(task, way)


def spelled(name: str, names: Mapping[str, Any]) -> str:
    """A measure as it is called now."""
    if name != LIKELIHOOD or name in names:
        return name
    return next((now for now in names if now.endswith(f"_{LIKELIHOOD}")), name)


def _keeps_prompt(way: Measure) -> bool:
    """Whether a measure weighs the letters after the task's own prompt."""
    return isinstance(way.template, WeighedLetters) and way.template.of is None


def can_serve(abilities: Abilities, way: Measure) -> bool:
    """Whether a model has all that a measure takes."""
    return not _lacking(abilities, way)


def _lacking(abilities: Abilities, way: Measure) -> set[str]:
    return {need for need in way.needs if not getattr(abilities, need, False)}


def _ways(task: Task) -> Iterator[Measure]:
    for entry in task.measures:
        if isinstance(entry, Measure):
            yield entry
        elif spelled(entry, STANDARD) in STANDARD:
            yield STANDARD[spelled(entry, STANDARD)]
        else:
            raise UsageError(
                f"no standard measure is called {entry!r}",
                where=f"task {task.name!r}, key `measures`",
                fix=f"known: {', '.join(STANDARD)}; any other is a Measure(…)",
            )


def _taken(task: Task, way: Measure) -> Measured:
    """The task by a measure; scorers that the run names stay. What its author wrote is measured alike."""
    changes = _changes(task, way)
    if task.origin is not None:
        changes["origin"] = task.origin.but(**_changes(task.origin, way))
        if task.scorers != task.origin.scorers:
            changes |= {"scorers": task.scorers, "summarizers": task.summarizers}
    return Measured(task.but(**changes), way.name)


def _changes(task: Task, way: Measure) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "measures": (),
        "protocol": _named(task.protocol, way.name),
    }
    if _keeps_prompt(way):
        changes["template"] = replace(way.template, of=task.template)
    elif way.template is not None:
        changes["template"] = way.template
    if way.scorers:
        changes["scorers"] = way.scorers
        changes["summarizers"] = (
            way.summarizers if way.summarizers is not None else task.summarizers
        )
    if way.options:
        changes["options"] = task.options.set(**way.options)
    return changes


def _named(protocol: str, measure: str) -> str:
    return f"{protocol}-{measure}" if "@" in protocol else f"{protocol}@{measure}"
