"""Measures: ways to ask a multiple-choice question. The measure is chosen before the run and then stays the same.

The answer can come from the likelihood of each option's letter, from the likelihood of
each option's text, from the log-probabilities of the first token, or from the letter
that a model writes. These give four different numbers, so the chosen measure becomes
part of the protocol id.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core import Abilities, Measure, ModalityMismatch, Task, UnknownName, UsageError
from ...templates.likelihood import WeighedLetters
from .overrides import original

RecordedMeasures = Mapping[tuple[str, str], str]
"""Name of the measure that was used, by task and model. The name is empty if the task was not changed."""
LIKELIHOOD = "likelihood"
"""The former name of the measures `letter_likelihood` and `text_likelihood`.

It selects the first of them that the task offers, or `letter_likelihood` if the task has only the standard measures.
"""


def _by_likelihood(continuation: str) -> Measure:
    """Return a measure that compares the likelihoods of the options' letters, or of the options' texts.

    For letters, the task's own prompt is used. For texts, the prompt contains only the
    question.
    """
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
"""The measures for questions with lettered options. The first one that a model supports is used.

All but `text_likelihood` keep the task's own prompt.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A task with a measure applied, and the measure's name. The name is empty if the task was not changed."""

    task: Task
    measure: str = ""


def measured(
    task: Task,
    abilities: Abilities,
    wanted: str | None = None,
    model: str = "",
    likelihood_fix: str = "",
) -> Measured:
    """Return the task with the first of its measures that the model supports, or with the measure named `wanted`.

    `likelihood_fix` is the advice in the error for a model without likelihoods.
    """
    if wanted is None:
        ways = list(_ways(task))
        sure = [
            way
            for way in ways
            if can_serve(abilities, way) and not way.needs & abilities.unsure
        ]
        if sure:
            return _taken(task, sure[0])
        return Measured(task)
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
        lacks = _lacking(abilities, by_name[name])
        lacking = ", ".join(sorted(lacks))
        own_fix = likelihood_fix if LIKELIHOOD in lacks else ""
        raise ModalityMismatch(
            f"measuring task {task.name!r} by {name} takes {lacking}, and model {model!r} has none",
            fix=f"{own_fix}leave --measure out to take the best it has, or choose another model",
        )
    way = by_name[name]
    if (
        way.template is not None
        and not _keeps_prompt(way)
        and task.template != original(task).template
    ):
        raise UsageError(
            f"--measure {name} asks task {task.name!r} with its own template, and --template sets another one",
            fix=f"leave one of them out, or write the task with Measure({name!r}, template=…)",
        )
    return _taken(task, way)


def usual_measure(abilities: Abilities) -> str | None:
    """Return the default measure of multiple choice for a model; None stands for the letter in a generated answer.

    A base model is not trained to answer with a letter, so the likelihoods of the
    letters are compared.
    """
    is_sure = "likelihood" not in abilities.unsure
    is_base = abilities.chat is not True
    if abilities.likelihood and is_sure and is_base:
        return f"letter_{LIKELIHOOD}"
    return None


def is_plain(task: Task) -> bool:
    """Return True if a task defines neither a prompt nor scorers."""
    return task.template is None and not task.scorers and not task.measures


def spelled(
    name: str,
    names: Mapping[str, Any],
) -> str:
    """Return the current name of a measure. A former name is translated."""
    if name != LIKELIHOOD or name in names:
        return name
    likelihood_names = (now for now in names if now.endswith(f"_{LIKELIHOOD}"))
    return next(likelihood_names, name)


def _keeps_prompt(way: Measure) -> bool:
    """Return True if a measure compares the likelihoods of letters and keeps the task's own prompt."""
    return isinstance(way.template, WeighedLetters) and way.template.of is None


def can_serve(abilities: Abilities, way: Measure) -> bool:
    """Return True if a model has all abilities that a measure needs."""
    return not _lacking(abilities, way)


def _lacking(abilities: Abilities, way: Measure) -> set[str]:
    """Return the abilities that a measure needs and the model lacks."""
    return {need for need in way.needs if not getattr(abilities, need, False)}


def _ways(task: Task) -> Iterator[Measure]:
    """Yield the measures that a task offers. Names of standard measures are looked up."""
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
    """Return the task with a measure applied.

    If the run sets scorers, they stay. The original task in `origin` is changed in the
    same way.
    """
    changes = _changes(task, way)
    if task.origin is not None:
        origin_changes = _changes(task.origin, way)
        changes["origin"] = task.origin.but(**origin_changes)
        if task.scorers != task.origin.scorers:
            changes |= {"scorers": task.scorers, "summarizers": task.summarizers}
    changed = task.but(**changes)
    return Measured(changed, way.name)


def _changes(task: Task, way: Measure) -> dict[str, Any]:
    """Return the fields of a task that a measure changes, with their new values."""
    changes: dict[str, Any] = {
        "measures": (),
        "protocol": _protocol_with(task.protocol, way.name),
    }
    if _keeps_prompt(way):
        changes["template"] = replace(way.template, of=task.template)
    elif way.template is not None:
        changes["template"] = way.template
    if way.scorers:
        changes["scorers"] = way.scorers
        if way.summarizers is not None:
            changes["summarizers"] = way.summarizers
        else:
            changes["summarizers"] = task.summarizers
    if way.options:
        changes["options"] = task.options.set(**way.options)
    return changes


def _protocol_with(protocol: str, measure: str) -> str:
    """Add the name of the measure to the protocol id."""
    if "@" in protocol:
        return f"{protocol}-{measure}"
    return f"{protocol}@{measure}"
