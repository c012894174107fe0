"""`assay leaderboard`: models over the tasks of some runs, every value with its interval, ranks with ties.

A column is a protocol and a metric: numbers measured in other ways stand in columns of their own. Models are compared
on the samples they share, column by column, and by the mean of all columns where these are of one scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core import Result, UsageError
from ..store import RunReader
from ..summarizers.statistics import Estimate, clustered_mean, macro, mean_interval
from ..summarizers.statistics.compare import difference_p
from .comparing import compare_number
from .ranking import Duel, Rank, rank
from .rows import Row
from .several import short_paths
from .values import Values

SHARE = (0.0, 1.0)
LEAST_TO_RANK = 2


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """One number that models are ranked by."""

    protocol: str
    metric: str
    higher_is_better: bool

    @property
    def title(self) -> str:
        """As a table heads it."""
        return f"{self.protocol} {self.metric} {'↑' if self.higher_is_better else '↓'}"


@dataclass(slots=True)
class Entry:
    """A model, and where each of its numbers comes from."""

    name: str
    model: str
    numbers: dict[Column, tuple[Result, RunReader]] = field(default_factory=dict)
    mean: Estimate | None = None
    """Over all columns; none where one is missing, or they are not of one scale."""


@dataclass(frozen=True)
class Leaderboard:
    """Models in rows, tasks in columns."""

    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    """The best first."""
    ranks: Mapping[Column | None, Mapping[str, Rank]]
    """By column and name of the model; by `None`: over all columns."""
    notes: tuple[str, ...] = ()

    @cached_property
    def missing(self) -> list[tuple[str, Column]]:
        """Models and the columns they have no number in."""
        return [
            (one.name, column)
            for one in self.entries
            for column in self.columns
            if column not in one.numbers
        ]

    @property
    def overall(self) -> Mapping[str, Rank]:
        """The ranks over all columns, by name of the model; those of the only column where there is but one."""
        only = self.ranks.get(self.columns[0]) if len(self.columns) == 1 else None
        return self.ranks.get(None) or only or {}

    def to_plain(self) -> dict[str, Any]:
        """The document of `--format json`."""
        columns = [
            {
                "protocol": c.protocol,
                "metric": c.metric,
                "higher_is_better": c.higher_is_better,
            }
            for c in self.columns
        ]
        return {
            "columns": columns,
            "models": [self._plain(entry) for entry in self.entries],
            "notes": list(self.notes),
        }

    def _plain(self, entry: Entry) -> dict[str, Any]:
        cells: list[dict[str, Any] | None] = []
        for column in self.columns:
            found = entry.numbers.get(column)
            if found is None:
                cells.append(None)
                continue
            result, reader = found
            place = self.ranks.get(column, {}).get(entry.name)
            cells.append(
                {
                    "value": result.value,
                    "ci": None if result.ci is None else list(result.ci),
                    "n": result.n,
                    "rank": _plain_rank(place),
                    "run": str(reader.layout.folder),
                }
            )
        overall = entry.mean
        return {
            "name": entry.name,
            "model": entry.model,
            "rank": _plain_rank(self.ranks.get(None, {}).get(entry.name)),
            "mean": None if overall is None else overall.value,
            "mean_ci": None
            if overall is None or overall.low is None
            else [overall.low, overall.high],
            "cells": cells,
        }


def make_leaderboard(
    folders: Sequence[Path], metrics: Sequence[str] = (), tasks: Sequence[str] = ()
) -> Leaderboard:
    """The leaderboard of some run folders: the last run of each model and protocol counts.

    `metrics` and `tasks` name the columns to take; without, every task has one, by its first metric.
    """
    notes: list[str] = []
    entries = _entries(folders, metrics, tasks, notes)
    columns = tuple(sorted({column for entry in entries for column in entry.numbers}))
    if not columns:
        filters = ", ".join([*tasks, *metrics])
        what = (
            f"no run has a number of {filters}"
            if filters
            else "no run here has numbers yet"
        )
        raise UsageError(what, fix="name other runs, tasks or metrics")
    values = Values()
    duels = _Duels(values)
    ranks: dict[Column | None, Mapping[str, Rank]] = {}
    for column in columns:
        models = {entry.name: entry for entry in entries if column in entry.numbers}
        if len(models) >= LEAST_TO_RANK:
            ranks[column] = rank(
                list(models),
                lambda a, b, names=models, c=column: duels.one(names[a], names[b], c),
            )  # type: ignore[misc]
    if _is_one_scale(entries, columns, values):
        _add_means(entries, columns)
        whole = {entry.name: entry for entry in entries if entry.mean is not None}
        if len(whole) >= LEAST_TO_RANK:
            ranks[None] = rank(
                list(whole), lambda a, b: duels.all(whole[a], whole[b], columns)
            )
    elif len(columns) > 1:
        notes.append("no mean: the columns are not of one scale")
    notes += duels.notes
    entries.sort(key=lambda entry: _place(entry, columns, ranks))
    return Leaderboard(columns, tuple(entries), ranks, tuple(dict.fromkeys(notes)))


def _entries(
    folders: Sequence[Path],
    metrics: Sequence[str],
    tasks: Sequence[str],
    notes: list[str],
) -> list[Entry]:
    """The models of some runs, the last run first; models of one name that are not the same are told apart."""
    readers = sorted(
        (RunReader(folder) for folder in folders), key=_finished, reverse=True
    )
    names = dict(
        zip(
            [r.layout.folder for r in readers],
            short_paths([r.layout.folder for r in readers]),
            strict=True,
        )
    )
    found: dict[tuple[str, str], Entry] = {}
    older = 0
    for reader in readers:
        digests = _digests(reader)
        for result in _headlines(reader, metrics, tasks):
            key = result.model, digests.get((result.task, result.model), "")
            entry = found.get(key)
            if entry is None:
                is_known = any(model == result.model for model, _ in found)
                name = (
                    f"{result.model} ({names[reader.layout.folder]})"
                    if is_known
                    else result.model
                )
                entry = found[key] = Entry(name, result.model)
            column = Column(
                result.protocol or result.task, result.metric, result.higher_is_better
            )
            if column in entry.numbers:
                older += 1
            else:
                entry.numbers[column] = result, reader
        if reader.damage:
            notes.append(f"{names[reader.layout.folder]}: damaged: {reader.damage[0]}")
    if older:
        notes.append(
            f"{older} older numbers of the same model and protocol are left out: the last run counts"
        )
    return list(found.values())


def _finished(reader: RunReader) -> tuple[str, int]:
    """When a run ended; within a second, when that was written down."""
    path = reader.layout.manifest
    manifest = reader.manifest_if_any
    return str(
        manifest.get("finished") or manifest.get("started") or ""
    ), path.stat().st_mtime_ns if manifest else 0


def _digests(reader: RunReader) -> dict[tuple[str, str], str]:
    cells = [
        cell
        for cell in reader.manifest_if_any.get("cells", ())
        if isinstance(cell, Mapping)
    ]
    return {
        (c.get("task"), c.get("model")): str((c.get("digests") or {}).get("model", ""))
        for c in cells
    }  # type: ignore[misc]


def _headlines(
    reader: RunReader, metrics: Sequence[str], tasks: Sequence[str]
) -> list[Result]:
    """The first number of each task and model of a run, or those with the names that were asked for."""
    chosen: dict[tuple[str, str, str], Result] = {}
    for result in reader.results:
        if result.value is None or (
            tasks and not {result.task, result.protocol} & set(tasks)
        ):
            continue
        if metrics and result.metric not in metrics:
            continue
        chosen.setdefault(
            (result.task, result.model, result.metric if metrics else ""), result
        )
    return list(chosen.values())


class _Duels:
    """Two models compared in a column, or in all of them; what was compared once is known."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._rows: dict[tuple[str, str, Column], Row] = {}
        self.notes: list[str] = []

    def row(self, first: Entry, second: Entry, column: Column) -> Row:
        key = first.name, second.name, column
        if key not in self._rows:
            result, reader = first.numbers[column]
            row = compare_number(
                result, reader, second.numbers[column][1], second.model, self._values
            )
            self._rows[key] = row
            if row.paired is None:
                self.notes.append(
                    f"{column.title}: {first.name} and {second.name} not compared: {row.refused}"
                )
        return self._rows[key]

    def one(self, first: Entry, second: Entry, column: Column) -> Duel | None:
        paired = self.row(first, second, column).paired
        if paired is None:
            return None
        return Duel(
            paired.difference.value * (1 if column.higher_is_better else -1), paired.p
        )

    def all(
        self, first: Entry, second: Entry, columns: Sequence[Column]
    ) -> Duel | None:
        if len(columns) == 1:
            return self.one(first, second, columns[0])
        if any(self.row(first, second, column).paired is None for column in columns):
            return None
        mean = macro([self._difference(first, second, column) for column in columns])
        return Duel(mean.value, difference_p(mean))

    def _difference(self, first: Entry, second: Entry, column: Column) -> Estimate:
        """The mean difference over common samples; few that differ leave it few degrees of freedom, as they should."""
        row = self.row(first, second, column)
        common = sorted(row.after.keys() & row.before.keys())
        differences = [row.after[id] - row.before[id] for id in common]
        result, reader = first.numbers[column]
        if result.clusters is None:
            return mean_interval(differences)
        _, clusters = self._values.of_samples(reader, result, first.model)
        return clustered_mean(
            differences, [clusters[id] for id in common], binary=False
        )


def _is_one_scale(
    entries: Sequence[Entry], columns: Sequence[Column], values: Values
) -> bool:
    """Whether a mean over the columns means something: all are shares or all have the same ends, and more is better."""
    scales = set()
    for column in columns:
        if not column.higher_is_better:
            return False
        result, reader = next(
            entry.numbers[column] for entry in entries if column in entry.numbers
        )
        if "recipe" in result.details:
            return False
        scale = result.details.get("scale")
        if scale is None:
            numbers, _ = values.of_samples(reader, result, result.model)
            scale = SHARE if numbers and set(numbers.values()) <= {0.0, 1.0} else None
        scales.add(None if scale is None else tuple(scale))
    return len(scales) == 1 and None not in scales


def _add_means(entries: Sequence[Entry], columns: Sequence[Column]) -> None:
    for entry in entries:
        if all(column in entry.numbers for column in columns):
            parts = [_estimate(entry.numbers[column][0]) for column in columns]
            entry.mean = parts[0] if len(parts) == 1 else macro(parts)


def _estimate(result: Result) -> Estimate:
    low, high = result.ci or (None, None)
    value = float(result.value or 0.0)
    return Estimate(
        value, result.stderr, low, high, result.n, result.clusters, result.interval
    )


def _place(
    entry: Entry,
    columns: Sequence[Column],
    ranks: Mapping[Column | None, Mapping[str, Rank]],
) -> tuple[Any, ...]:
    """What entries are sorted by: the mean, else fewer missing cells and better ranks."""
    if entry.mean is not None:
        return 0, -entry.mean.value, 0.0, entry.name
    places = [
        ranks[c][entry.name].best
        for c in columns
        if c in ranks and entry.name in ranks[c]
    ]
    missing = sum(column not in entry.numbers for column in columns)
    first = next((entry.numbers[c] for c in columns if c in entry.numbers), None)
    value = (
        0.0
        if first is None
        else float(first[0].value or 0.0) * (1 if first[0].higher_is_better else -1)
    )
    return 1, missing, sum(places) / len(places) if places else 0.0, -value, entry.name


def _plain_rank(place: Rank | None) -> dict[str, Any] | None:
    return (
        None
        if place is None
        else {"best": place.best, "worst": place.worst, "ties": list(place.ties)}
    )
