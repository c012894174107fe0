"""A run against an earlier one: paired on sample ids, so that a difference is more than two numbers side by side.

Answers that could not be read count as they do in the table, and samples that go right or wrong together there do so
here; samples without a verdict on either side are left out. Of either run, what its last summary counted is compared:
its answers to a sample are reduced as its own table says, and what comes out must be the number of that table.
"""

import shlex
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core import COUNTED_AS_ZERO, UNRESOLVED, Result, ScoreRecord
from ..core.record import result_from_plain
from ..report import format_value
from ..runner.result import RunResult
from ..runner.resume.recorded import recorded_ways, way_of
from ..store import RunReader
from ..summarizers.attempts import Attempts
from ..summarizers.mean import UNREAD_LEFT_OUT
from ..summarizers.recipes import Recipe
from ..summarizers.statistics import Comparison as Paired
from ..summarizers.statistics import compare_corpus, compare_paired, holm
from ..summarizers.units import one_value
from .damage import damage_lines

SIGNIFICANCE = 0.05
_WAYS = ("template", "to_sample", "shots", "options")
"""Digests of how samples are put to a model; one that differs makes another measurement."""
ROUNDING = 1e-6


@dataclass(slots=True)
class Row:
    """One number of the run beside the same number of the baseline."""

    task: str
    model: str
    baseline_model: str | None
    metric: str
    higher_is_better: bool
    paired: Paired | None = None
    p_adjusted: float | None = None
    """Holm over all rows that could be compared."""
    refused: str = ""
    """Why there is no comparison."""
    reducers: tuple[str, str] | None = None
    """How the baseline and the run reduced the answers to a sample, where that differs."""

    @property
    def verdict(self) -> str:
        """`better`, `worse`, `not distinguishable` or `not compared`."""
        if self.paired is None or self.p_adjusted is None:
            return "not compared"
        difference = self.paired.difference.value
        if self.p_adjusted >= SIGNIFICANCE or difference == 0:
            return "not distinguishable"
        return "better" if (difference > 0) == self.higher_is_better else "worse"

    def line(self) -> str:
        """The comparison in one line."""
        name = f"{self.task}.{self.metric}"
        if self.model != self.baseline_model and self.baseline_model is not None:
            name += f" ({self.model} against {self.baseline_model})"
        if self.paired is None:
            return f"{name}: not compared: {self.refused}"
        paired = self.paired
        low, high = paired.difference.low, paired.difference.high
        interval = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
        adjusted = "" if self.p_adjusted == paired.p else f", Holm {format_p(self.p_adjusted)}"
        return (
            f"{name}: {format_value(paired.mean_b)} → {format_value(paired.mean_a)}, "
            f"difference {paired.difference.value:+.3f}{interval}, p {format_p(paired.p)} ({paired.test}){adjusted}, "
            f"{paired.wins} up, {paired.losses} down of {paired.n} common ({paired.overlap:.0%}): {self.verdict}"
            + (f" ⚑ {paired.difference.unreliable}" if paired.difference.unreliable else "")
        )

    def to_plain(self) -> dict[str, Any]:
        """The row as JSON."""
        plain: dict[str, Any] = {
            "task": self.task,
            "model": self.model,
            "baseline_model": self.baseline_model,
            "metric": self.metric,
            "verdict": self.verdict,
        }
        if self.paired is None:
            return {**plain, "refused": self.refused}
        paired = self.paired
        return {
            **plain,
            "value": paired.mean_a,
            "baseline_value": paired.mean_b,
            "difference": paired.difference.value,
            "stderr": paired.difference.stderr,
            "ci": None if paired.difference.low is None else [paired.difference.low, paired.difference.high],
            "p": paired.p,
            "p_adjusted": self.p_adjusted,
            "test": paired.test,
            "wins": paired.wins,
            "losses": paired.losses,
            "n": paired.n,
            "overlap": paired.overlap,
            **({"unreliable": paired.difference.unreliable} if paired.difference.unreliable else {}),
        }


@dataclass(slots=True)
class Comparison:
    """All numbers of a run beside those of its baseline."""

    folder: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """How many numbers could be compared."""
        return sum(row.paired is not None for row in self.rows)

    def lines(self) -> list[str]:
        """What the terminal shows under the table."""
        nothing = [] if self.compared else ["  nothing was compared"]
        rows, notes = [f"  {row.line()}" for row in self.rows], [f"  {note}" for note in self.notes]
        return [f"against {self.folder}:", *rows, *nothing, *notes]

    def to_plain(self) -> dict[str, Any]:
        """The member `baseline` of `--json`."""
        rows = [row.to_plain() for row in self.rows]
        return {"run": self.folder, "compared": self.compared, "rows": rows, "notes": self.notes}


def format_p(p: float | None) -> str:
    """A p value; very small ones by their bound."""
    if p is None:
        return "n/a"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def open_baseline(baseline: str) -> RunReader:
    """The earlier run; raises when there is none, which is best known before a long run starts."""
    return RunReader(Path(baseline).expanduser())


def compare_with(baseline: str, result: RunResult) -> Comparison:
    """Every metric of `result` that the baseline has too, compared sample by sample."""
    before, after = open_baseline(baseline), RunReader(result.folder)
    rows = [_row(r, before, after) for r in result.results]
    compared = [row for row in rows if row.paired is not None]
    adjusted = holm([row.paired.p for row in compared if row.paired is not None])
    for row, p in zip(compared, adjusted, strict=True):
        row.p_adjusted = p
    notes = [*damage_lines(before), *_reducer_notes(rows), *_notes(before.manifest, after.manifest)]
    return Comparison(str(before.layout.folder), rows, notes)


def _row(result: Result, before: RunReader, after: RunReader) -> Row:
    row = Row(result.task, result.model, None, result.metric, result.higher_is_better)
    models = [model for task, model in before.index.cells if task == result.task]
    if not models:
        row.refused = f"the baseline has no task {result.task!r}"
        return row
    if result.model not in models and len(models) > 1:
        row.refused = f"the baseline has several models: {', '.join(models)}"
        return row
    row.baseline_model = result.model if result.model in models else models[0]
    table = _same_number(before, result, row.baseline_model)
    if "recipe" in result.details:
        _compare_counts(row, result, table, before, after)
        return row
    ours, clusters = sample_values(after, result.task, result.model, result)
    theirs, _ = sample_values(before, result.task, row.baseline_model, table or result)
    if not ours or not theirs:
        whose = "this run" if not ours else "the baseline"
        row.refused = _unscored(result, before, after, row.baseline_model) or f"{whose} has no value for each sample"
        return row
    if not _is_mean(ours, result):
        row.refused = "the number is not the mean of its samples"
        return row
    if table is not None and not _is_mean(theirs, table):
        row.refused = "the baseline's number is not the mean of its samples"
        return row
    if table is not None and reducer_of(table) != reducer_of(result):
        row.reducers = (reducer_of(table), reducer_of(result))
    is_clustered = result.clusters is not None
    try:
        row.paired = compare_paired(
            ours,
            theirs,
            clusters if is_clustered else None,
            bounds=_scale(result, table),
        )
    except ValueError as error:
        row.refused = str(error).partition(";")[0]
    return row


def _compare_counts(row: Row, result: Result, table: Result | None, before: RunReader, after: RunReader) -> None:
    """A number of the whole corpus, made in both runs of the counts of each sample by the same formula."""
    recipe = Recipe.from_plain(result.details["recipe"])
    if recipe is None:
        row.refused = "the formula of the number is not known"
        return
    if table is not None and table.details.get("recipe", result.details["recipe"]) != result.details["recipe"]:
        row.refused = "the two runs made the number by different formulas"
        return
    ours, clusters = sample_counts(after, result.task, result.model, result, recipe)
    theirs, _ = sample_counts(before, result.task, row.baseline_model or "", table, recipe)
    if not ours or not theirs:
        whose = "this run" if not ours else "the baseline"
        row.refused = f"{whose} has no counts that make the number of its table"
        return
    try:
        grouped = clusters if len(set(clusters.values())) < len(clusters) else None
        row.paired = compare_corpus(ours, theirs, recipe.function(), grouped)
    except ValueError as error:
        row.refused = str(error).partition(";")[0]


def sample_counts(
    reader: RunReader, task: str, model: str, result: Result | None, recipe: Recipe
) -> tuple[dict[str, list[float]], dict[str, Hashable]]:
    """The counts of each sample, those of its answers added up; and its cluster, or else itself.

    Of several scorers with such counts it is the one whose sums make the number of the table; none if there is no such.
    """
    import numpy as np

    for scorer in reader.scorers(task, model):
        counts: dict[str, list[float]] = {}
        clusters: dict[str, Hashable] = {}
        for record in Attempts(reader.scores(task, model, scorer)):
            found = None if record.outcome in UNRESOLVED else recipe.read(record)
            if found is None:
                continue
            known = counts.setdefault(record.id, [0.0] * len(found))
            counts[record.id] = [x + y for x, y in zip(known, found, strict=True)]
            clusters[record.id] = ("sample", record.id) if record.cluster is None else record.cluster
        if not counts:
            continue
        value = float(recipe.function()(np.asarray(list(counts.values()), float).sum(axis=0, keepdims=True))[0])
        if result is None or (
            result.value is not None and abs(value - result.value) <= ROUNDING * max(1.0, abs(value))
        ):
            return counts, clusters
    return {}, {}


def _unscored(result: Result, before: RunReader, after: RunReader, model: str) -> str:
    """Which scorer of this run the baseline lacks, and how to have it; empty if that is not what is missing."""
    ways = [_way(reader, result.task, of) for reader, of in ((before, model), (after, result.model))]
    if ways[0] != ways[1]:
        return f"the baseline was measured by {ways[0]}, this run by {ways[1]}: two different numbers"
    known = before.scorers(result.task, model)
    for scorer in after.scorers(result.task, result.model):
        if scorer not in known and (result.metric == scorer or result.metric.startswith(f"{scorer}.")):
            again = f"assay score {shlex.quote(str(before.layout.folder))} --scorer {shlex.quote(scorer)}"
            return f"the baseline was not scored by {scorer!r}; fix: {again}"
    return ""


def _way(reader: RunReader, task: str, model: str) -> str:
    """By which measure a task was asked of a model; only what was asked for can be scored again."""
    return recorded_ways(reader.manifest).get((task, model)) or "the task as it stands"


def _scale(*results: Result | None) -> tuple[float, float] | None:
    """The lowest and the highest value the number can have, where one of the summaries says so."""
    found = next((r.details["scale"] for r in results if r is not None and "scale" in r.details), None)
    return None if found is None else (float(found[0]), float(found[1]))


def _same_number(before: RunReader, result: Result, model: str) -> Result | None:
    """The same number as the baseline's table has it, which says how answers were counted and reduced there."""
    for row in before.summary.get("results", ()):
        if (row["task"], row["model"], row["metric"]) == (result.task, model, result.metric):
            return result_from_plain(row)
    return None


def _is_mean(values: Mapping[str, float], result: Result) -> bool:
    mean = sum(values.values()) / len(values)
    return result.value is not None and abs(mean - result.value) <= ROUNDING * max(1.0, abs(mean))


def reducer_of(result: Result) -> str:
    """How the answers to a sample were reduced to one value."""
    epochs = result.details.get("epochs")
    return str(epochs.get("reducer", "mean")) if isinstance(epochs, Mapping) else "mean"


def sample_values(
    reader: RunReader, task: str, model: str, result: Result
) -> tuple[dict[str, float], dict[str, Hashable]]:
    """One value for each sample id, reduced as the result says; and what each goes right or wrong together with.

    That is its cluster, else its group; a sample with neither stands alone.
    """
    values: dict[str, list[float]] = {}
    lost: Counter[str] = Counter()
    clusters: dict[str, Hashable] = {}
    for scorer in reader.scorers(task, model):
        if result.metric != scorer and not result.metric.startswith(f"{scorer}."):
            continue
        for record in Attempts(reader.scores(task, model, scorer)):
            value = _value(record, result)
            if value is None:
                lost[record.id] += 1
                continue
            values.setdefault(record.id, []).append(value)
            together = record.cluster if record.cluster is not None else record.group
            clusters[record.id] = ("sample", record.id) if together is None else together
    reducer = reducer_of(result)
    try:
        reduced = {id: one_value(answers, lost[id], reducer) for id, answers in values.items()}
    except ValueError:
        return {}, clusters  # the journal has not what the table was made of
    return {id: one.value for id, one in reduced.items() if one is not None}, clusters


def _value(record: ScoreRecord, result: Result) -> float | None:
    if record.outcome in UNRESOLVED:
        return None
    if record.outcome in COUNTED_AS_ZERO:
        worst: float = result.details.get("unread_counts_as", 0.0)
        return None if UNREAD_LEFT_OUT in result.flags else worst
    return record.values.get(result.metric)


def _reducer_notes(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row.task}.{row.metric}: not the same number: {row.reducers[0]} of the answers to a sample there, "
        f"{row.reducers[1]} here"
        for row in rows
        if row.reducers is not None
    ]


def _notes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What else differs between the two runs and could be mistaken for a difference of models."""
    earlier = {(c["task"], c["model"]): c for c in before.get("cells", ())}
    by_task = {task: cell for (task, _), cell in earlier.items()}
    notes = []
    for cell in after.get("cells", ()):
        known = earlier.get((cell["task"], cell["model"])) or by_task.get(cell["task"])
        if known is None:
            continue
        changed = [name for name in _WAYS if _digest(known, name) != _digest(cell, name)]
        if known.get("data_sha256") != cell.get("data_sha256"):
            changed.insert(0, "data")
        changed += _changed_scorers(known.get("scorers", {}), cell.get("scorers", {}))
        if not changed and _protocols_differ(known, cell):
            changed.append("protocol")
        if changed:
            notes.append(f"{cell['task']}: not measured the same way: {', '.join(changed)} differ")
    return list(dict.fromkeys(notes))


def _protocols_differ(known: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Whether two cells were asked or scored in other ways. Scorers that only one of them has make another id, too, and
    leave what both are scored by the same number."""
    if known.get("protocol") == cell.get("protocol"):
        return False
    is_scored_alike = known.get("scorers", {}).keys() == cell.get("scorers", {}).keys()
    return is_scored_alike or way_of(known) != way_of(cell)


def _changed_scorers(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The scorers of both runs whose code or options are not the same."""
    return [f"scorer {name!r}" for name, digest in after.items() if name in before and before[name] != digest]


def _digest(cell: Mapping[str, Any], name: str) -> Any:
    return cell.get("digests", {}).get(name)
