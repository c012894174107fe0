"""Labels: unique names of a task's scorers.

A scorer keeps its plain name if no other scorer has the same. Otherwise the label shows
the difference: the file (`a1.py:score`), the options (`wer(normalize=whisper-en)`), or
a number.
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
from ...core.secrets import redact_options

Named = tuple[str, Any]
"""A scorer with its name."""


@dataclass(slots=True)
class _Clashing:
    """A scorer that has the same name as another one and needs a new label."""

    label: str
    file: str
    """The scorer's source file; empty for a registered scorer."""
    options: Mapping[str, str] = field(default_factory=dict)


def with_unique_names(
    entries: Sequence[Any],
    built: Sequence[Named],
    where: str,
    faults: list[AssayError],
) -> list[Named]:
    """Return the scorers with unique names. If a scorer is listed twice, add an error to `faults`.

    `entries` are the entries of the task, from which the scorers in `built` were made.
    """
    counts = Counter(name for name, _ in built)
    if max(counts.values(), default=0) < 2:
        return list(built)
    used_names = {name for name, count in counts.items() if count == 1}
    labels = {index: name for index, (name, _) in enumerate(built) if counts[name] == 1}
    kept_indexes = set(labels)
    names = [name for name, count in counts.items() if count > 1]
    for name in names:
        indexes = [index for index, (other, _) in enumerate(built) if other == name]
        clashing = {
            index: _Clashing(
                name,
                _file(entries[index], built[index][1]),
                _options(entries[index]),
            )
            for index in indexes
        }
        identities: set[tuple[Any, ...]] = set()
        for index in indexes:
            scorer = built[index][1]
            # Two functions on one line have the same digest, since it covers the bytes of their file.
            identity = (
                clashing[index].file,
                code_digest(scorer),
                getattr(scorer, "__code__", None),
            )
            if identity in identities:
                fix = "name it once, or give one of them other options"
                fault = UsageError(
                    f"scorer {name!r} is named twice with the same options",
                    where=where,
                    fix=fix,
                )
                faults.append(fault)
            else:
                kept_indexes.add(index)
            identities.add(identity)
        _name_by_file(list(clashing.values()))
        for label in dict.fromkeys(
            scorer_clash.label for scorer_clash in clashing.values()
        ):
            _name_by_options(
                [
                    scorer_clash
                    for scorer_clash in clashing.values()
                    if scorer_clash.label == label
                ]
            )
        for index in indexes:
            labels[index] = _free(clashing[index].label, used_names)
            used_names.add(labels[index])
    return [(labels[index], built[index][1]) for index in sorted(kept_indexes)]


def with_unique_metrics(
    results: Iterable[Result],
    before: Iterable[Result],
    scorer: str,
) -> list[Result]:
    """Return the results of one scorer, with metric names that do not occur in `before`.

    If a name is taken, the scorer's name is added: `mean (wer)`.
    """
    used = {(result.task, result.model, result.metric) for result in before}
    renamed = []
    for r in results:
        renamed.append(
            replace(r, metric=f"{r.metric} ({scorer})")
            if (r.task, r.model, r.metric) in used
            else r
        )
    return renamed


def _name_by_file(clashing: Sequence[_Clashing]) -> None:
    """Rename scorers that share a name by their files, if these differ."""
    files = {clash.file for clash in clashing}
    if len(files) < 2:
        return
    for clash in clashing:
        if clash.file:
            clash.label = f"{_tail(clash.file, files - {clash.file})}:{clash.label}"


def _tail(
    file: str,
    others: Iterable[str],
) -> str:
    """Return the shortest end of a path that distinguishes the path from the others: `a/x.py`, `b/x.py -> a/x.py`."""
    parts = Path(file).parts
    for length in range(1, len(parts)):
        tail = parts[-length:]
        if all(Path(other).parts[-length:] != tail for other in others):
            return "/".join(tail)
    return file


def _name_by_options(clashing: Sequence[_Clashing]) -> None:
    """Rename scorers that share a name by the options in which they differ."""
    differing = [
        differing_options(clash.options, [other.options for other in clashing])
        for clash in clashing
    ]
    for clash, options in zip(clashing, differing, strict=True):
        if options:
            clash.label = f"{clash.label}({options})"


def differing_options(
    options: Mapping[str, Any],
    others: Sequence[Mapping[str, Any]],
) -> str:
    """Return the options that distinguish a component from others with the same name, as text: `by=topic most=3`."""
    names = [
        name
        for name in options
        if any(options[name] != other.get(name) for other in others)
    ]
    # Blanks between them: a comma would end the metric for readers of lm-eval's files.
    return " ".join(f"{name}={options[name]}" for name in names)


def _free(
    label: str,
    used_names: set[str],
) -> str:
    """Return the label, with a number if the label is already used: `wer`, `wer#2`."""
    number = 1
    free = label
    while free in used_names:
        number += 1
        free = f"{label}#{number}"
    return free


def _options(entry: object) -> dict[str, str]:
    """Return the options of a scorer with their values as text."""
    options: Mapping[str, Any] = {}
    if isinstance(entry, (str, Mapping, Spec)):
        options = {
            name: value
            for name, value in Spec.of(entry).options.items()
            if name != "label"
        }
    elif is_dataclass(entry) and not isinstance(entry, type):
        options = {}
        for f in fields(entry):
            if f.init and f.compare:
                options[f.name] = getattr(entry, f.name)
    return {str(name): _text(value) for name, value in redact_options(options).items()}


def _text(value: object) -> str:
    """Return an option's value as short text."""
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(
            value,
            ensure_ascii=False,
            default=_name_of,
        )
    if len(text) > 40:
        return shorten(text).strip("'\"")
    return text


def _name_of(value: object) -> str:
    """Return the name of a value that JSON cannot represent."""
    return str(getattr(value, "__name__", None) or type(value).__name__)


def _file(entry: object, scorer: object) -> str:
    """Return the source file of a scorer; empty for a registered one."""
    if isinstance(entry, (str, Mapping, Spec)):
        name = Spec.of(entry).name
        if is_reference(name):
            return os.path.abspath(Path(split_reference(name)[0]).expanduser())
        return ""
    if inspect.isroutine(scorer) or isinstance(scorer, type):
        kind = scorer
    else:
        kind = type(scorer)
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")
