"""Two runs beside each other: the sentence, every number with its difference, who changed, and what else differs.

The statistics are those of `--baseline`; this module says them in words and finds the samples behind them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..compare.comparing import compare_runs
from ..compare.values import sample_values
from ..core import Result, UsageError
from ..core.record import result_from_plain
from ..store import RunReader
from .run_view import RunView

MOST_FLIPS = 2000
"""Changed samples of one number that a page lists; those that changed most come first."""
LONGEST_SETTING = 300


def comparison_page(before: RunView, after: RunView) -> dict[str, Any]:
    """What the page of a comparison shows; `before` is the baseline."""
    if before.id == after.id:
        raise UsageError("a run cannot be compared with itself", fix="tick two different runs")
    manifests = before.documents()[0], after.documents()[0]
    results = tuple(result_from_plain(row) for row in after.documents()[1].get("results", ()))
    if not results:
        raise UsageError(f"{after.name} has no numbers yet", fix="wait until it has ended, or compare others")
    found = compare_runs(str(before.layout.folder), after.layout.folder)
    readers = before.reader(), after.reader()
    rows = []
    for row, result in zip(found.rows, results, strict=True):
        plain = row.to_plain() | {"higher_is_better": result.higher_is_better, "scale": result.details.get("scale")}
        plain["words"] = sentence(plain)
        plain["flips"] = _flips((before, after), readers, row, result) if "refused" not in plain else []
        plain["groups"] = _groups(before, row, result)
        rows.append(plain)
    return {
        "before": {"id": before.id, "name": before.name},
        "after": {"id": after.id, "name": after.name},
        "sentence": overall(rows),
        "notes": list(found.notes),
        "rows": rows,
        "settings": _settings(*manifests),
    }


def points(row: Mapping[str, Any]) -> tuple[float, str]:
    """By what differences are multiplied, and what they are called: shares are spoken of in points."""
    scale = row.get("scale")
    is_share = scale == [0.0, 1.0] or scale == (0.0, 1.0) or (row.get("test") or "").startswith("McNemar")
    return (100.0, " points") if is_share else (1.0, "")


def sentence(row: Mapping[str, Any]) -> str:
    """One number in words, its direction said."""
    if "refused" in row:
        return f"Not compared: {row['refused']}."
    factor, unit = points(row)
    difference = row["difference"] * factor
    digits = 1 if factor == 100 else 3
    size = f"{abs(difference):.{digits}f}{unit}"
    between = ""
    if row["ci"] is not None:
        low, high = (_signed(end * factor, digits) for end in row["ci"])
        between = f", 95 % interval {low} to {high}"
    adjusted = row["p_adjusted"] if row.get("p_adjusted") is not None else row["p"]
    p = "p < 0.001" if adjusted < 0.001 else f"p {adjusted:.2g}"
    holm = " after Holm" if row.get("p_adjusted") not in (None, row["p"]) else ""
    if not difference:
        begin = "No difference"
    elif row["verdict"] == "not distinguishable":
        begin = f"The two cannot be told apart: the later run is {_way(difference)} by {size}"
    else:
        begin = f"The later run is {row['verdict']}: {_way(difference)} by {size}"
    lower = "" if row["higher_is_better"] else " (lower is better)"
    return f"{begin}{lower}{between}; {row['wins']:,} up, {row['losses']:,} down of {row['n']:,}; {p}{holm}."


def overall(rows: Sequence[Mapping[str, Any]]) -> str:
    """The whole comparison in one sentence."""
    compared = [row for row in rows if "refused" not in row]
    if not compared:
        return "Nothing could be compared."
    if len(compared) == 1:
        return str(compared[0]["words"])
    counts = {verdict: sum(row["verdict"] == verdict for row in compared) for verdict in ("better", "worse")}
    rest = len(compared) - sum(counts.values())
    said = [f"{verdict} in {count}" for verdict, count in counts.items() if count]
    said += [f"not to be told apart in {rest}"] if rest else []
    return f"Of {len(compared)} numbers the later run is {', '.join(said)} (p values after Holm)."


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _way(difference: float) -> str:
    return "higher" if difference > 0 else "lower"


def _flips(
    runs: tuple[RunView, RunView],
    readers: tuple[RunReader, RunReader],
    row: Any,
    result: Result,
) -> list[list[Any]]:
    """Sample, value before, value after, and the rows of both; the largest changes first."""
    models = row.baseline_model or result.model, result.model
    older, newer = (
        _values(run, reader, model, result) for run, reader, model in zip(runs, readers, models, strict=True)
    )
    changed = [(id, older[id], newer[id]) for id in older.keys() & newer.keys() if older[id] != newer[id]]
    changed.sort(key=lambda one: (-abs(one[2] - one[1]), one[0]))
    places = [_rows(run, result.task, model) for run, model in zip(runs, models, strict=True)]
    return [[id, old, new, places[0].get(id), places[1].get(id)] for id, old, new in changed[:MOST_FLIPS]]


def _values(run: RunView, reader: RunReader, model: str, result: Result) -> Mapping[str, float]:
    """One value for each sample: as the table has it, else what its scorer said of the first answer."""
    task = result.task
    values, _ = sample_values(reader, task, model, result)
    if values:
        return values
    index = run.index
    if (task, model) not in index.cells:
        return {}
    code = index.cells.index((task, model))
    name = next((m for m in index.metrics if m == result.metric), None) or next(
        (m for m in index.metrics if result.metric.startswith(m)), None
    )
    column = index.metrics.get(name or "", ())
    cells, epochs = index.small["cell"], index.small["epoch"]
    return {
        id: column[row]
        for row, id in enumerate(index.ids)
        if row < len(column) and cells[row] == code and not epochs[row] and column[row] == column[row]
    }


def _rows(run: RunView, task: str, model: str) -> dict[str, int]:
    index = run.index
    if (task, model) not in index.cells:
        return {}
    code = index.cells.index((task, model))
    cells, epochs = index.small["cell"], index.small["epoch"]
    return {id: row for row, id in enumerate(index.ids) if cells[row] == code and not epochs[row]}


def _groups(before: RunView, row: Any, result: Result) -> list[dict[str, Any]]:
    """Groups that both tables have, for the scatter."""
    model = row.baseline_model or result.model
    for plain in before.documents()[1].get("results", ()):
        if (plain["task"], plain["model"], plain["metric"]) == (result.task, model, result.metric):
            older = plain.get("groups") or {}
            break
    else:
        return []
    found = []
    for tag, values in result.groups.items():
        for name, group in values.items() if isinstance(values, Mapping) else ():
            other = older.get(tag, {}).get(name) if isinstance(older.get(tag), Mapping) else None
            value = group.get("value") if isinstance(group, Mapping) else getattr(group, "value", None)
            if isinstance(other, Mapping) and other.get("value") is not None and value is not None:
                n = group.get("n") if isinstance(group, Mapping) else group.n
                found.append({"tag": tag, "name": name, "before": other["value"], "after": value, "n": n})
    return found


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[list[str]]:
    """Name, then the setting in each run, of settings, versions and cells that are not the same."""
    rows = []
    for name, older, newer in _both(before.get("config"), after.get("config")):
        if name not in ("output",):
            rows.append([name, older, newer])
    for name, older, newer in _both(before.get("versions"), after.get("versions")):
        rows.append([f"version of {name}", older, newer])
    if before.get("platform") != after.get("platform"):
        rows.append(["platform", str(before.get("platform")), str(after.get("platform"))])
    return rows


def _both(before: Any, after: Any) -> list[tuple[str, str, str]]:
    older = before if isinstance(before, Mapping) else {}
    newer = after if isinstance(after, Mapping) else {}
    names = dict.fromkeys([*older, *newer])
    return [(n, _shown(older.get(n)), _shown(newer.get(n))) for n in names if older.get(n) != newer.get(n)]


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        text = ", ".join(f"{name} {inner}" for name, inner in value.items())
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST_SETTING else text[: LONGEST_SETTING - 1] + "…"
