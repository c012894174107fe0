"""Scorers and summarizers as a task names them: by a registered name, a spec, `file.py:function`, or themselves."""

from collections.abc import Mapping
from typing import Any

from .. import registry
from ..core import Spec, UsageError
from ..summarizers.adapt import adapt_summarizer
from ..userfiles import is_reference, load_attribute


def build_summarizer(entry: Any, where: str) -> tuple[str, Any]:
    """A summarizer and its name, from a registered name, a spec, `file.py:function`, or the thing itself."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry, where=where)
        if is_reference(spec.name):
            thing = registry.construct(load_attribute(spec.name), spec, kind="summarizer", where=where)
            return spec.name, adapt_summarizer(thing, spec.name.rpartition(":")[2])
        return spec.name, registry.summarizers.build(spec, where=where)
    if not callable(entry):
        raise UsageError(f"a summarizer must be callable, got {entry!r}", where=where)
    name = str(getattr(entry, "__name__", type(entry).__name__))
    return name, adapt_summarizer(entry() if isinstance(entry, type) else entry, name)


def build_scorer(entry: Any, where: str) -> tuple[str, Any]:
    """A scorer and its name, from a registered name, a spec, `file.py:function`, or the thing itself."""
    if isinstance(entry, (str, Mapping, Spec)):
        spec = Spec.of(entry, where=where)
        if is_reference(spec.name):
            thing = load_attribute(spec.name)
            return spec.name.rpartition(":")[2], registry.construct(thing, spec, kind="scorer", where=where)
        label = str(spec.options.get("label", "")) or registry.scorers.resolve(spec.name) or spec.name
        options = {k: v for k, v in spec.options.items() if k != "label"}
        return label, registry.scorers.build(Spec(spec.name, options), where=where)
    if not callable(entry) and not hasattr(entry, "score_all"):
        raise UsageError(f"a scorer must be callable, got {entry!r}", where=where)
    name = getattr(entry, "name", None) or getattr(entry, "__name__", None) or type(entry).__name__
    return str(name), entry() if isinstance(entry, type) else entry


def default_scorers(kind: str) -> tuple[str, ...]:
    """What data of a kind is scored by when nobody says."""
    return ("choice",) if kind == "choice" else ("exact_match", "includes")
