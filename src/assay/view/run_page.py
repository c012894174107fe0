"""Content of the page of a run: its results, its faults and, as long as it is running, its progress."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core import AssayError
from ..report.methods import methods_paragraph
from .run_folders import listed, metric_domains, result_row
from .run_view import RunView, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_GROUPS = 300
GROUP_FIELDS = ("value", "ci", "n", "interval", "outcomes")


def run_page(
    run: RunView,
    domains: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """Return the content of a run's page: results with their groups, settings, and a description of the methods.

    `domains` are the axes of the metrics over all runs that are shown; by default those
    of this run.
    """
    plain = listed(run)
    if "error" in plain:
        return plain
    manifest, summary = run.documents()
    results = [row for row in summary.get("results", ()) if isinstance(row, Mapping)]
    folder = str(run.layout.folder)
    cells = manifest.get("cells", ())
    described = [_describe(cell) for cell in cells if isinstance(cell, Mapping)]
    return {
        **plain,
        "results": [_result(row) for row in results],
        "domains": metric_domains([run]) if domains is None else domains,
        "notes": [str(note) for note in summary.get("notes", ())],
        "usage_by_cell": summary.get("usage", {}),
        "methods": methods_paragraph(manifest, summary),
        "again": f"assay run --config {shlex.quote(f'{folder}/run.json')} -o NEW",
        "config": manifest.get("config", {}),
        "described": described,
        "versions": manifest.get("versions", {}),
        "platform": manifest.get("platform"),
        "git": manifest.get("git"),
    }


def _result(row: Mapping[str, Any]) -> dict[str, Any]:
    plain = result_row(row)
    plain |= {name: row.get(name) for name in ("stderr", "parsed_value", "clusters")}
    details = row.get("details")
    if isinstance(details, Mapping):
        plain["epochs"] = details.get("epochs")
    groups = {}
    for tag, values in (row.get("groups") or {}).items():
        if isinstance(values, Mapping):
            groups[tag] = _group_rows(values)
    return {**plain, "groups": groups}


def _group_rows(groups: Mapping[str, object]) -> list[dict[str, Any]]:
    """Return the first groups of a tag, each with its name and the fields that a page shows."""
    rows = []
    for name, group in groups.items():
        if isinstance(group, Mapping):
            fields = {key: group.get(key) for key in GROUP_FIELDS}
            rows.append({"name": name, **fields})
    return rows[:MOST_GROUPS]


def _describe(cell: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "task",
        "protocol",
        "measure",
        "model",
        "options",
        "epochs",
        "num_fewshot",
        "data",
        "scorers",
        "identity",
        "citation",
        "licence",
        "n_expected",
        "data_sha256",
    )
    return {name: cell.get(name) for name in names}


def damage_of(run: RunView) -> list[str]:
    """Return what changed in a run folder after the run ended; nothing if the run is still going.

    This reads every line and every medium again, so a page requests it last.
    """
    if run.is_live:
        return []
    try:
        return list(run.reader().damage)
    except AssayError as error:
        return [str(error)]


MOST_POINTS = 200


def progress(run: RunView) -> dict[str, Any]:
    """Return the progress of each task × model: samples answered and judged, failures by kind, and the mean so far."""
    import numpy as np

    columns = run.columns()
    manifest, _ = run.documents()
    outcome = np.array(columns["outcome"], np.int64)
    cell_of = np.array(columns["cell"] or [0] * columns["n"], np.int64)
    row_of = np.array(rows_of(columns), np.int64)
    cells = []
    started_cells = {(cell["task"], cell["model"]) for cell in columns["cells"]}
    planned = {(cell["task"], cell["model"]) for cell in manifest.get("cells", ())}
    limit = _limit_of(manifest)
    for code, cell in enumerate(columns["cells"]):
        members = np.flatnonzero(cell_of == code)
        if not len(members):
            started_cells.discard((cell["task"], cell["model"]))
            continue
        counts = np.bincount(
            outcome[members], minlength=len(columns["outcomes"])
        ).tolist()
        metric = cell["metric"]
        values = np.array(
            columns["metrics"].get(metric, [None] * len(cell_of)), np.float64
        )[members]
        arrived = values[np.argsort(row_of[members])]
        cells.append(
            {
                **cell,
                "answered": len(members),
                "at_most": None if limit is None else limit * (cell["epochs"] or 1),
                "outcomes": {
                    name or "waiting": n
                    for name, n in zip(columns["outcomes"], counts, strict=True)
                    if n
                },
                "running": _running(arrived[np.isfinite(arrived)]),
            }
        )
    started = manifest.get("started")
    return {
        "live": run.is_live,
        "status": manifest.get("status"),
        "started": started,
        "seconds": _since(started) if run.is_live else None,
        "journal_bytes": run.index.end,
        "cells": cells,
        "not_started": len(planned - started_cells),
        "tokens_out": sum(n for n in columns["tokens_out"] or () if n > 0),
        "tokens_in": sum(n for n in columns["tokens_in"] or () if n > 0),
    }


def _limit_of(manifest: Mapping[str, Any]) -> int | None:
    """Return the number of samples given with `--limit`; None if there was no limit.

    It is needed for data from a generator, whose length is unknown.
    """
    config = manifest.get("config")
    if isinstance(config, Mapping):
        limit = config.get("limit")
    else:
        limit = None
    text = str(limit)
    if text.isdecimal() and int(text) > 0:
        return int(text)
    return None


def _running(values: "NDArray[Any]") -> list[list[float]]:
    """Return the points of a running mean, at most `MOST_POINTS`.

    A point has a number of values, and the mean of that many first values.
    """
    import numpy as np

    if not len(values):
        return []
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    chosen = np.unique(
        np.linspace(0, len(values) - 1, min(MOST_POINTS, len(values))).astype(int)
    )
    points = []
    for index in chosen:
        points.append([int(index) + 1, round(float(means[index]), 6)])
    return points


def _since(started: object) -> float | None:
    try:
        from datetime import datetime

        return max(
            0.0,
            time.time()
            - datetime.strptime(str(started), "%Y-%m-%dT%H:%M:%S%z").timestamp(),
        )
    except ValueError:
        return None
