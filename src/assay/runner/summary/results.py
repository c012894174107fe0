"""Summaries: from score records to results, with what the whole cell cost."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core import (
    EMPTY,
    UNRESOLVED,
    AssayError,
    Outcome,
    Output,
    Result,
    Sample,
    ScoreRecord,
    ScorerError,
    StoreError,
    SummarizerError,
    SummaryContext,
    blame,
)
from ...core.record import output_from_plain
from ...scorers.answers import was_filtered
from ...store import RunWriter
from ...summarizers.attempts import Attempts
from ...summarizers.units import failure_flags
from ..ask.threads import in_thread
from ..plan.cell import Cell
from ..plan.checks import not_reduced, pools_answers
from ..scoring.scoring import Scoring, failure_score, singles_of, with_rounds
from ..tasks.components import build_summarizer
from .table_rows import Made, rows_apart

INSTEAD = "mean"
"""The summarizer that stands in for those that failed."""


def summarize(
    cell: Cell,
    scoring: Scoring,
    records: Sequence[ScoreRecord],
    n_expected: int | None,
    say_fault: Callable[[AssayError], None],
) -> list[Result]:
    """The results of one scorer on one cell; its summarizers are handed one record for each answer.

    One that fails is told to `say_fault`; where that leaves nothing of what was answered, the mean stands for it.
    """
    context = SummaryContext(
        task=cell.task.name,
        model=cell.model_name,
        protocol=cell.task.protocol,
        scorer=scoring.name,
        n_expected=n_expected,
        seed=_seed_of(f"{cell.task.protocol}/{cell.model_name}"),
        higher_is_better=scoring.higher_is_better,
        bounds=scoring.bounds,
        options={"reducer": cell.task.reducer},
    )
    candidates = 1 if scoring.whole_output else cell.options.n
    rows: list[Made] = []
    waiting = list(cell.task.summarizers or scoring.summarizers)
    for entry in waiting:
        name, summarizer = build_summarizer(entry, f"task {cell.task.name!r}")
        unreduced = not_reduced(cell) if pools_answers(summarizer) else ()
        try:
            with blame(
                SummarizerError, f"summarizer {name!r} of task {cell.task.name!r}"
            ):
                results: Iterable[Result] = summarizer(
                    Attempts(records, candidates), context
                )
                flagged = [
                    replace(result, flags=(*result.flags, *unreduced))
                    for result in results
                ]
                rows += [Made.of(name, entry, summarizer, result) for result in flagged]
        except StoreError:
            raise
        except AssayError as error:
            say_fault(error)
            if not rows and entry is waiting[-1] and INSTEAD not in waiting:
                waiting.append(INSTEAD)
    return rows_apart(rows)


Rows = list[tuple[Sample, Output]]


async def set_level(
    cell: Cell,
    scoring: Scoring,
    writer: RunWriter,
    expected: int,
    faults: Sequence[ScoreRecord] = (),
) -> list[Result]:
    """The numbers of a scorer that looks at all samples at once, from the journal; `faults` were never asked.

    Each candidate of each epoch makes a set of its own, unless the scorer takes the whole output.
    """
    writer.reload()
    outcomes = Counter(str(fault.outcome) for fault in faults)
    judged: set[str] = set()
    values: list[dict[str, float]] = []
    for epoch in range(cell.task.epochs):
        rows, failed = _answered(cell, writer, epoch)
        sets = [rows] if scoring.whole_output else _sets(rows)
        for outcome, count in failed.items():
            outcomes[outcome] += count * len(sets)
        for one in sets:
            refused = sum(was_filtered(output) for _, output in one)
            outcomes[Outcome.REFUSED.value] += refused
            outcomes[Outcome.SCORED.value] += len(one) - refused
        judged.update(sample.id for sample, _ in rows)
        with blame(ScorerError, f"scorer {scoring.name!r} of task {cell.task.name!r}"):
            # A scorer that writes files or asks judges is told which run, task and model it is about.
            scorer = (
                scoring.scorer.in_run(cell, writer)
                if hasattr(scoring.scorer, "in_run")
                else scoring.scorer
            )
            # Other people's code may take its time, or wait for judges: the loop goes on meanwhile.
            values += [flatten(await in_thread(scorer.score_all, one)) for one in sets]
    return set_level_results(cell, scoring, values, len(judged), expected, outcomes)


def _answered(cell: Cell, writer: RunWriter, epoch: int) -> tuple[Rows, Counter[str]]:
    """The samples with their answers of one epoch, and what became of those without one."""
    answers = writer.cell(cell.task.name, cell.model_name).answers
    rows: Rows = []
    failed: Counter[str] = Counter()
    for item in cell.view():
        if not isinstance(item, Sample) or not (
            stored := answers.get((item.id, epoch))
        ):
            continue
        counted = [
            answer
            for answer in stored[: cell.rounds.get((item.id, epoch))]
            if answer is not None
        ]
        records = [writer.read_output(answer) for answer in counted]
        outputs = [output_from_plain(record.output, writer.blobs) for record in records]
        if outputs[-1].error is not None:
            failed[failure_score(outputs[-1].error).outcome.value] += 1
        else:
            rows.append(
                (item, with_rounds(outputs, [record.prompt for record in records]))
            )
    return rows, failed


def _sets(rows: Rows) -> list[Rows]:
    """All first candidates, all second ones, and so on; a sample with fewer is not in the later sets."""
    width = max((len(output.candidates) for _, output in rows), default=1)
    if width < 2:
        return [rows]
    singles = [(sample, singles_of(output)) for sample, output in rows]
    return [
        [(sample, single[place]) for sample, single in singles if place < len(single)]
        for place in range(width)
    ]


def set_level_results(
    cell: Cell,
    scoring: Scoring,
    values: Sequence[Mapping[str, float]],
    n: int,
    expected: int,
    outcomes: Mapping[str, int],
) -> list[Result]:
    """What a set-level scorer returned for each set, as means without intervals: its samples cannot be recovered."""
    outcomes = {outcome: count for outcome, count in outcomes.items() if count}
    lost = sum(count for outcome, count in outcomes.items() if outcome in UNRESOLVED)
    flags = failure_flags(lost / max(expected * len(values), 1))
    names = dict.fromkeys(name for found in values for name in found)
    results = []
    for name in names:
        column = [found.get(name) for found in values]
        numbers = [
            number for number in column if number is not None and math.isfinite(number)
        ]
        strange = tuple(
            f"not a finite number: {n}"
            for n in column
            if n is not None and not math.isfinite(n)
        )
        per_set = [number if number in numbers else None for number in column]
        results.append(
            Result(
                task=cell.task.name,
                model=cell.model_name,
                metric=f"{scoring.name}.{name}" if name else scoring.name,
                value=sum(numbers) / len(numbers) if numbers else None,
                n=n,
                n_expected=expected,
                protocol=cell.task.protocol,
                interval="none: a set-level metric",
                outcomes=outcomes,
                flags=(
                    *flags,
                    *dict.fromkeys(strange),
                    *_lacking(len(values) - len(numbers), len(values)),
                ),
                higher_is_better=scoring.higher_is_better,
                details={"sets": per_set} if len(values) > 1 else EMPTY,
            )
        )
    return results


def _lacking(without: int, sets: int) -> tuple[str, ...]:
    return (f"{without} of {sets} sets have no value",) if without and sets > 1 else ()


def flatten(values: Any, prefix: str = "") -> dict[str, float]:
    """Nested numbers as `metric.sub`; what is no number is left out."""
    if (
        isinstance(values, bool)
        or hasattr(values, "item")
        or isinstance(values, (int, float))
    ):
        return {prefix: float(values.item() if hasattr(values, "item") else values)}
    if isinstance(values, Mapping):
        flat: dict[str, float] = {}
        for name, value in values.items():
            flat.update(flatten(value, f"{prefix}.{name}" if prefix else str(name)))
        return flat
    return {}


def _seed_of(name: str) -> int:
    """A seed that depends on nothing but a name; Python's own `hash` changes between processes."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
