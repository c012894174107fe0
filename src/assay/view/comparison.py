"""Two runs beside each other: the sentence, every number with its difference, who changed, and what else differs.

The statistics are those of `--baseline`; this module says them in words and finds the samples behind them.
"""

from collections.abc import Mapping
from typing import Any

from ..comparison.comparing import compare_runs
from ..comparison.rows import Row
from ..comparison.words import overall, sentence
from ..core import Result, UsageError
from ..core.record import result_from_plain
from .run_view import RunView

MOST_FLIPS = 2000
"""Changed samples of one number that a page lists; those that changed most come first."""


def comparison_page(before: RunView, after: RunView) -> dict[str, Any]:
    """What the page of a comparison shows; `before` is the baseline."""
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
    found = compare_runs(str(before.layout.folder), after.layout.folder)
    rows = []
    for row, result in zip(found.rows, results, strict=True):
        plain = row.to_plain()
        plain["words"] = sentence(plain)
        plain["flips"] = _flips((before, after), row) if "refused" not in plain else []
        plain["groups"] = _groups(before, row, result)
        rows.append(plain)
    return {
        "before": {"id": before.id, "name": before.name},
        "after": {"id": after.id, "name": after.name},
        "sentence": overall(rows),
        "notes": list(found.notes),
        "rows": rows,
        "settings": found.settings,
    }


def _flips(runs: tuple[RunView, RunView], row: Row) -> list[list[Any]]:
    """Sample, value before, value after, and the rows of both; the largest changes first."""
    models = row.baseline_model or row.model, row.model
    places = [
        _rows(run, row.task, model) for run, model in zip(runs, models, strict=True)
    ]
    return [
        [*flip, places[0].get(flip.id), places[1].get(flip.id)]
        for flip in row.flips()[:MOST_FLIPS]
    ]


def _rows(run: RunView, task: str, model: str) -> dict[str, int]:
    index = run.index
    if (task, model) not in index.cells:
        return {}
    code = index.cells.index((task, model))
    cells, epochs = index.small["cell"], index.small["epoch"]
    return {
        id: row
        for row, id in enumerate(index.ids)
        if cells[row] == code and not epochs[row]
    }


def _groups(before: RunView, row: Any, result: Result) -> list[dict[str, Any]]:
    """Groups that both tables have, for the scatter."""
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
    found = []
    for tag, values in result.groups.items():
        for name, group in values.items() if isinstance(values, Mapping) else ():
            other = (
                older.get(tag, {}).get(name)
                if isinstance(older.get(tag), Mapping)
                else None
            )
            value = (
                group.get("value")
                if isinstance(group, Mapping)
                else getattr(group, "value", None)
            )
            if (
                isinstance(other, Mapping)
                and other.get("value") is not None
                and value is not None
            ):
                n = group.get("n") if isinstance(group, Mapping) else group.n
                found.append(
                    {
                        "tag": tag,
                        "name": name,
                        "before": other["value"],
                        "after": value,
                        "n": n,
                    }
                )
    return found
