"""Pages that compare runs: two runs sample by sample, or all runs of a folder in a leaderboard.

The page for two runs has a summary sentence, every metric with its difference, the
samples that changed, and other differences. The statistics are those of `--baseline`.
This module puts them into words and finds the samples that cause them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..comparison.comparing import compare_runs
from ..comparison.comparison_rows import Flip, Row, overall, sentence
from ..comparison.leaderboard import make_leaderboard
from ..core import AssayError, Result, UsageError
from ..core.record import result_from_plain
from .run_folders import metric_domains
from .run_view import RunView

MOST_FLIPS = 2000
"""The maximum number of changed samples that a page lists for each metric. Those with the largest changes are kept.

`flip_counts` has the number of all changed samples.
"""


def comparison_page(before: RunView, after: RunView) -> dict[str, Any]:
    """Return the content of the page that compares two runs. `before` is the baseline."""
    if before.id == after.id:
        raise UsageError(
            "a run cannot be compared with itself", fix="tick two different runs"
        )
    results = tuple(
        result_from_plain(row) for row in after.documents()[1].get("results", ())
    )
    if not results:
        raise UsageError(
            f"{after.name} has no numbers yet",
            fix="wait until it has ended, or compare others",
        )
    comparison = compare_runs(before.indexed_reader(), after.indexed_reader())
    rows = []
    for row, result in zip(comparison.rows, results, strict=True):
        plain = row.to_plain()
        plain["words"] = sentence(plain)
        flips = row.flips() if "refused" not in plain else []
        plain["flips"] = _flip_rows((before, after), row, _cut_flips(flips))
        plain["flip_counts"] = _count_flips(flips)
        plain["groups"] = _groups(before, row, result)
        rows.append(plain)
    return {
        "before": {"id": before.id, "name": before.name},
        "after": {"id": after.id, "name": after.name},
        "sentence": overall(rows),
        "notes": list(comparison.notes),
        "rows": rows,
        "settings": comparison.settings,
    }


def _flip_rows(
    runs: tuple[RunView, RunView],
    row: Row,
    flips: Sequence[Flip],
) -> list[list[Any]]:
    """Return a list for each changed sample: its id, the value before and after, and its row number in both runs."""
    if not flips:
        return []
    models = row.baseline_model or row.model, row.model
    before, after = (
        _rows(run, row.task, model) for run, model in zip(runs, models, strict=True)
    )
    rows = []
    for flip in flips:
        rows.append([*flip, before.get(flip.id), after.get(flip.id)])
    return rows


def _cut_flips(flips: Sequence[Flip]) -> list[Flip]:
    """Return at most `MOST_FLIPS` changed samples, in order. If there are more, half
    went up and half went down, if possible.
    """
    ups = []
    downs = []
    for flip in flips:
        if flip.after > flip.before:
            ups.append(flip)
        else:
            downs.append(flip)
    most_up = max(MOST_FLIPS // 2, MOST_FLIPS - len(downs))
    shown_up = ups[:most_up]
    most_down = MOST_FLIPS - len(shown_up)
    shown_down = downs[:most_down]
    shown_ids = {flip.id for flip in [*shown_up, *shown_down]}
    return [flip for flip in flips if flip.id in shown_ids]


def _count_flips(flips: Sequence[Flip]) -> dict[str, int]:
    """Return the number of samples that changed, that went up and that went down. The page may list fewer of them."""
    up = sum(flip.after > flip.before for flip in flips)
    return {
        "all": len(flips),
        "up": up,
        "down": len(flips) - up,
        "shown": min(len(flips), MOST_FLIPS),
    }


def _rows(
    run: RunView,
    task: str,
    model: str,
) -> dict[str, int]:
    index = run.index
    if (task, model) not in index.cells:
        return {}
    code = index.cells.index((task, model))
    cells = index.small["cell"]
    epochs = index.small["epoch"]
    row_of = {}
    for row, id in enumerate(index.ids):
        if cells[row] == code and not epochs[row]:
            row_of[id] = row
    return row_of


def _groups(
    before: RunView,
    row: Row,
    result: Result,
) -> list[dict[str, Any]]:
    """Return the groups that occur in the breakdowns of both runs, with the value in
    each run, for the scatter plot.
    """
    model = row.baseline_model or result.model
    for plain in before.documents()[1].get("results", ()):
        if (plain["task"], plain["model"], plain["metric"]) == (
            result.task,
            model,
            result.metric,
        ):
            older = plain.get("groups") or {}
            break
    else:
        return []
    shown_groups = []
    for tag, values in result.groups.items():
        for name, group in values.items() if isinstance(values, Mapping) else ():
            if isinstance(older.get(tag), Mapping):
                other = older.get(tag, {}).get(name)
            else:
                other = None
            if isinstance(group, Mapping):
                value = group.get("value")
            else:
                value = getattr(group, "value", None)
            if (
                isinstance(other, Mapping)
                and other.get("value") is not None
                and value is not None
            ):
                if isinstance(group, Mapping):
                    n = group.get("n")
                else:
                    n = group.n
                shown_groups.append(
                    {
                        "tag": tag,
                        "name": name,
                        "before": other["value"],
                        "after": value,
                        "n": n,
                    }
                )
    return shown_groups


def leaderboard_page(runs: Sequence[RunView]) -> dict[str, Any]:
    """Return the content of the leaderboard page: models, columns, values and ranks.

    Each value has the id of its run.
    """
    readers = []
    notes = []
    for run in runs:
        try:
            if run.documents()[1].get("results"):
                readers.append(run.indexed_reader())
        except AssayError as error:
            notes.append(f"{run.name} is left out: {error.what}")
    page = make_leaderboard(readers).to_plain()
    ids = {str(run.layout.folder): run.id for run in runs}
    for model in page["models"]:
        for cell in model["cells"]:
            if cell is not None:
                cell["run"] = ids.get(cell["run"])
    page["notes"] += notes
    page["domains"] = metric_domains(runs)
    return page
