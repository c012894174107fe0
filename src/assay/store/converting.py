"""Convert the results of another tool to a run folder: samples to journal lines, metrics to a summary."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core import Message, Result, SummaryContext
from ..core.message import to_plain
from ..imports.results import ForeignNumber, ForeignRun, ForeignSample, ForeignTask
from ..summarizers.attempts import Attempts
from ..summarizers.mean import Mean
from .imported import IMPORTED
from .journal import OutputLine, ScoreLine
from .ownership import FORMAT
from .runs import RunReader, RunWriter

NORMAL = 1.959964
SAME = 1e-6
"""How close a metric in the other tool's file must be to the mean of its samples to be treated as this mean."""


def write_run(
    run: ForeignRun,
    folder: Path,
    path: Path,
    stamp: str,
) -> None:
    """Write a run folder with the samples, metrics and other facts of another tool's run.

    `path` is the path that the user named. `stamp` identifies the contents of its
    files.
    """
    described = {
        "tool": run.tool,
        "version": run.version,
        "path": str(path.absolute()),
        "stamp": stamp,
    }
    notes = [f"results of {run.tool} {run.version}".rstrip(), *run.notes]
    notes.append("prompt template, scorer code and data digest are unknown")
    with RunWriter(folder, fresh=True, signs=False) as writer:
        counts = [_write_samples(writer, task, notes) for task in run.tasks]
        writer.journal.flush()
        reader = RunReader(folder)
        cells = []
        results = []
        for task, count in zip(run.tasks, counts, strict=True):
            expected = max(count, task.n_expected or 0)
            protocol = f"{task.task} ({run.tool})"
            cells.append(_cell(task, protocol, expected, reader))
            results += _results(task, protocol, expected, reader, run.tool)
        status = "complete" if run.is_complete else "interrupted"
        manifest = {
            "format": FORMAT,
            "status": status,
            "started": run.started,
            "finished": run.finished or run.started,
            "versions": {run.tool: run.version} if run.version else {},
            "config": {},
            "cells": cells,
            IMPORTED: described,
        }
        rows = [result.to_plain() for result in results]
        writer.finish(manifest, {"status": status, "results": rows, "notes": notes})


def _cell(
    task: ForeignTask,
    protocol: str,
    expected: int,
    reader: RunReader,
) -> dict[str, Any]:
    """Return the entry of `run.json` for a task × model, with the facts that the other tool's file contains."""
    scorers = reader.scorers(task.task, task.model)
    settings = dict(task.settings)
    dataset = settings.pop("dataset", None)
    return {
        "task": task.task,
        "model": task.model,
        "protocol": protocol,
        "scorers": dict.fromkeys(scorers, ""),
        "digests": {},
        "n_expected": expected,
        "data": [] if dataset is None else [str(dataset)],
        **settings,
    }


def _write_samples(
    writer: RunWriter,
    task: ForeignTask,
    notes: list[str],
) -> int:
    """Write the answers and verdicts of a task, and return the number of samples."""
    orders: dict[tuple[str, int], tuple[int, Mapping[str, str]]] = {}
    repeated = 0
    for sample in task.samples():
        key = sample.id, sample.epoch
        if sample.output is not None:
            repeated += key in orders
            orders[key] = len(orders), sample.tags
            writer.write(_output_line(writer, task, sample))
        order, tags = orders.setdefault(key, (len(orders), sample.tags))
        for score in sample.scores:
            line = ScoreLine(
                task.task,
                task.model,
                sample.id,
                score.scorer,
                "",
                dict(score.values),
                score.outcome.value,
                epoch=sample.epoch,
                answer=score.answer,
                details=dict(score.details),
                tags=dict(tags),
                order=order,
            )
            writer.write(line)
    if repeated:
        notes.append(
            f"{task.task}: {repeated} samples have the id of an earlier one, which they replace"
        )
    return len({id for id, _ in orders})


def _output_line(
    writer: RunWriter,
    task: ForeignTask,
    sample: ForeignSample,
) -> OutputLine:
    assert sample.output is not None
    prompt = [_plain_message(writer, message) for message in sample.prompt]
    key = f"{task.task}\0{task.model}\0{sample.id}\0{sample.epoch}"
    return OutputLine(
        task.task,
        task.model,
        sample.id,
        hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(),
        sample.epoch,
        prompt=prompt,
        continuations=list(sample.continuations) or None,
        output=writer.plain_output(sample.output),
        target=sample.target,
    )


def _plain_message(writer: RunWriter, message: Message) -> dict[str, Any]:
    """Return a message as JSON, and store its media in the run folder, because they are not in any dataset."""
    for medium in message.media:
        writer.blobs.put(medium)
    return to_plain(message)


def _results(
    task: ForeignTask,
    protocol: str,
    expected: int,
    reader: RunReader,
    tool: str,
) -> list[Result]:
    """Return the results of a task: the mean of each scorer, and other metrics that the tool's file contains."""
    rows: list[Result] = []
    for scorer in reader.scorers(task.task, task.model):
        rows += _means(task, scorer, protocol, expected, reader)
    blank = Result(
        task.task,
        task.model,
        "",
        None,
        expected,
        expected or None,
        protocol,
    )
    return with_stated(rows, task.numbers, blank, tool)


def with_stated(
    means: Iterable[Result],
    numbers: Iterable[ForeignNumber],
    blank: Result,
    tool: str,
) -> list[Result]:
    """Return the means of samples, followed by metrics in the other tool's file that are not such means.

    A row is added for each of these metrics. It is a copy of `blank`, a row without
    metric and value.
    """
    rows = {row.metric: row for row in means}
    for number in numbers:
        mean = rows.get(number.metric)
        if mean is not None and _is_same(mean.value, number.value):
            rows[number.metric] = _as_stated(mean, number)
        else:
            rows[number.metric] = _row_of_stated(number, blank, tool)
    return list(rows.values())


def _means(
    task: ForeignTask,
    scorer: str,
    protocol: str,
    expected: int,
    reader: RunReader,
) -> list[Result]:
    records = reader.scores(task.task, task.model, scorer)
    if scorer in task.shares:
        bounds = (0.0, 1.0)
    else:
        bounds = None
    context = SummaryContext(
        task=task.task,
        model=task.model,
        protocol=protocol,
        scorer=scorer,
        n_expected=expected,
        seed=0,
        higher_is_better=task.higher_is_better.get(scorer, True),
        bounds=bounds,
    )
    return list(Mean()(Attempts(records), context))


def _is_same(
    mean: float | None,
    stated: float | None,
) -> bool:
    if mean is None or stated is None:
        return mean is stated
    return math.isclose(
        mean,
        stated,
        rel_tol=SAME,
        abs_tol=SAME,
    )


def _as_stated(row: Result, number: ForeignNumber) -> Result:
    """Return the row of a mean. If the file has an interval for it, as exports of assay have, use that interval."""
    if number.ci is None or not number.interval:
        return row
    return replace(
        row,
        value=number.value,
        stderr=number.stderr,
        ci=number.ci,
        interval=number.interval,
        n=row.n if number.n is None else number.n,
        n_expected=number.n_expected or row.n_expected,
        outcomes=number.outcomes or row.outcomes,
        flags=number.flags or row.flags,
    )


def _row_of_stated(
    number: ForeignNumber,
    blank: Result,
    tool: str,
) -> Result:
    """Return a row for a metric that another tool's file states, and that is not the mean of its sample scores."""
    ci = number.ci
    interval = number.interval
    if ci is None and number.stderr and number.value is not None:
        margin = NORMAL * number.stderr
        ci = number.value - margin, number.value + margin
        interval = f"normal, from the standard error of {tool}"
    flags = number.flags
    if number.n is None and not blank.n:
        flags = (*flags, "number of samples unknown")
    return replace(
        blank,
        metric=number.metric,
        value=number.value,
        n=blank.n if number.n is None else number.n,
        n_expected=number.n_expected or blank.n_expected,
        stderr=number.stderr,
        ci=ci,
        interval=interval or f"none: computed by {tool}, not from values of samples",
        outcomes=number.outcomes or blank.outcomes,
        flags=flags,
        higher_is_better=number.higher_is_better,
    )
