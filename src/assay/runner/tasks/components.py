"""Build the scorers and summarizers of a task from a registered name, a spec, `file.py:function`, or an object."""

from collections.abc import Mapping
from typing import Any

from ... import registry
from ...code.userfiles import is_reference, load_component
from ...core import AssayError, Prompt, Sample, Spec, UsageError
from ...core.protocols import Template
from ...datasets import Samples
from ...summarizers.adapt import adapt_summarizer


def build_summarizer(entry: object, where: str) -> tuple[str, Any]:
    """Build a summarizer from a registered name, a spec, `file.py:function`, or an object. Return its name, too."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry, where=where)
        if not is_reference(spec.name):
            return spec.name, registry.summarizers.build(spec, where=where)
        name, thing = load_component(spec.name, "summarize")
        summarizer = registry.construct(
            thing,
            spec,
            kind="summarizer",
            where=where,
        )
        return spec.name, adapt_summarizer(summarizer, name)
    if not callable(entry):
        raise UsageError(f"a summarizer must be callable, got {entry!r}", where=where)
    name = str(getattr(entry, "__name__", type(entry).__name__))
    summarizer = entry() if isinstance(entry, type) else entry
    return name, adapt_summarizer(summarizer, name)


def build_scorer(entry: object, where: str) -> tuple[str, Any]:
    """Build a scorer from a registered name, a spec, `file.py:function`, or an object. Return its name, too."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry, where=where)
        options = dict(spec.options)
        label = str(options.pop("label", ""))
        bare = Spec(spec.name, options)
        if is_reference(spec.name):
            name, thing = load_component(spec.name, "score")
            return label or name, registry.construct(
                thing,
                bare,
                kind="scorer",
                where=where,
            )
        name = label or registry.scorers.resolve(spec.name) or spec.name
        return name, registry.scorers.build(bare, where=where)
    if not callable(entry) and not hasattr(entry, "score_all"):
        raise UsageError(f"a scorer must be callable, got {entry!r}", where=where)
    name = (
        getattr(entry, "name", None)
        or getattr(entry, "__name__", None)
        or type(entry).__name__
    )
    return str(name), entry() if isinstance(entry, type) else entry


def default_scorers(
    kind: str,
    sample: Sample | None = None,
    prompt: Prompt | None = None,
) -> tuple[Any, ...]:
    """Return the scorers for data of a kind, if the task names none.

    Likelihoods of options have their own scorer.
    """
    if (
        sample is not None
        and prompt is not None
        and prompt.continuations is not None
        and sample.choices
    ):
        are_texts = [text.strip() for text in prompt.continuations] == [
            choice.strip() for choice in sample.choices
        ]
        return (
            {
                "name": "choice_likelihood",
                "continuation": "text" if are_texts else "letter",
            },
        )
    if kind == "mixed":
        return ("choice_or_match",)
    return ("choice",) if kind == "choice" else ("exact_match", "includes")


def usual_scorers(samples: Samples, template: Template) -> tuple[Any, ...]:
    """Return the scorers of a task that names none, chosen by its data and its first prompt."""
    first = next((s for s in samples if isinstance(s, Sample)), None)
    try:
        prompt = None if first is None else template(first)
    except AssayError:
        prompt = None  # reported or counted where it is asked
    return default_scorers(samples.kind, first, prompt)
