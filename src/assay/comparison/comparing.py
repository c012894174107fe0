"""Compare a run with an earlier run, paired by sample id, and list other differences
between the two.

Unreadable answers and clusters are treated as in each run's results table. Samples
without a verdict in one of the runs are left out. If a sample has several answers, they
are combined to one value as in the last summary of its run. A metric is compared only
if the sample values of a run give the result in its table.
"""

import shlex
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import EMPTY, Result
from ..runner.result import RunResult
from ..runner.resume.recorded import measure_name_of, recorded_measures
from ..store import RunReader
from ..store.imported import open_run
from ..summarizers.recipes import Recipe
from ..summarizers.statistics import compare_corpus, compare_paired, holm
from ..summarizers.statistics.jackknife import ratio_of_sums
from .compared_values import ROUNDING, Values
from .comparison_rows import Comparison, Row
from .foreign_pairs import find_partner, is_imported

_WAYS = ("template", "to_sample", "shots", "options")
"""Keys of `run.json` for the settings that change a model's prompts or scores.

If such a setting differs between two runs, their results are not comparable.
"""
_OWN = frozenset({"output", "baseline"})
"""Settings that do not affect the results of a run: its folder and its baseline."""
LONGEST_SETTING = 300
Entry = Mapping[str, Any]
"""The entry of one task × model in a `run.json`."""


def differing_ways(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> list[str]:
    """Return one line for each task that was measured differently in the two runs:
    other data, prompts, options or scorers.
    """
    by_model = {}
    by_task = {}
    for entry in before.get("cells", ()):
        by_model[entry["task"], entry["model"]] = entry
        by_task[entry["task"]] = entry
    notes: dict[str, None] = {}
    for entry in after.get("cells", ()):
        task = entry["task"]
        earlier = by_model.get((task, entry["model"]))
        earlier = earlier or by_task.get(task)
        changed = _changes(earlier, entry) if earlier else []
        if changed:
            verb = "differs" if len(changed) == 1 else "differ"
            names = ", ".join(changed)
            notes[f"{task}: not measured the same way: {names} {verb}"] = None
    return list(notes)


def _changes(earlier: Entry, entry: Entry) -> list[str]:
    """Return the parts of a task that differ between two runs: data, prompts, options, scorers, or protocol."""
    changed = []
    if earlier.get("data_sha256") != entry.get("data_sha256"):
        changed.append("data")
    for name in _WAYS:
        if _digest(earlier, name) != _digest(entry, name):
            changed.append(name)
    changed += changed_scorers(earlier.get("scorers", {}), entry.get("scorers", {}))
    if not changed and _protocols_differ(earlier, entry):
        changed.append("protocol")
    return changed


def _protocols_differ(earlier: Entry, entry: Entry) -> bool:
    """Return True if a task's protocol ids in two runs differ because of its prompts or
    scoring.

    If only one run has a certain scorer, the ids differ too. This does not count,
    because the results of other scorers are unaffected.
    """
    if earlier.get("protocol") == entry.get("protocol"):
        return False
    names = earlier.get("scorers", {}).keys()
    if names == entry.get("scorers", {}).keys():
        return True
    return measure_name_of(earlier) != measure_name_of(entry)


def changed_scorers(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> list[str]:
    """Return the scorers of both runs whose code or options differ."""
    changed = []
    for name, digest in after.items():
        if name in before and before[name] != digest:
            changed.append(f"scorer {name!r}")
    return changed


def _digest(entry: Entry, name: str) -> object:
    return entry.get("digests", {}).get(name)


def differing_settings(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> list[list[str]]:
    """Return the name, earlier value and later value of each setting, version or platform that differs."""
    rows = []
    for name, *pair in _differences(before.get("config"), after.get("config")):
        if name not in _OWN:
            rows.append([name, *pair])
    versions = before.get("versions"), after.get("versions")
    for name, *pair in _differences(*versions):
        rows.append([f"version of {name}", *pair])
    earlier = before.get("platform")
    later = after.get("platform")
    if earlier != later:
        rows.append(["platform", _setting_text(earlier), _setting_text(later)])
    return rows


def _differences(before: object, after: object) -> Iterator[tuple[str, str, str]]:
    """Yield the name, earlier value and later value of each entry in which two mappings differ."""
    older = before if isinstance(before, Mapping) else {}
    newer = after if isinstance(after, Mapping) else {}
    names = dict.fromkeys([*older, *newer])
    for name in names:
        earlier = older.get(name)
        later = newer.get(name)
        if earlier == later:
            continue
        yield name, _setting_text(earlier), _setting_text(later)


def _setting_text(value: object) -> str:
    """Return the value of a setting as text, shortened if it is long."""
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {inner}" for name, inner in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(str, value))
    else:
        text = str(value)
    if len(text) <= LONGEST_SETTING:
        return text
    return text[: LONGEST_SETTING - 1] + "…"


def open_baseline(baseline: str | Path | RunReader) -> RunReader:
    """Open the baseline run. Call this before a long run, so that an unusable baseline is reported early."""
    if isinstance(baseline, RunReader):
        return baseline
    return open_run(baseline)


def compare_runs(
    baseline: str | Path | RunReader,
    run: str | Path | RunResult | RunReader,
    *,
    force: bool = False,
) -> Comparison:
    """Compare every metric that both the run and the baseline have, sample by sample.

    Run and baseline may each be a folder or the results of another tool. With `force`,
    results of another tool are compared even if their data are different or unknown.

    Example: `compare_runs("runs/before", "runs/after").lines()`
    """
    before = open_baseline(baseline)
    after = open_baseline(run.folder if isinstance(run, RunResult) else run)
    manifests = before.manifest_if_any, after.manifest_if_any
    results: Sequence[Result] = (
        run.results if isinstance(run, RunResult) else after.results
    )
    values = Values()
    notes = before.damage_lines()
    settings: list[list[str]] = []
    if is_imported(before) or is_imported(after):
        rows, more = _imported_rows(results, before, after, values, force)
        notes += more
    else:
        rows = [_row(r, before, after, values) for r in results]
        notes += [*_reducer_notes(rows), *differing_ways(*manifests)]
        settings = differing_settings(*manifests)
    adjust(rows)
    for reader in (before, after):
        note = _early_note(reader)
        if note:
            notes.append(note)
    folders = str(before.source), str(after.source)
    return Comparison(
        folders[0],
        rows,
        notes,
        settings,
        folders[1],
        is_damaged=bool(before.damage),
    )


def adjust(rows: Iterable[Row]) -> None:
    """Adjust the p values of all rows with Holm's method, because many comparisons produce false alarms by chance."""
    pairs = [(row, row.paired) for row in rows if row.paired is not None]
    for (row, _), p in zip(pairs, holm([paired.p for _, paired in pairs]), strict=True):
        row.p_adjusted = p


def _early_note(reader: RunReader) -> str:
    """Return a note if the run stopped early, because p and intervals are then not
    exact. Otherwise return an empty text.
    """
    for result in reader.results:
        rule = result.details.get("until", {})
        if rule.get("stopped"):
            ended = f"{reader.layout.folder} stopped early (--until {rule['rule']})"
            return f"{ended}: p and intervals here are for a fixed number of samples"
    return ""


def _row(
    result: Result,
    before: RunReader,
    after: RunReader,
    values: Values,
) -> Row:
    """Compare one result with the same task of the baseline.

    If that is impossible, the returned row has the reason.
    """
    models = [model for task, model in before.cells if task == result.task]
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


def _imported_rows(
    results: Sequence[Result],
    before: RunReader,
    after: RunReader,
    values: Values,
    force: bool,
) -> tuple[list[Row], list[str]]:
    """Compare results with those of another tool.

    Return the rows, and notes about facts that the tool does not record.
    """
    rows = []
    notes: dict[str, None] = {}
    for reader in (before, after):
        if is_imported(reader):
            tool = reader.manifest["imported"]["tool"]
            notes[
                f"{reader.source}: {tool} does not say the prompt template and scorer code"
            ] = None
    for result in results:
        partner = find_partner(result, before, after, is_forced=force)
        if partner.refused:
            row = Row(
                result.task,
                result.model,
                partner.model or None,
                result.metric,
                result.higher_is_better,
                refused=partner.refused,
            )
        else:
            row = compare_number(
                result,
                after,
                before,
                partner.model,
                values,
                partner.table,
                partner.ids,
            )
            row.baseline_task = partner.task
            row.baseline_ids = {ours: theirs for theirs, ours in partner.ids.items()}
            notes.update(dict.fromkeys(partner.notes))
        rows.append(row)
    return rows, list(notes)


def compare_number(
    result: Result,
    after: RunReader,
    before: RunReader,
    baseline_model: str,
    values: Values,
    table: Result | None = None,
    ids: Mapping[str, str] = EMPTY,
) -> Row:
    """Compare one result of a run with the same result of a model in the baseline.

    `values` caches the sample values. If the result has another name in the baseline,
    pass it as `table`. If sample ids differ, `ids` maps the baseline's ids to those of
    this run.
    """
    row = Row(
        result.task,
        result.model,
        baseline_model,
        result.metric,
        result.higher_is_better,
        scale=_scale(result),
    )
    table = table or _same_number(before, result, baseline_model)
    if "recipe" in result.details:
        _compare_counts(row, result, table, before, after, values)
        return row
    ours, clusters = values.of_samples(after, result, result.model)
    theirs, _ = values.of_samples(before, table or result, baseline_model)
    if not ours or not theirs:
        whose = "this run" if not ours else "the baseline"
        row.refused = (
            _explain_missing_scorer(result, before, after, baseline_model)
            or f"{whose} has no value for each sample"
        )
        return row
    if ids:
        theirs = {ids[id]: value for id, value in theirs.items() if id in ids}
    if "weights" in result.details:
        row.before = theirs
        row.after = ours
        row.scale = _scale(result, table)
        _compare_weighted(
            row,
            values.weights(before, result.task, baseline_model),
            values.weights(after, result.task, result.model),
            result,
            clusters,
        )
        return row
    if not _is_mean(ours, result):
        row.refused = "the number is not the mean of its samples"
        return row
    if table is not None and not ids and not _is_mean(theirs, table):
        row.refused = "the baseline's number is not the mean of its samples"
        return row
    if table is not None and table.reducer != result.reducer:
        row.reducers = (table.reducer, result.reducer)
    is_clustered = result.clusters is not None
    row.before = theirs
    row.after = ours
    row.scale = _scale(result, table)
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
    """Compare a corpus metric (such as BLEU), computed in both runs from each sample's counts by the same formula."""
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
    row.before = _each(theirs, recipe)
    row.after = _each(ours, recipe)
    try:
        if len(set(clusters.values())) < len(clusters):
            grouped = clusters
        else:
            grouped = None
        row.paired = compare_corpus(ours, theirs, recipe.function(), grouped)
    except ValueError as error:
        row.refused = str(error).partition(";")[0]


def _compare_weighted(
    row: Row,
    weights_before: Mapping[str, float],
    weights_after: Mapping[str, float],
    result: Result,
    clusters: Mapping[str, Hashable],
) -> None:
    """Compare weighted means. Each is a ratio: the sum of value times weight, divided by the sum of the weights."""
    common = row.before.keys() & row.after.keys()
    if any(weights_before.get(id) != weights_after.get(id) for id in common):
        row.refused = "its samples have other weights in the baseline"
        return
    theirs = _weigh(row.before, weights_before)
    ours = _weigh(row.after, weights_after)
    total = sum(weight for _, weight in ours.values())
    mean = sum(product for product, _ in ours.values()) / total
    if result.value is None or abs(mean - result.value) > ROUNDING * max(1.0, mean):
        row.refused = "the number is not the weighted mean of its samples"
        return
    try:
        row.paired = compare_corpus(
            ours,
            theirs,
            ratio_of_sums,
            clusters if result.clusters is not None else None,
        )
    except ValueError as error:
        row.refused = str(error).partition(";")[0]


def _weigh(
    values: Mapping[str, float],
    weights: Mapping[str, float],
) -> dict[str, tuple[float, float]]:
    """Return two numbers for each sample: its value times its weight, and its weight."""
    return {id: (value * weights[id], weights[id]) for id, value in values.items()}


def _each(
    counts: Mapping[str, Sequence[float]],
    recipe: Recipe,
) -> dict[str, float]:
    """Apply the formula to the counts of each sample. Samples without a finite result are left out."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        values = recipe.function()(np.asarray(list(counts.values()), float))
    finite = {}
    for id, value in zip(counts, values, strict=True):
        if np.isfinite(value):
            finite[id] = float(value)
    return finite


def _explain_missing_scorer(
    result: Result,
    before: RunReader,
    after: RunReader,
    model: str,
) -> str:
    """Explain why the baseline lacks a result if its scorer was not used there, and how
    to add the scorer.

    Return an empty text if the result is missing for another reason.
    """
    ways = []
    for reader, of in ((before, model), (after, result.model)):
        way = recorded_measures(reader.manifest).get((result.task, of))
        ways.append(way or "the task's own measure")
    if ways[0] != ways[1]:
        return f"the baseline was measured by {ways[0]}, this run by {ways[1]}: two different numbers"
    scorers = before.scorers(result.task, model)
    for scorer in after.scorers(result.task, result.model):
        is_own = result.metric == scorer or result.metric.startswith(f"{scorer}.")
        if is_own and scorer not in scorers:
            folder = shlex.quote(str(before.layout.folder))
            again = f"assay score {folder} --scorer {shlex.quote(scorer)}"
            return f"the baseline was not scored by {scorer!r}; fix: {again}"
    return ""


def _scale(*results: Result | None) -> tuple[float, float] | None:
    """Return the lowest and highest possible value of a metric. Use the first of the results that records them."""
    scale = next(
        (r.details["scale"] for r in results if r is not None and "scale" in r.details),
        None,
    )
    if scale is None:
        return None
    return (float(scale[0]), float(scale[1]))


def _same_number(
    before: RunReader,
    result: Result,
    model: str,
) -> Result | None:
    """Return the result with the same task and metric in the baseline's table."""
    key = result.task, model, result.metric
    return next(
        (row for row in before.results if (row.task, row.model, row.metric) == key),
        None,
    )


def _is_mean(
    values: Mapping[str, float],
    result: Result,
) -> bool:
    """Return True if the result is the mean of the sample values."""
    mean = sum(values.values()) / len(values)
    return result.value is not None and abs(mean - result.value) <= ROUNDING * max(
        1.0, abs(mean)
    )


def _reducer_notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    for row in rows:
        if row.reducers is not None:
            note = (
                f"{row.task}.{row.metric}: not the same number: {row.reducers[0]} of the answers to a sample there, "
                f"{row.reducers[1]} here"
            )
            notes.append(note)
    return notes
