"""A run against an earlier one: paired on sample ids, so that a difference is more than two numbers side by side.

Answers that could not be read count as they do in the table, and samples that go right or wrong together there do so
here; samples without a verdict on either side are left out. Of either run, what its last summary counted is compared:
its answers to a sample are reduced as its own table says, and what comes out must be the number of that table.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..core import Result
from ..runner.result import RunResult
from ..runner.resume.recorded import recorded_ways
from ..store import RunReader
from ..summarizers.recipes import Recipe
from ..summarizers.statistics import compare_corpus, compare_paired, holm
from .rows import Comparison, Row
from .values import ROUNDING, Values
from .ways import differing_settings, differing_ways


def open_baseline(baseline: str | Path) -> RunReader:
    """The earlier run; raises when there is none, which is best known before a long run starts."""
    return RunReader(Path(baseline).expanduser())


def compare_runs(baseline: str | Path, run: str | Path | RunResult) -> Comparison:
    """Every metric of a run, or of the folder it is in, that the baseline has too, compared sample by sample.

    Example: `compare_runs("runs/before", "runs/after").lines()`
    """
    before = open_baseline(baseline)
    after = open_baseline(run.folder if isinstance(run, RunResult) else run)
    results: Sequence[Result] = (
        run.results if isinstance(run, RunResult) else after.results
    )
    values = Values()
    rows = [_row(r, before, after, values) for r in results]
    adjust(rows)
    manifests = before.manifest_if_any, after.manifest_if_any
    notes = [*before.damage_lines(), *_reducer_notes(rows), *differing_ways(*manifests)]
    notes += [note for reader in (before, after) if (note := _early_note(reader))]
    settings = differing_settings(*manifests)
    folders = str(before.layout.folder), str(after.layout.folder)
    return Comparison(
        folders[0], rows, notes, settings, folders[1], is_damaged=bool(before.damage)
    )


def adjust(rows: Iterable[Row]) -> None:
    """Holm's method over all numbers that could be compared: each is one more chance of a false alarm."""
    pairs = [(row, row.paired) for row in rows if row.paired is not None]
    for (row, _), p in zip(pairs, holm([paired.p for _, paired in pairs]), strict=True):
        row.p_adjusted = p


def _early_note(reader: RunReader) -> str:
    """That a run stopped early, which intervals and p of a comparison do not allow for; empty where it did not."""
    for result in reader.results:
        rule = result.details.get("until", {})
        if rule.get("stopped"):
            ended = f"{reader.layout.folder} stopped early (--until {rule['rule']})"
            return f"{ended}: p and intervals here are for a fixed number of samples"
    return ""


def _row(result: Result, before: RunReader, after: RunReader, values: Values) -> Row:
    models = [model for task, model in before.index.cells if task == result.task]
    row = Row(
        result.task,
        result.model,
        None,
        result.metric,
        result.higher_is_better,
        scale=_scale(result),
    )
    if not models:
        row.refused = f"the baseline has no task {result.task!r}"
        return row
    if result.model not in models and len(models) > 1:
        row.refused = f"the baseline has several models: {', '.join(models)}"
        return row
    return compare_number(
        result,
        after,
        before,
        result.model if result.model in models else models[0],
        values,
    )


def compare_number(
    result: Result,
    after: RunReader,
    before: RunReader,
    baseline_model: str,
    values: Values,
) -> Row:
    """One number of a run beside the same number of a model of another run; `values` are read once for many rows."""
    row = Row(
        result.task,
        result.model,
        baseline_model,
        result.metric,
        result.higher_is_better,
        scale=_scale(result),
    )
    table = _same_number(before, result, baseline_model)
    if "recipe" in result.details:
        _compare_counts(row, result, table, before, after, values)
        return row
    ours, clusters = values.of_samples(after, result, result.model)
    theirs, _ = values.of_samples(before, table or result, baseline_model)
    if not ours or not theirs:
        whose = "this run" if not ours else "the baseline"
        row.refused = (
            _unscored(result, before, after, baseline_model)
            or f"{whose} has no value for each sample"
        )
        return row
    if not _is_mean(ours, result):
        row.refused = "the number is not the mean of its samples"
        return row
    if table is not None and not _is_mean(theirs, table):
        row.refused = "the baseline's number is not the mean of its samples"
        return row
    if table is not None and table.reducer != result.reducer:
        row.reducers = (table.reducer, result.reducer)
    is_clustered = result.clusters is not None
    row.before, row.after, row.scale = theirs, ours, _scale(result, table)
    try:
        row.paired = compare_paired(
            ours,
            theirs,
            clusters if is_clustered else None,
            bounds=row.scale,
        )
    except ValueError as error:
        row.refused = str(error).partition(";")[0]
    return row


def _compare_counts(
    row: Row,
    result: Result,
    table: Result | None,
    before: RunReader,
    after: RunReader,
    values: Values,
) -> None:
    """A number of the whole corpus, made in both runs of the counts of each sample by the same formula."""
    recipe = Recipe.from_plain(result.details["recipe"])
    if recipe is None:
        row.refused = "the formula of the number is not known"
        return
    if (
        table is not None
        and table.details.get("recipe", result.details["recipe"])
        != result.details["recipe"]
    ):
        row.refused = "the two runs made the number by different formulas"
        return
    ours, clusters = values.counts(after, result, result, result.model, recipe)
    theirs, _ = values.counts(before, result, table, row.baseline_model or "", recipe)
    if not ours or not theirs:
        whose = "this run" if not ours else "the baseline"
        row.refused = f"{whose} has no counts that make the number of its table"
        return
    row.before, row.after = _each(theirs, recipe), _each(ours, recipe)
    try:
        grouped = clusters if len(set(clusters.values())) < len(clusters) else None
        row.paired = compare_corpus(ours, theirs, recipe.function(), grouped)
    except ValueError as error:
        row.refused = str(error).partition(";")[0]


def _each(counts: Mapping[str, Sequence[float]], recipe: Recipe) -> dict[str, float]:
    """The number of each sample alone; one whose counts give none is left out."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        values = recipe.function()(np.asarray(list(counts.values()), float))
    return {
        id: float(value)
        for id, value in zip(counts, values, strict=True)
        if np.isfinite(value)
    }


def _unscored(result: Result, before: RunReader, after: RunReader, model: str) -> str:
    """Which scorer of this run the baseline lacks, and how to have it; empty if that is not what is missing."""
    ways = [
        _way(reader, result.task, of)
        for reader, of in ((before, model), (after, result.model))
    ]
    if ways[0] != ways[1]:
        return f"the baseline was measured by {ways[0]}, this run by {ways[1]}: two different numbers"
    scorers = before.scorers(result.task, model)
    for scorer in after.scorers(result.task, result.model):
        if scorer not in scorers and (
            result.metric == scorer or result.metric.startswith(f"{scorer}.")
        ):
            again = f"assay score {shlex.quote(str(before.layout.folder))} --scorer {shlex.quote(scorer)}"
            return f"the baseline was not scored by {scorer!r}; fix: {again}"
    return ""


def _way(reader: RunReader, task: str, model: str) -> str:
    """By which measure a task was asked of a model; only what was asked for can be scored again."""
    return recorded_ways(reader.manifest).get((task, model)) or "the task as it stands"


def _scale(*results: Result | None) -> tuple[float, float] | None:
    """The lowest and the highest value the number can have, where one of the summaries says so."""
    found = next(
        (r.details["scale"] for r in results if r is not None and "scale" in r.details),
        None,
    )
    return None if found is None else (float(found[0]), float(found[1]))


def _same_number(before: RunReader, result: Result, model: str) -> Result | None:
    """The same number as the baseline's table has it, which says how answers were counted and reduced there."""
    wanted = result.task, model, result.metric
    return next(
        (row for row in before.results if (row.task, row.model, row.metric) == wanted),
        None,
    )


def _is_mean(values: Mapping[str, float], result: Result) -> bool:
    mean = sum(values.values()) / len(values)
    return result.value is not None and abs(mean - result.value) <= ROUNDING * max(
        1.0, abs(mean)
    )


def _reducer_notes(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row.task}.{row.metric}: not the same number: {row.reducers[0]} of the answers to a sample there, "
        f"{row.reducers[1]} here"
        for row in rows
        if row.reducers is not None
    ]
