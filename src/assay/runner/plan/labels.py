"""Labels: the names under which a task's scorers are kept and shown, no two alike.

A scorer keeps its plain name where no other has it. Where two clash, each is named by what differs: its file
(`a1.py:score`), else its options (`wer(normalize=whisper-en)`), else its number.
"""

import inspect
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ...code.fingerprint import code_digest
from ...code.userfiles import is_reference, split_reference
from ...core import AssayError, Result, Spec, UsageError, shorten
from ...core.secrets import veiled

Named = tuple[str, Any]
"""A scorer and its name."""


@dataclass(slots=True)
class _Clashing:
    """One of several scorers of the same name."""

    label: str
    file: str
    """Where it is written; empty for what is registered."""
    options: Mapping[str, str] = field(default_factory=dict)


def told_apart(
    entries: Sequence[Any], built: Sequence[Named], where: str, faults: list[AssayError]
) -> list[Named]:
    """The scorers under names that no two share; the same one twice is a fault. `entries` are what the task named."""
    counts = Counter(name for name, _ in built)
    if max(counts.values(), default=0) < 2:
        return list(built)
    used_names = {name for name, count in counts.items() if count == 1}
    labels = {at: name for at, (name, _) in enumerate(built) if counts[name] == 1}
    places_kept = set(labels)
    for name in [name for name, count in counts.items() if count > 1]:
        places = [at for at, (other, _) in enumerate(built) if other == name]
        clashing = {
            at: _Clashing(name, _file(entries[at], built[at][1]), _options(entries[at]))
            for at in places
        }
        identities: set[tuple[Any, ...]] = set()
        for at in places:
            scorer = built[at][1]
            # Two functions of one line have one digest: it is by the bytes of their file.
            which = (
                clashing[at].file,
                code_digest(scorer),
                getattr(scorer, "__code__", None),
            )
            if which in identities:
                fix = "name it once, or give one of them other options"
                faults.append(
                    UsageError(
                        f"scorer {name!r} is named twice with the same options",
                        where=where,
                        fix=fix,
                    )
                )
            else:
                places_kept.add(at)
            identities.add(which)
        _name_by_file(list(clashing.values()))
        for label in dict.fromkeys(one.label for one in clashing.values()):
            _name_by_options([one for one in clashing.values() if one.label == label])
        for at in places:
            labels[at] = _free(clashing[at].label, used_names)
            used_names.add(labels[at])
    return [(labels[at], built[at][1]) for at in sorted(places_kept)]


def metrics_apart(
    results: Iterable[Result], before: Iterable[Result], scorer: str
) -> list[Result]:
    """Results of one scorer; a metric that another scorer of the same cell has too is followed by the scorer's name."""
    used = {(result.task, result.model, result.metric) for result in before}
    return [
        replace(r, metric=f"{r.metric} ({scorer})")
        if (r.task, r.model, r.metric) in used
        else r
        for r in results
    ]


def _name_by_file(clashing: Sequence[_Clashing]) -> None:
    files = {one.file for one in clashing}
    if len(files) < 2:
        return
    for one in clashing:
        if one.file:
            one.label = f"{_tail(one.file, files - {one.file})}:{one.label}"


def _tail(file: str, others: Iterable[str]) -> str:
    """As much of a path, from its end, as no other path has."""
    parts = Path(file).parts
    for length in range(1, len(parts)):
        tail = parts[-length:]
        if all(Path(other).parts[-length:] != tail for other in others):
            return "/".join(tail)
    return file


def _name_by_options(clashing: Sequence[_Clashing]) -> None:
    differing = [
        differing_options(one.options, [other.options for other in clashing])
        for one in clashing
    ]
    for one, options in zip(clashing, differing, strict=True):
        if options:
            one.label = f"{one.label}({options})"


def differing_options(
    options: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> str:
    """The options in which one component differs from others of its name: `by=topic most=3`."""
    names = [
        name
        for name in options
        if any(options[name] != other.get(name) for other in others)
    ]
    # Blanks between them: a comma would end the metric for readers of lm-eval's files.
    return " ".join(f"{name}={options[name]}" for name in names)


def _free(label: str, used_names: set[str]) -> str:
    number, free = 1, label
    while free in used_names:
        number += 1
        free = f"{label}#{number}"
    return free


def _options(entry: Any) -> dict[str, str]:
    """The options a scorer was given, as text."""
    options: Mapping[str, Any] = {}
    if isinstance(entry, (str, Mapping, Spec)):
        options = {
            name: value
            for name, value in Spec.of(entry).options.items()
            if name != "label"
        }
    elif is_dataclass(entry) and not isinstance(entry, type):
        options = {
            f.name: getattr(entry, f.name)
            for f in fields(entry)
            if f.init and f.compare
        }
    return {str(name): _text(value) for name, value in veiled(options).items()}


def _text(value: Any) -> str:
    text = (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=_named)
    )
    return shorten(text).strip("'\"") if len(text) > 40 else text


def _named(value: Any) -> str:
    return str(getattr(value, "__name__", None) or type(value).__name__)


def _file(entry: Any, scorer: Any) -> str:
    if isinstance(entry, (str, Mapping, Spec)):
        name = Spec.of(entry).name
        return (
            os.path.abspath(Path(split_reference(name)[0]).expanduser())
            if is_reference(name)
            else ""
        )
    kind = (
        scorer
        if inspect.isroutine(scorer) or isinstance(scorer, type)
        else type(scorer)
    )
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
