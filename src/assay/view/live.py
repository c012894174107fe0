"""The progress of a run that is still going on, from its journal alone."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .run_view import RunView, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_POINTS = 200


def progress(run: RunView) -> dict[str, Any]:
    """Return the samples answered and judged so far, failures by kind, and the running value of each cell."""
    import numpy as np

    columns = run.columns()
    manifest, _ = run.documents()
    outcome = np.array(columns["outcome"], np.int64)
    cell_of = np.array(columns["cell"] or [0] * columns["n"], np.int64)
    row_of = np.array(rows_of(columns), np.int64)
    cells = []
    limit = _limit_of(manifest)
    for code, cell in enumerate(columns["cells"]):
        members = np.flatnonzero(cell_of == code)
        if not len(members):
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
        "tokens_out": sum(n for n in columns["tokens_out"] or () if n > 0),
        "tokens_in": sum(n for n in columns["tokens_in"] or () if n > 0),
    }


def _limit_of(manifest: Mapping[str, Any]) -> int | None:
    """Return `--limit` if it is a number of samples, which is the only known length of a generator."""
    config = manifest.get("config")
    limit = config.get("limit") if isinstance(config, Mapping) else None
    text = str(limit)
    if text.isdecimal() and int(text) > 0:
        return int(text)
    return None


def _running(values: "NDArray[Any]") -> list[list[float]]:
    """Return the mean after each number of samples, in the order of answers: at most `MOST_POINTS` pairs."""
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
