"""`assay leaderboard`: models over the tasks of some runs, every value with its
interval, and ranks with ties.

Each column is one metric under one protocol, so values that were measured differently
are in separate columns. In a column, models are compared on their common samples. If
all columns have the same scale, models are also compared by the mean of the columns.

A rank is a range, because a difference may not be significant. The best rank of a model
comes after all models that are significantly better, its worst rank before all that are
significantly worse. Two models that cannot be distinguished share ranks. p values are
adjusted over all pairs by Holm's method.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from ..core import Result, UsageError
from ..store import RunReader
from ..store.imported import open_run
from ..summarizers.statistics import (
    Estimate,
    clustered_mean,
    holm,
    macro,
    mean_interval,
)
from ..summarizers.statistics.difference_intervals import difference_p
from .compared_values import Values
from .comparing import compare_number
from .comparison_rows import SIGNIFICANCE, Row
from .several import short_paths


@dataclass(frozen=True, slots=True)
class Rank:
    """The best and the worst rank that a model may have, given the uncertainty of its results."""

    best: int
    worst: int
    ties: tuple[str, ...] = ()
    """The names of the models that cannot be distinguished from this one."""

    def __str__(self) -> str:
        if self.best == self.worst:
            return str(self.best)
        return f"{self.best}–{self.worst}"


@dataclass(frozen=True, slots=True)
class Duel:
    """The comparison of two models: by how much the first one is better, and the p value."""

    gain: float
    p: float


def rank(
    names: Sequence[str],
    duel: Callable[[str, str], Duel | None],
) -> Mapping[str, Rank]:
    """Return the rank of each model. `duel` compares two models; it returns None if they cannot be compared."""
    pairs = []
    duels = []
    for pair in combinations(names, 2):
        result = duel(*pair)
        if result is not None:
            pairs.append(pair)
            duels.append(result)
    adjusted = holm([result.p for result in duels])
    better: dict[str, set[str]] = {name: set() for name in names}
    worse: dict[str, set[str]] = {name: set() for name in names}
    for (first, second), result, p in zip(pairs, duels, adjusted, strict=True):
        if p >= SIGNIFICANCE:
            continue
        if result.gain > 0:
            better[second].add(first)
            worse[first].add(second)
        elif result.gain < 0:
            better[first].add(second)
            worse[second].add(first)
    ranks = {}
    for name in names:
        decided = better[name] | worse[name] | {name}
        ties = tuple(other for other in names if other not in decided)
        best = 1 + len(better[name])
        last = len(names) - len(worse[name])
        ranks[name] = Rank(best, last, ties)
    return ranks


SHARE = (0.0, 1.0)
LEAST_TO_RANK = 2


@dataclass(
    frozen=True,
    slots=True,
    order=True,
)
class Column:
    """One column of the leaderboard: a metric of a task, measured under one protocol."""

    protocol: str
    metric: str
    higher_is_better: bool

    @property
    def title(self) -> str:
        """The heading of the column in a table."""
        return f"{self.protocol} {self.metric} {'↑' if self.higher_is_better else '↓'}"


@dataclass(slots=True)
class Entry:
    """A model with its results, and the run that each result comes from."""

    name: str
    model: str
    numbers: dict[Column, tuple[Result, RunReader]] = field(default_factory=dict)
    mean: Estimate | None = None
    """The mean over all columns; None if the model lacks one, or the columns have different scales."""


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard: its rows are models, its columns are metrics of tasks."""

    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    """The models, the best first."""
    ranks: Mapping[Column | None, Mapping[str, Rank]]
    """Ranks by column and model name; the key `None` stands for all columns together."""
    notes: tuple[str, ...] = ()

    @cached_property
    def missing(self) -> list[tuple[str, Column]]:
        """Pairs of a model and a column, for every value that is missing."""
        gaps = []
        for entry in self.entries:
            for column in self.columns:
                if column not in entry.numbers:
                    gaps.append((entry.name, column))
        return gaps

    @property
    def overall(self) -> Mapping[str, Rank]:
        """The ranks over all columns by model name. If there is a single column, they are its ranks."""
        if len(self.columns) == 1:
            only = self.ranks.get(self.columns[0])
        else:
            only = None
        return self.ranks.get(None) or only or {}

    def to_plain(self) -> dict[str, Any]:
        """Return the leaderboard as JSON, for `--format json`."""
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
        """Return one model as JSON."""
        cells: list[dict[str, Any] | None] = []
        for column in self.columns:
            number = entry.numbers.get(column)
            if number is None:
                cells.append(None)
                continue
            result, reader = number
            own_rank = self.ranks.get(column, {}).get(entry.name)
            cells.append(
                {
                    "value": result.value,
                    "ci": None if result.ci is None else list(result.ci),
                    "n": result.n,
                    "rank": _plain_rank(own_rank),
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
    folders: Sequence[Path | RunReader],
    metrics: Sequence[str] = (),
    tasks: Sequence[str] = (),
) -> Leaderboard:
    """Return the leaderboard of run folders or readers. Only the last run of each model and protocol is used.

    `metrics` and `tasks` select the columns; by default every task has a column for its
    first metric.
    """
    notes: list[str] = []
    entries = _entries(folders, metrics, tasks, notes)
    columns = tuple(sorted({column for entry in entries for column in entry.numbers}))
    if not columns:
        filters = ", ".join([*tasks, *metrics])
        if filters:
            message = f"no run has a number of {filters}"
        else:
            message = "no run here has numbers yet"
        raise UsageError(message, fix="name other runs, tasks or metrics")
    values = Values()
    duels = _Duels(values)
    ranks: dict[Column | None, Mapping[str, Rank]] = {}
    for column in columns:
        models = {entry.name: entry for entry in entries if column in entry.numbers}
        if len(models) >= LEAST_TO_RANK:
            ranks[column] = rank(list(models), duels.in_column(models, column))
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
    entries.sort(key=lambda entry: (_sort_key(entry, columns, ranks), entry.name))
    return Leaderboard(columns, tuple(entries), ranks, tuple(dict.fromkeys(notes)))


def _entries(
    folders: Sequence[Path | RunReader],
    metrics: Sequence[str],
    tasks: Sequence[str],
    notes: list[str],
) -> list[Entry]:
    """Return the models of the runs, the last run first. Different models with the same name get distinct names."""
    readers = sorted(
        map(_reader, folders),
        key=_finish_time,
        reverse=True,
    )
    sources = [reader.source for reader in readers]
    names = dict(zip(sources, short_paths(sources), strict=True))
    entries: dict[tuple[str, str], Entry] = {}
    older = 0
    for reader in readers:
        digests = _digests(reader)
        for result in _headlines(reader, metrics, tasks):
            key = result.model, digests.get((result.task, result.model), "")
            entry = entries.get(key)
            if entry is None:
                is_known = any(model == result.model for model, _ in entries)
                if is_known:
                    name = f"{result.model} ({names[reader.source]})"
                else:
                    name = result.model
                entry = entries[key] = Entry(name, result.model)
            column = Column(
                result.protocol or result.task,
                result.metric,
                result.higher_is_better,
            )
            if column in entry.numbers:
                older += 1
            else:
                entry.numbers[column] = result, reader
        if reader.damage:
            notes.append(f"{names[reader.source]}: damaged: {reader.damage[0]}")
    if older:
        if older == 1:
            count = "1 older number"
        else:
            count = f"{older} older numbers"
        verb = "is" if older == 1 else "are"
        notes.append(
            f"{count} of the same model and protocol {verb} left out: the last run counts"
        )
    return list(entries.values())


def _reader(folder: Path | RunReader) -> RunReader:
    """Return a reader of a run folder."""
    if isinstance(folder, RunReader):
        return folder
    return open_run(folder)


def _finish_time(reader: RunReader) -> tuple[str, int]:
    """Return a sort key for runs: when the run ended, then when its manifest was written."""
    manifest = reader.manifest_if_any
    if not manifest:
        return "", 0
    finished = manifest.get("finished") or manifest.get("started") or ""
    modified = reader.layout.manifest.stat().st_mtime_ns
    return str(finished), modified


def _digests(reader: RunReader) -> dict[tuple[str, str], str]:
    """Return the digest of each model, by task and model name. Different models may have the same name."""
    digests: dict[tuple[str, str], str] = {}
    for entry in reader.manifest_if_any.get("cells", ()):
        if not isinstance(entry, Mapping):
            continue
        task = str(entry.get("task"))
        model = str(entry.get("model"))
        digest = (entry.get("digests") or {}).get("model", "")
        digests[task, model] = str(digest)
    return digests


def _headlines(
    reader: RunReader,
    metrics: Sequence[str],
    tasks: Sequence[str],
) -> list[Result]:
    """Return the first result of each task and model of a run, or the results of the requested metrics."""
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
    """Compares two models in one column or in all columns, and caches each comparison."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._rows: dict[tuple[str, str, Column], Row] = {}
        self.notes: list[str] = []

    def row(
        self,
        first: Entry,
        second: Entry,
        column: Column,
    ) -> Row:
        """Return the comparison of two models in a column."""
        key = first.name, second.name, column
        if key not in self._rows:
            result, reader = first.numbers[column]
            row = compare_number(
                result,
                reader,
                second.numbers[column][1],
                second.model,
                self._values,
            )
            self._rows[key] = row
            if row.paired is None:
                note = f"{column.title}: {first.name} and {second.name} not compared: {row.refused}"
                self.notes.append(note)
        return self._rows[key]

    def in_column(
        self,
        models: Mapping[str, Entry],
        column: Column,
    ) -> Callable[[str, str], Duel | None]:
        """Return a function that compares two models in one column by their names."""
        return lambda a, b: self.one(models[a], models[b], column)

    def one(
        self,
        first: Entry,
        second: Entry,
        column: Column,
    ) -> Duel | None:
        """Return the lead of the first model over the second in a column. Return None if they cannot be compared."""
        paired = self.row(first, second, column).paired
        if paired is None:
            return None
        return Duel(
            paired.difference.value * (1 if column.higher_is_better else -1), paired.p
        )

    def all(
        self,
        first: Entry,
        second: Entry,
        columns: Sequence[Column],
    ) -> Duel | None:
        """Return the mean lead of one model over another across all columns, and its p
        value.

        Return None if the models cannot be compared.
        """
        if len(columns) == 1:
            return self.one(first, second, columns[0])
        if any(self.row(first, second, column).paired is None for column in columns):
            return None
        mean = macro([self._difference(first, second, column) for column in columns])
        return Duel(mean.value, difference_p(mean))

    def _difference(
        self,
        first: Entry,
        second: Entry,
        column: Column,
    ) -> Estimate:
        """Return the mean difference between two models on their common samples.

        If few samples differ, the estimate has few degrees of freedom.
        """
        row = self.row(first, second, column)
        common = sorted(row.after.keys() & row.before.keys())
        differences = []
        for id in common:
            differences.append(row.after[id] - row.before[id])
        result, reader = first.numbers[column]
        if result.clusters is None:
            return mean_interval(differences)
        clusters = self._values.of_samples(reader, result, first.model)[1]
        keys = [clusters[id] for id in common]
        return clustered_mean(
            differences,
            keys,
            binary=False,
        )


def _is_one_scale(
    entries: Sequence[Entry],
    columns: Sequence[Column],
    values: Values,
) -> bool:
    """Return True if a mean over the columns makes sense: all have the same scale, and higher is better."""
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
            if numbers and set(numbers.values()) <= {0.0, 1.0}:
                scale = SHARE
            else:
                scale = None
        scales.add(None if scale is None else tuple(scale))
    return len(scales) == 1 and None not in scales


def _add_means(
    entries: Sequence[Entry],
    columns: Sequence[Column],
) -> None:
    for entry in entries:
        if all(column in entry.numbers for column in columns):
            parts = [_estimate(entry.numbers[column][0]) for column in columns]
            if len(parts) == 1:
                entry.mean = parts[0]
            else:
                entry.mean = macro(parts)


def _estimate(result: Result) -> Estimate:
    low, high = result.ci or (None, None)
    value = float(result.value or 0.0)
    return Estimate(
        value,
        result.stderr,
        low,
        high,
        result.n,
        result.clusters,
        result.interval,
    )


def _sort_key(
    entry: Entry,
    columns: Sequence[Column],
    ranks: Mapping[Column | None, Mapping[str, Rank]],
) -> tuple[float, ...]:
    """Return a sort key: entries with a mean first, ordered by it, and then the others by `_key_without_mean`."""
    if entry.mean is not None:
        return 0.0, -entry.mean.value
    return 1.0, *_key_without_mean(entry, columns, ranks)


def _key_without_mean(
    entry: Entry,
    columns: Sequence[Column],
    ranks: Mapping[Column | None, Mapping[str, Rank]],
) -> tuple[float, float, float]:
    """Return a sort key for entries without a mean.

    It orders by fewer missing values, then the better mean rank, then the better first
    value.
    """
    missing = sum(column not in entry.numbers for column in columns)
    best_ranks = []
    for column in columns:
        rank_of_column = ranks.get(column, {}).get(entry.name)
        if rank_of_column is not None:
            best_ranks.append(rank_of_column.best)
    mean_rank = 0.0
    if best_ranks:
        mean_rank = sum(best_ranks) / len(best_ranks)
    return float(missing), mean_rank, -_first_value(entry, columns)


def _first_value(
    entry: Entry,
    columns: Sequence[Column],
) -> float:
    """Return the value in the first column that the entry has. Return 0 if it has no
    values.

    The value is negated if lower is better.
    """
    for column in columns:
        if column in entry.numbers:
            result, _ = entry.numbers[column]
            value = float(result.value or 0.0)
            return value if column.higher_is_better else -value
    return 0.0


def _plain_rank(place: Rank | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"best": place.best, "worst": place.worst, "ties": list(place.ties)}
