"""From score records to results: run the summarizers of each scorer."""

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
from ...core.record import output_from_plain, whole_prompts
from ...store import RunWriter
from ...summarizers.attempts import Attempts
from ...summarizers.units import failure_flags
from ..ask.asking import think_tags_of
from ..ask.threads import in_thread
from ..plan.checks import not_reduced, pools_answers
from ..plan.planned_task import PlannedTask
from ..scoring.scoring import (
    Scoring,
    failure_score,
    outcome_without_answer,
    singles_of,
    with_rounds,
)
from ..tasks.components import build_summarizer
from .table_rows import SummarizedRow, unique_rows

INSTEAD = "mean"
"""The summarizer to use if all summarizers of a scorer failed."""


def summarize(
    planned: PlannedTask,
    scoring: Scoring,
    records: Sequence[ScoreRecord],
    n_expected: int | None,
    say_fault: Callable[[AssayError], None],
    beside: Mapping[str, Sequence[ScoreRecord]] = EMPTY,
) -> list[Result]:
    """Run the summarizers of one scorer on one task × model, and return the results.

    They get one record for each answer. Errors of summarizers are passed to
    `say_fault`; if no result is left, the mean is used. `beside` has the records of all
    scorers, for summarizers that need several of them.
    """
    if scoring.whole_output:
        candidates = 1
    else:
        candidates = planned.options.n
    seed = _seed_of(f"{planned.task.protocol}/{planned.model_name}")
    context = SummaryContext(
        task=planned.task.name,
        model=planned.model_name,
        protocol=planned.task.protocol,
        scorer=scoring.name,
        n_expected=n_expected,
        seed=seed,
        higher_is_better=scoring.higher_is_better,
        bounds=scoring.bounds,
        scale=scoring.scale if scoring.scale.names else None,
        options={"reducer": planned.task.reducer},
        beside={name: Attempts(rows, candidates) for name, rows in beside.items()},
    )
    rows: list[SummarizedRow] = []
    waiting = [*(planned.task.summarizers or scoring.summarizers)]
    waiting += _of_repeats(planned, scoring)
    for entry in waiting:
        name, summarizer = build_summarizer(entry, f"task {planned.task.name!r}")
        unreduced: tuple[str, ...] = ()
        if pools_answers(summarizer):
            unreduced = not_reduced(planned)
            if not getattr(summarizer, "applies_weights", False):
                unreduced = (*unreduced, *_not_weighted(records))
        try:
            with blame(
                SummarizerError, f"summarizer {name!r} of task {planned.task.name!r}"
            ):
                results: Iterable[Result] = summarizer(
                    Attempts(records, candidates), context
                )
                flagged = [
                    replace(result, flags=(*result.flags, *unreduced))
                    for result in results
                ]
                rows += [
                    SummarizedRow.of(name, entry, summarizer, result)
                    for result in flagged
                ]
        except StoreError:
            raise
        except AssayError as error:
            say_fault(error)
            if not rows and entry is waiting[-1] and INSTEAD not in waiting:
                waiting.append(INSTEAD)
    return unique_rows(rows)


def _of_repeats(planned: PlannedTask, scoring: Scoring) -> list[Any]:
    """Return summarizers for pass@k and pass^k if a task with tools has k epochs and names no summarizers.

    pass@k is the fraction of samples solved in at least one of k epochs, pass^k the
    fraction solved in all.
    """
    k = planned.task.epochs
    is_usual = scoring.summarizers == ("mean",) and not planned.task.summarizers
    is_share = scoring.bounds == (0.0, 1.0) and scoring.higher_is_better
    if planned.tools is None or k < 2 or not is_usual or not is_share:
        return []
    if planned.task.reducer != "mean":
        return []
    return [{"name": "pass_at_k", "k": k}, {"name": "pass_hat_k", "k": k}]


def _not_weighted(records: Iterable[ScoreRecord]) -> tuple[str, ...]:
    """Return a flag for a result that ignores the samples' weights; empty if there are no weights."""
    first = next(iter(records), None)
    has_weights = first is not None and first.weight is not None
    return ("row weights not applied",) if has_weights else ()


Rows = list[tuple[Sample, Output]]


async def set_level(
    planned: PlannedTask,
    scoring: Scoring,
    writer: RunWriter,
    expected: int,
    faults: Sequence[ScoreRecord] = (),
) -> list[Result]:
    """Return the results of a scorer that judges all samples at once.

    There is one set of samples for each candidate of each epoch, unless the scorer
    receives outputs with all candidates. `faults` are the records of rows that were not
    sent.
    """
    writer.reload()
    outcomes = Counter(str(fault.outcome) for fault in faults)
    judged: set[str] = set()
    values: list[dict[str, float]] = []
    for epoch in range(planned.task.epochs):
        rows, failed = _answered(planned, writer, epoch)
        if scoring.whole_output:
            sets = [rows]
        else:
            sets = _sets(rows)
        for outcome, count in failed.items():
            outcomes[outcome] += count * len(sets)
        for samples in sets:
            for _, output in samples:
                outcome = outcome_without_answer(output) or Outcome.SCORED
                outcomes[outcome.value] += 1
        judged.update(sample.id for sample, _ in rows)
        with blame(
            ScorerError, f"scorer {scoring.name!r} of task {planned.task.name!r}"
        ):
            # A scorer that writes files or asks judges gets the run, task and model.
            if hasattr(scoring.scorer, "in_run"):
                scorer = scoring.scorer.in_run(planned, writer)
            else:
                scorer = scoring.scorer
            # User code may be slow or wait for judges, so it must not block the event loop.
            for samples_of_set in sets:
                values.append(
                    flatten(await in_thread(scorer.score_all, samples_of_set))
                )
    return set_level_results(planned, scoring, values, len(judged), expected, outcomes)


def _answered(
    planned: PlannedTask,
    writer: RunWriter,
    epoch: int,
) -> tuple[Rows, Counter[str]]:
    """Return the answered samples of one epoch with their answers.

    Also return the number of samples without an answer, by outcome.
    """
    answers = writer.cell(planned.task.name, planned.model_name).answers
    tags = think_tags_of(planned.task.protocol, planned.model, planned.run.model_args)
    rows: Rows = []
    failed: Counter[str] = Counter()
    for item in planned.view():
        if not isinstance(item, Sample) or not (
            stored := answers.get((item.id, epoch))
        ):
            continue
        counted = [
            answer
            for answer in stored[: planned.rounds.get((item.id, epoch))]
            if answer is not None
        ]
        records = [writer.read_output(answer) for answer in counted]
        plain = [output_from_plain(record.output, writer.blobs) for record in records]
        outputs = [output.separated(tags) for output in plain]
        if outputs[-1].error is not None:
            failed[failure_score(outputs[-1].error).outcome.value] += 1
        else:
            sample = planned.samples.in_epoch(item, epoch)
            prompts = whole_prompts(records)
            rows.append((sample, with_rounds(outputs, prompts)))
    return rows, failed


def _sets(rows: Rows) -> list[Rows]:
    """Split samples with several candidates into sets: all first candidates, all second candidates, and so on.

    A sample with fewer candidates is missing from the later sets.
    """
    width = max((len(output.candidates) for _, output in rows), default=1)
    if width < 2:
        return [rows]
    singles = [(sample, singles_of(output)) for sample, output in rows]
    sets = []
    for index in range(width):
        sets.append(
            [
                (sample, single[index])
                for sample, single in singles
                if index < len(single)
            ]
        )
    return sets


def set_level_results(
    planned: PlannedTask,
    scoring: Scoring,
    values: Sequence[Mapping[str, float]],
    n: int,
    expected: int,
    outcomes: Mapping[str, int],
) -> list[Result]:
    """Return the results of a scorer that judged whole sets: the mean over the sets, for each value it returned.

    There are no intervals, because the scores of individual samples are unknown.
    """
    outcomes = {outcome: count for outcome, count in outcomes.items() if count}
    lost = sum(count for outcome, count in outcomes.items() if outcome in UNRESOLVED)
    flags = failure_flags(lost / max(expected * len(values), 1))
    names = dict.fromkeys(name for set_values in values for name in set_values)
    results = []
    for name in names:
        column = [set_values.get(name) for set_values in values]
        numbers = [
            number for number in column if number is not None and math.isfinite(number)
        ]
        strange = tuple(
            f"not a finite number: {n}"
            for n in column
            if n is not None and not math.isfinite(n)
        )
        per_set = [number if number in numbers else None for number in column]
        if name:
            metric = f"{scoring.name}.{name}"
        else:
            metric = scoring.name
        details: Mapping[str, Any] = EMPTY
        if len(values) > 1:
            details = {"sets": per_set}
        result = Result(
            task=planned.task.name,
            model=planned.model_name,
            metric=metric,
            value=sum(numbers) / len(numbers) if numbers else None,
            n=n,
            n_expected=expected,
            protocol=planned.task.protocol,
            interval="none: a set-level metric",
            outcomes=outcomes,
            flags=(
                *flags,
                *dict.fromkeys(strange),
                *_lacking(len(values) - len(numbers), len(values)),
            ),
            higher_is_better=scoring.scale.of(name).higher_is_better,
            details=details,
        )
        results.append(result)
    return results


def _lacking(without: int, sets: int) -> tuple[str, ...]:
    """Return a flag if a metric is missing in some of the sets."""
    if without and sets > 1:
        return (f"{without} of {sets} sets have no value",)
    return ()


def flatten(values: object, prefix: str = "") -> dict[str, float]:
    """Return the numbers in nested mappings, with names such as `metric.sub`.

    Texts, lists and larger arrays are left out.
    """
    if hasattr(values, "item") and getattr(values, "size", 1) == 1:
        values = values.item()
    if isinstance(values, (bool, int, float)):
        return {prefix: float(values)}
    if isinstance(values, Mapping):
        flat: dict[str, float] = {}
        for name, value in values.items():
            flat.update(flatten(value, f"{prefix}.{name}" if prefix else str(name)))
        return flat
    return {}


def _seed_of(name: str) -> int:
    """Return a seed derived from a name. Python's `hash` would give another seed in every process."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
