"""Human labels: which sample to show next, how far people and scorer agree, and the corrected value.

Samples are drawn at random with a seed, and shown without model, judge and scores. From
the labels come the agreement with the scorer (kappa), the agreement among people
(alpha), and a corrected value of the scorer. Ratings on a scale use quadratic-weighted
kappa and ordinal alpha; right or wrong uses the unweighted ones.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from ..core import UsageError
from ..store.labels import Label, add_labels, read_labels, standing_labels
from ..summarizers.statistics import (
    cohens_kappa,
    krippendorff_alpha,
    prediction_powered_mean,
)
from ..summarizers.statistics.estimate import Ends
from .run_view import RunView

MOST_ASKED = 1000
MOST_STEPS = 11
"""The maximum number of labels on a scale. Each label is then chosen with one key.

On a longer scale, a label is only right or wrong.
"""
RIGHT_OR_WRONG: Ends = (0.0, 1.0)


def label_page(
    run: RunView,
    cell: int,
    seed: int,
) -> dict[str, Any]:
    """Return the content of the label page: the rows in display order, the labels so far, and a summary."""
    described, rows, values = _judged_rows(run, cell)
    order = list(rows)
    random.Random(seed).shuffle(order)
    labels = standing_labels(read_labels(run.layout))
    index = run.index
    opinions = {}
    for row in order:
        epoch = index.small["epoch"][row]
        key = described["task"], described["model"], index.ids[row], epoch
        if key in labels:
            opinions[row] = {by: label.value for by, label in labels[key].items()}
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
    """Return a sample without anything that could influence a person: model, scores, judges and their details."""
    plain = run.record(row).to_plain()
    rounds = [{**turn, "model": None, "details": None} for turn in plain["rounds"]]
    return {**plain, "model": "", "verdicts": [], "calls": [], "rounds": rounds}


def choices_of(scale: Sequence[float] | None) -> list[dict[str, Any]]:
    """Return the labels that a person may choose from, each with its key."""
    low, high = ends_of(scale)
    if not _has_steps(low, high):
        return [
            {"key": "1", "value": high, "name": "right"},
            {"key": "0", "value": low, "name": "wrong"},
        ]
    keys = "0123456789x" if low == 0 else "1234567890x"
    steps = int(high - low) + 1
    values = [low + step for step in range(steps)]
    choices = []
    for key, value in zip(keys, values, strict=False):
        choices.append({"key": key, "value": value, "name": f"{value:g}"})
    return choices


def ends_of(scale: Sequence[float] | None) -> Ends:
    """Return the lowest and the highest label of a scale; 0 and 1 if the scale is unknown."""
    if not scale:
        return RIGHT_OR_WRONG
    return float(scale[0]), float(scale[1])


def _has_steps(low: float, high: float) -> bool:
    """Return True if the scale consists of few enough whole numbers that each can have its own key."""
    if (low, high) == RIGHT_OR_WRONG or low != int(low) or high != int(high):
        return False
    return 2 < high - low + 1 <= MOST_STEPS


def check_label(
    value: float | None,
    described: Mapping[str, Any],
    where: str,
) -> None:
    """Raise if a label is not a number on the scorer's scale.

    `described` is the entry of the task × model, from `described_cells`. The label None
    means that the person could not decide. If the scale has no known ends, any finite
    number is valid.
    """
    if value is None:
        return
    if not math.isfinite(value):
        raise UsageError(
            f"label {value} is not a finite number",
            where=where,
            fix="write a number",
        )
    scale = described.get("scale")
    if scale is None:
        return
    low, high = ends_of(scale)
    if not low <= value <= high:
        fix = f"give a number from {low:g} to {high:g}, or none for 'cannot tell'"
        raise UsageError(
            f"label {value:g} is not on the scale of {described['metric']}: {low:g} to {high:g}",
            where=where,
            fix=fix,
        )


def described_cells(run: RunView) -> list[dict[str, Any]]:
    """Return task, model, metric and scale of each task × model.

    A metric that is 0 or 1 for every sample has the scale 0 to 1.
    """
    index = run.index
    cells = []
    for number, cell in enumerate(run.columns()["cells"]):
        scale = cell.get("scale")
        column = index.metrics.get(cell["metric"] or "")
        if scale is None and column is not None:
            codes = index.small["cell"]
            values = set()
            for v, code in zip(column, codes, strict=True):
                if code == number:
                    values.add(v)
            numbers = {value for value in values if math.isfinite(value)}
            if numbers and numbers <= set(RIGHT_OR_WRONG):
                scale = list(RIGHT_OR_WRONG)
        cells.append({**cell, "scale": scale})
    return cells


def add_label(
    run: RunView,
    row: int,
    value: float | None,
    by: str,
    note: str = "",
) -> None:
    """Store a person's label of a row. Raise if the label is not on the scale or the person has no name."""
    index = run.index
    if not 0 <= row < len(index):
        raise UsageError(f"the run has no sample in row {row}")
    if not by.strip():
        raise UsageError("a label needs the name of who gave it", fix="enter your name")
    code = index.small["cell"][row]
    task, model = index.cells[code]
    check_label(value, described_cells(run)[code], where=f"sample {index.ids[row]}")
    epoch = index.small["epoch"][row]
    label = Label(task, model, index.ids[row], epoch, value, by, note=note)
    add_labels(run.layout, [label])


def summary_of(
    cell: Mapping[str, Any],
    values: Mapping[int, float],
    opinions: Mapping[int, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the agreement of people with the scorer, and the scorer's value corrected by people's labels."""
    people = {row: _mean_label(labels) for row, labels in opinions.items()}
    scale = ends_of(cell.get("scale"))
    is_rating = _has_steps(*scale)
    judged_all = list(values.values())
    summary: dict[str, Any] = {
        "labelled": sum(v is not None for v in people.values()),
        "unsure": sum(v is None for v in people.values()),
        "judge_value": _mean(judged_all),
        **_among_people(opinions, is_rating),
    }
    both = {
        row: label
        for row, label in people.items()
        if label is not None and row in values
    }
    if not both:
        return summary
    labels = list(both.values())
    judged = [values[row] for row in both]
    others = [value for row, value in values.items() if people.get(row) is None]
    is_inside = all(scale[0] <= v <= scale[1] for v in (*labels, *judged_all))
    estimate = prediction_powered_mean(
        labels,
        judged,
        others,
        ends=scale if is_inside else None,
    )
    return {
        **summary,
        "judge_on_labelled": _mean(judged),
        "people_on_labelled": _mean(labels),
        **_with_scorer(labels, judged, scale, is_rating),
        "corrected": {
            "value": estimate.value,
            "ci": None if estimate.low is None else [estimate.low, estimate.high],
            "method": estimate.method,
            "unreliable": estimate.unreliable,
            "n": len(both),
            "others": len(others),
        },
    }


def _judged_rows(
    run: RunView,
    cell: int,
) -> tuple[dict[str, Any], list[int], dict[int, float]]:
    """Return the entry of the task × model, its rows (first epochs only), and the value
    that the scorer gave to each row.
    """
    cells = described_cells(run)
    if not 0 <= cell < len(cells):
        raise UsageError("the run has no such task")
    described = cells[cell]
    index = run.index
    epochs = index.small["epoch"]
    codes = index.small["cell"]
    rows = []
    for row in range(len(index)):
        if codes[row] == cell and not epochs[row] and not index.failed[row]:
            rows.append(row)
    column = index.metrics.get(described["metric"] or "")
    if column is None:
        return described, rows, {}
    values = {row: column[row] for row in rows if math.isfinite(column[row])}
    return described, rows, values


def _with_scorer(
    labels: list[float],
    judged: list[float],
    scale: Ends,
    is_rating: bool,
) -> dict[str, Any]:
    """Return the agreement of people and scorer: the share of equal labels, and kappa with its name."""
    first = [_step(value, scale, is_rating) for value in labels]
    second = [_step(value, scale, is_rating) for value in judged]
    same = sum(a == b for a, b in zip(first, second, strict=True))
    name = "quadratic-weighted kappa" if is_rating else "Cohen's kappa"
    kappa = None
    if len({*first, *second}) > 1:
        kappa = cohens_kappa(first, second, "quadratic" if is_rating else "none")
    return {
        "agree": same / len(first),
        "kappa": kappa,
        "kappa_text": f"{name} {'undefined' if kappa is None else two_digits(kappa)}",
    }


def _step(
    value: float,
    scale: Ends,
    is_rating: bool,
) -> float:
    """Convert the scorer's value to a label: the nearest whole rating, or 1 (right) or 0 (wrong)."""
    if is_rating:
        return float(round(value))
    return float(value >= (scale[0] + scale[1]) / 2)


def _among_people(
    opinions: Mapping[int, Mapping[str, Any]],
    is_rating: bool,
) -> dict[str, Any]:
    """Return Krippendorff's alpha among people, and its name. Alpha is None if only one person has labelled."""
    people = sorted({by for labels in opinions.values() for by in labels})
    alpha = None
    if len(people) > 1:
        ratings = [[labels.get(by) for labels in opinions.values()] for by in people]
        try:
            alpha = krippendorff_alpha(ratings, "ordinal" if is_rating else "nominal")
        except ValueError:
            alpha = None
    if alpha is None:
        return {"alpha": None, "alpha_text": ""}
    level = "ordinal" if is_rating else "nominal"
    text = f"Krippendorff's alpha ({level}) {two_digits(alpha)}"
    return {"alpha": alpha, "alpha_text": text}


def two_digits(value: float) -> str:
    """Return a number with two decimals. A small negative number becomes 0.00, not -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _mean_label(labels: Mapping[str, Any]) -> float | None:
    """Return the mean of people's labels of one answer; None if everyone was undecided."""
    return _mean([value for value in labels.values() if value is not None])


def _mean(values: Sequence[float]) -> float | None:
    if values:
        return math.fsum(values) / len(values)
    return None
