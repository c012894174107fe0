"""Summaries: from score records to results, with what the whole cell cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import EMPTY, Outcome, Result, Sample, ScoreRecord, ScorerError, SummarizerError, blame
from ..core.record import output_from_plain
from ..store import RunWriter
from ..summarizers.statistics import seed_of
from ..summarizers.units import failure_flags
from .components import build_summarizer
from .plan import Cell
from .scoring import Scoring, failure_score, with_rounds
from .threads import in_thread


@dataclass(frozen=True, slots=True)
class Context:
    """What a summarizer may know beside the records."""

    task: str
    model: str
    protocol: str
    scorer: str
    n_expected: int | None
    seed: int
    higher_is_better: bool = True
    bounds: tuple[float, float] | None = (0.0, 1.0)
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def summarize(cell: Cell, scoring: Scoring, records: Sequence[ScoreRecord], n_expected: int | None) -> list[Result]:
    """The results of one scorer on one cell."""
    context = Context(
        task=cell.task.name,
        model=cell.model_name,
        protocol=cell.task.protocol,
        scorer=scoring.name,
        n_expected=n_expected,
        seed=seed_of(f"{cell.task.protocol}/{cell.model_name}"),
        higher_is_better=scoring.higher_is_better,
        bounds=scoring.bounds,
        options={"reducer": cell.task.reducer},
    )
    results: list[Result] = []
    for entry in cell.task.summarizers or scoring.summarizers:
        name, summarizer = build_summarizer(entry, f"task {cell.task.name!r}")
        with blame(SummarizerError, f"summarizer {name!r} of task {cell.task.name!r}"):
            made: Iterable[Result] = summarizer(records, context)
            results.extend(made)
    return _once(results)


def _once(results: Sequence[Result]) -> list[Result]:
    """One row for each metric: a summarizer named twice, or by two scorers, speaks once."""
    seen: dict[str, Result] = {}
    for result in results:
        seen.setdefault(result.metric, result)
    return list(seen.values())


async def set_level(
    cell: Cell, scoring: Scoring, writer: RunWriter, expected: int, faults: Sequence[ScoreRecord] = ()
) -> list[Result]:
    """The numbers of a scorer that looks at all samples at once, from the journal; `faults` were never asked."""
    writer.reload()
    answers = writer.cell(cell.task.name, cell.model_name).answers
    rows = []
    outcomes = Counter(str(fault.outcome) for fault in faults)
    for item in cell.view():
        stored = answers.get((item.id, 0)) if isinstance(item, Sample) else None
        if not stored:
            continue
        said = [output_from_plain(writer.read_output(a).output, writer.blobs) for a in stored if a is not None]
        if said[-1].error is not None:
            outcomes[failure_score(said[-1].error).outcome.value] += 1
        else:
            rows.append((item, with_rounds(said)))
    with blame(ScorerError, f"scorer {scoring.name!r} of task {cell.task.name!r}"):
        # A scorer that writes files or asks judges is told which run, task and model it is about.
        scorer = scoring.scorer.in_run(cell, writer) if hasattr(scoring.scorer, "in_run") else scoring.scorer
        # Other people's code may take its time, or wait for judges: the loop goes on meanwhile.
        values = await in_thread(scorer.score_all, rows)
    return set_level_results(cell, scoring, values, len(rows), expected, outcomes)


def set_level_results(
    cell: Cell, scoring: Scoring, values: Mapping[str, Any], n: int, expected: int, faults: Mapping[str, int]
) -> list[Result]:
    """What a set-level scorer returned, as results without intervals: its samples cannot be recovered."""
    flat = flatten(values)
    outcomes = {Outcome.SCORED.value: n, **faults}
    flags = failure_flags(sum(faults.values()) / max(expected, 1))
    return [
        Result(
            task=cell.task.name,
            model=cell.model_name,
            metric=f"{scoring.name}.{name}" if name else scoring.name,
            value=number,
            n=n,
            n_expected=expected,
            protocol=cell.task.protocol,
            interval="none: a set-level metric",
            outcomes=outcomes,
            flags=flags,
            higher_is_better=scoring.higher_is_better,
        )
        for name, number in flat.items()
    ]


def flatten(values: Any, prefix: str = "") -> dict[str, float]:
    """Nested numbers as `metric.sub`; what is no number is left out."""
    if isinstance(values, bool) or hasattr(values, "item") or isinstance(values, (int, float)):
        return {prefix: float(values.item() if hasattr(values, "item") else values)}
    if isinstance(values, Mapping):
        flat: dict[str, float] = {}
        for name, value in values.items():
            flat.update(flatten(value, f"{prefix}.{name}" if prefix else str(name)))
        return flat
    return {}
