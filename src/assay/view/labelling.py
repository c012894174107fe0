"""Labels of people on the page: what is asked next, how far people and judge agree, and the value that follows.

Samples are drawn at random with a seed, and shown without model, judge and scores. From the labels come the agreement
with the scorer (kappa), that of several people among each other (alpha), and the scorer's value corrected by them.
"""

import math
import random
from collections.abc import Mapping
from typing import Any

from ..core import UsageError
from ..store.labels import Label, add_labels, read_labels, standing_labels
from ..summarizers.statistics import (
    cohens_kappa,
    krippendorff_nominal,
    prediction_powered_mean,
)
from .run_view import RunView

MOST_ASKED = 1000
MOST_STEPS = 11
"""Whole numbers of a scale that each get a key; a longer scale is labelled right or wrong."""


def label_page(run: RunView, cell: int, seed: int) -> dict[str, Any]:
    """What the page of labels shows: the rows in the order in which they are asked, what was said, what follows."""
    described, rows, values = _judged(run, cell)
    order = list(rows)
    random.Random(seed).shuffle(order)
    labels = standing_labels(read_labels(run.layout))
    index = run.index
    opinions = {}
    for row in order:
        place = (
            described["task"],
            described["model"],
            index.ids[row],
            index.small["epoch"][row],
        )
        if place in labels:
            opinions[row] = {by: label.value for by, label in labels[place].items()}
    return {
        "cell": cell,
        "cells": [
            {"task": c["task"], "model_hidden": True} for c in run.columns()["cells"]
        ],
        "task": described["task"],
        "metric": described["metric"],
        "seed": seed,
        "order": order[:MOST_ASKED],
        "total": len(order),
        "said": opinions,
        "choices": choices_of(described.get("scale")),
        "summary": summary_of(described, values, opinions),
    }


def blind_sample(run: RunView, row: int) -> dict[str, Any]:
    """A sample without whatever could sway a person: model, scores, judges, and their details."""
    plain = run.record(row).to_plain()
    rounds = [{**one, "model": None, "details": None} for one in plain["rounds"]]
    return {**plain, "model": "", "verdicts": [], "calls": [], "rounds": rounds}


def choices_of(scale: Any) -> list[dict[str, Any]]:
    """The verdicts a person may give, each with its key."""
    low, high = (float(scale[0]), float(scale[1])) if scale else (0.0, 1.0)
    steps = int(high - low) + 1
    if (
        (low, high) == (0.0, 1.0)
        or low != int(low)
        or high != int(high)
        or not 2 < steps <= MOST_STEPS
    ):
        return [
            {"key": "1", "value": high, "name": "right"},
            {"key": "0", "value": low, "name": "wrong"},
        ]
    keys = "0123456789x" if low == 0 else "1234567890x"
    return [
        {"key": keys[k], "value": low + k, "name": f"{low + k:g}"} for k in range(steps)
    ]


def add_label(
    run: RunView, row: int, value: float | None, by: str, note: str = ""
) -> None:
    """Keeps what a person said of a row."""
    index = run.index
    if not 0 <= row < len(index):
        raise UsageError(f"the run has no sample in row {row}")
    if value is not None and not math.isfinite(value):
        raise UsageError("a label is a number")
    task, model = index.cells[index.small["cell"][row]]
    add_labels(
        run.layout,
        [
            Label(
                task,
                model,
                index.ids[row],
                index.small["epoch"][row],
                value,
                by,
                note=note,
            )
        ],
    )


def summary_of(
    cell: Mapping[str, Any],
    values: Mapping[int, float],
    opinions: Mapping[int, Mapping[str, Any]],
) -> dict[str, Any]:
    """Agreement, and the scorer's value as people would have it."""
    people = {
        row: _mean([v for v in labels.values() if v is not None])
        for row, labels in opinions.items()
    }
    both = [row for row in people if people[row] is not None and row in values]
    summary: dict[str, Any] = {
        "labelled": sum(v is not None for v in people.values()),
        "unsure": sum(v is None for v in people.values()),
    }
    judged_all = list(values.values())
    summary["judge_value"] = _mean(judged_all)
    summary["alpha"] = _alpha(opinions)
    if not both:
        return summary
    labels, judged = [people[row] or 0.0 for row in both], [values[row] for row in both]
    scale = tuple(cell["scale"]) if cell.get("scale") else (0.0, 1.0)
    summary["judge_on_labelled"], summary["people_on_labelled"] = (
        _mean(judged),
        _mean(labels),
    )
    summary["kappa"], summary["agree"] = _kappa(labels, judged, scale)
    others = [value for row, value in values.items() if people.get(row) is None]
    is_inside = all(scale[0] <= v <= scale[1] for v in (*labels, *judged_all))
    estimate = prediction_powered_mean(
        labels, judged, others, ends=scale if is_inside else None
    )
    summary["corrected"] = {
        "value": estimate.value,
        "ci": None if estimate.low is None else [estimate.low, estimate.high],
        "method": estimate.method,
        "unreliable": estimate.unreliable,
        "n": len(both),
        "others": len(others),
    }
    return summary


def _judged(
    run: RunView, cell: int
) -> tuple[dict[str, Any], list[int], dict[int, float]]:
    """The cell, its rows (first answers only), and what its scorer said of each."""
    columns = run.columns()
    if not 0 <= cell < len(columns["cells"]):
        raise UsageError("the run has no such task")
    described = columns["cells"][cell]
    index = run.index
    epochs, cells = index.small["epoch"], index.small["cell"]
    rows = [
        row
        for row in range(len(index))
        if cells[row] == cell and not epochs[row] and not index.failed[row]
    ]
    column = index.metrics.get(described["metric"] or "")
    values = (
        {row: column[row] for row in rows if math.isfinite(column[row])}
        if column is not None
        else {}
    )
    return described, rows, values


def _kappa(
    labels: list[float], judged: list[float], scale: tuple[float, ...]
) -> tuple[float | None, float]:
    """Chance-corrected agreement: of right and wrong plain, of steps by the square of their distance."""
    middle = (scale[0] + scale[1]) / 2
    is_binary = len({*labels}) <= 2 and len(choices_of(scale)) == 2
    first = (
        [float(v >= middle) for v in labels]
        if is_binary
        else [float(round(v)) for v in labels]
    )
    second = (
        [float(v >= middle) for v in judged]
        if is_binary
        else [float(round(v)) for v in judged]
    )
    same = sum(a == b for a, b in zip(first, second, strict=True)) / len(first)
    try:
        return cohens_kappa(first, second, "none" if is_binary else "quadratic"), same
    except ValueError:
        return None, same


def _alpha(opinions: Mapping[int, Mapping[str, Any]]) -> float | None:
    people = sorted({by for labels in opinions.values() for by in labels})
    if len(people) < 2:
        return None
    try:
        return krippendorff_nominal(
            [[labels.get(by) for labels in opinions.values()] for by in people]
        )
    except ValueError:
        return None


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
