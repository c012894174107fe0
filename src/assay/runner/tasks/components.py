"""Build the scorers, summarizers and tools of a task."""

from collections.abc import Mapping
from typing import Any

from ... import registry
from ...code.userfiles import is_reference, load_component
from ...core import AssayError, Prompt, Sample, Spec, Task, UsageError, shorten, suggest
from ...core.protocols import Template
from ...datasets import Samples
from ...summarizers.adapt import adapt_summarizer
from ...tooling import SampleLimits, ToolSet
from ...tooling.simulated_user import SimulatedUser
from ..options import RunOptions


def build_summarizer(entry: object, where: str) -> tuple[str, Any]:
    """Build a summarizer from a registered name, a spec, `file.py:function`, or an object. Also return its name."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry, where=where)
        if not is_reference(spec.name):
            return spec.name, registry.summarizers.build(spec, where=where)
        name, target = load_component(spec.name, "summarize")
        summarizer = registry.construct(
            target,
            spec,
            kind="summarizer",
            where=where,
        )
        return spec.name, adapt_summarizer(summarizer, name)
    if not callable(entry):
        raise UsageError(f"a summarizer must be callable, got {entry!r}", where=where)
    name = str(getattr(entry, "__name__", type(entry).__name__))
    if isinstance(entry, type):
        summarizer = entry()
    else:
        summarizer = entry
    return name, adapt_summarizer(summarizer, name)


def build_scorer(entry: object, where: str) -> tuple[str, Any]:
    """Build a scorer from a registered name, a spec, `file.py:function`, or an object. Also return its name."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry, where=where)
        options = dict(spec.options)
        label = str(options.pop("label", ""))
        bare = Spec(spec.name, options)
        if is_reference(spec.name):
            name, target = load_component(spec.name, "score")
            scorer = registry.construct(target, bare, kind="scorer", where=where)
            return label or name, scorer
        name = label or registry.scorers.resolve(spec.name) or spec.name
        return name, registry.scorers.build(bare, where=where)
    if not callable(entry) and not hasattr(entry, "score_all"):
        raise UsageError(f"a scorer must be callable, got {entry!r}", where=where)
    name = (
        getattr(entry, "name", None)
        or getattr(entry, "__name__", None)
        or type(entry).__name__
    )
    scorer = entry() if isinstance(entry, type) else entry
    return str(name), scorer


def default_scorers(
    kind: str,
    sample: Sample | None = None,
    prompt: Prompt | None = None,
) -> tuple[Any, ...]:
    """Return the default scorers for a kind of data, such as `choice`.

    If the prompt compares the likelihoods of options, a scorer for likelihoods is
    returned.
    """
    continuations = None if prompt is None else prompt.continuations
    choices = () if sample is None else sample.choices
    if continuations is not None and choices:
        texts = [text.strip() for text in continuations]
        are_texts = texts == [choice.strip() for choice in choices]
        continuation = "text" if are_texts else "letter"
        return ({"name": "choice_likelihood", "continuation": continuation},)
    if kind == "mixed":
        return ("choice_or_match",)
    if kind == "choice":
        return ("choice",)
    return ("exact_match", "includes")


def usual_scorers(samples: Samples, template: Template) -> tuple[Any, ...]:
    """Return the default scorers of a task, chosen by its data and its first prompt."""
    first = next((s for s in samples if isinstance(s, Sample)), None)
    try:
        prompt = None if first is None else template(first)
    except AssayError:
        prompt = None  # reported or counted where it is asked
    return default_scorers(samples.kind, first, prompt)


LIMIT_FLAGS = {
    "turns": "max_turns",
    "calls": "max_calls",
    "tokens": "sample_tokens",
    "cost": "sample_cost",
    "seconds": "sample_seconds",
    "call_seconds": "tool_seconds",
}
"""For each limit of a sample, the name of the run option that sets it."""


def build_tools(task: Task) -> ToolSet | None:
    """Return the tools of a task, or None if it has none. Raise if one cannot be used."""
    where = f"task {task.name!r}"
    servers = [{"name": "mcp", "command": command} for command in task.mcp]
    entries = [*task.tools, *servers]
    if task.state is not None and not callable(task.state):
        raise UsageError(
            f"`state` is {shorten(task.state)}, which all samples would share",
            where=where,
            fix="write a function: def state(sample): return …",
        )
    if task.user is not None:
        user_place = f"{where}, key `user`"
        user = SimulatedUser(task.user, user_place)
        entries.append(user)
    if entries:
        return ToolSet.of(entries, task.state, where)
    if task.state is not None:
        raise UsageError(
            "`state` without tools",
            where=where,
            fix="add tools = […], or leave it out",
        )
    return None


def limits_of(task: Task, run: RunOptions) -> SampleLimits:
    """Return the limits of one sample: the run's, or the task's if the run sets none, or the defaults."""
    where = f"task {task.name!r}"
    values: dict[str, Any] = {}
    for name, value in task.limits.items():
        if name not in LIMIT_FLAGS:
            known_limits = sorted(LIMIT_FLAGS)
            fix = suggest(str(name), known_limits, "known:")
            problem = f"there is no limit {name!r}"
            raise UsageError(problem, where=where, fix=fix)
        is_number = isinstance(value, (int, float))
        if isinstance(value, bool) or not is_number:
            raise UsageError(
                f"the limit {name!r} is {value!r}",
                where=where,
                fix="write a number",
            )
        values[str(name)] = value
    for name, option in LIMIT_FLAGS.items():
        value = getattr(run, option)
        if value is not None:
            values[name] = value
    limits = SampleLimits(**values)
    limits.check()
    return limits
