"""The overall score of a suite with weights for its tasks. It is a separate row below those of the tasks."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ... import registry
from ...core import Result, Suite

METRIC = "overall"
INTERVAL = "from the intervals of the tasks"


def overall_rows(
    references: Sequence[Any],
    results: Sequence[Result],
) -> list[Result]:
    """Return the overall score of each suite of a run, for each model that has a value in every task."""
    rows: list[Result] = []
    for suite in _weighing_suites(references):
        for model in dict.fromkeys(result.model for result in results):
            by_task = _headlines(suite, model, results)
            if by_task is not None:
                rows.append(_overall(suite, model, by_task))
    return rows


def _weighing_suites(references: Sequence[Any]) -> Iterator[Suite]:
    """Yield the suites in a run that define weights, and so have an overall score.

    Only tasks given by name can belong to a suite.
    """
    names = [reference for reference in references if isinstance(reference, str)]
    for reference in dict.fromkeys(names):
        if reference not in registry.tasks:
            continue
        suite = registry.tasks.get(reference)
        if isinstance(suite, Suite) and suite.weights is not None:
            yield suite


def _headlines(
    suite: Suite,
    model: str,
    results: Sequence[Result],
) -> dict[str, Result] | None:
    """Return the headline result of each task of a suite for a model, by task; None if a task has no value."""
    by_task: dict[str, Result] = {}
    for result in results:
        if result.model == model:
            by_task.setdefault(result.task, result)
    names = [str(getattr(task, "name", task)) for task in suite.tasks]
    for name in names:
        if name not in by_task or by_task[name].value is None:
            return None
    return {name: by_task[name] for name in names}


def _overall(
    suite: Suite,
    model: str,
    by_task: dict[str, Result],
) -> Result:
    """Return the overall result of a suite for a model: the weighted mean of its tasks."""
    assert suite.weights is not None
    sizes = {name: result.n for name, result in by_task.items()}
    weights = suite.weights(sizes)
    value = 0.0
    outcomes: Counter[str] = Counter()
    for name, result in by_task.items():
        value += weights.get(name, 0.0) * (result.value or 0.0)
        outcomes.update(result.outcomes)
    weighed = [(weight, by_task[name]) for name, weight in weights.items()]
    interval = _interval(value, weighed)
    reason = "none: a task has no interval"
    return Result(
        task=suite.name,
        model=model,
        metric=METRIC,
        value=value,
        n=sum(sizes.values()),
        n_expected=sum(result.n_expected or 0 for result in by_task.values()),
        protocol=_protocol(suite, by_task),
        stderr=_standard_error(weighed),
        ci=interval,
        interval=INTERVAL if interval else reason,
        outcomes=dict(outcomes),
        details={"weights": {name: round(w, 6) for name, w in weights.items()}},
    )


def _interval(
    value: float,
    weighed: Sequence[tuple[float, Result]],
) -> tuple[float, float] | None:
    """Return the interval of a weighted sum of independent results; None if one of them has no interval.

    The squared distances from each value to its bounds are added up (Zou and Donner
    2008), so asymmetric intervals stay asymmetric.
    """
    below = 0.0
    above = 0.0
    for weight, result in weighed:
        if result.ci is None or result.value is None:
            return None
        low, high = result.ci
        below += (weight * (result.value - low)) ** 2
        above += (weight * (high - result.value)) ** 2
    return value - math.sqrt(below), value + math.sqrt(above)


def _standard_error(weighed: Sequence[tuple[float, Result]]) -> float | None:
    """Return the standard error of a weighted sum of independent results; None if a result has none."""
    variance = 0.0
    for weight, result in weighed:
        if result.stderr is None:
            return None
        variance += (weight * result.stderr) ** 2
    return math.sqrt(variance)


def _protocol(
    suite: Suite,
    by_task: dict[str, Result],
) -> str:
    """Return the protocol id of a suite: its name, with the part after `@` if all its tasks have the same."""
    endings = {result.protocol.partition("@")[2] for result in by_task.values()}
    if len(endings) != 1:
        return suite.name
    return f"{suite.name}@{endings.pop()}"
