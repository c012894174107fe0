"""Try summarizers on the verdicts of a trial, to find their errors before a run costs anything."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core import EMPTY, Outcome, Sample, Score, ScoreRecord, SummaryContext, Task
from ..core.score import named_values
from ..report import format_value, printable
from ..runner.scoring.scoring import Scoring
from ..runner.tasks.components import build_summarizer
from ..summarizers.adapt import Adapted
from .explain import explained

MODEL = "scripted"


def trial_record(
    score: Score,
    sample: Sample,
    scorer: str,
    number: int,
) -> ScoreRecord:
    """Return a verdict as the record that a summarizer gets."""
    return ScoreRecord(
        "trial",
        MODEL,
        sample.id,
        scorer,
        "",
        named_values(score, scorer),
        str(score.outcome),
        answer=score.answer,
        details=score.details,
        tags=sample.tags,
        group=sample.group,
        cluster=sample.cluster,
        order=number,
        weight=sample.weight,
    )


def try_summarizers(
    task: Task, name: str, scorer: Any, records: Sequence[ScoreRecord], file: Path
) -> Iterator[str]:
    """Yield the results of summarizers on the scripted right answers. Raise if a user's own summarizer fails.

    A shipped summarizer may need more answers than a trial has, so its failure is only a note.
    """
    if not records:
        return
    for entry in task.summarizers or getattr(scorer, "summarizers", ("mean",)):
        if entry != "mean":
            yield from _try(
                entry, task, Scoring.of(name, scorer, task.name, MODEL), records, file
            )


def _try(
    entry: Any,
    task: Task,
    scoring: Scoring,
    records: Sequence[ScoreRecord],
    file: Path,
) -> Iterator[str]:
    repeats = max(1, task.epochs * (task.options.n or 1))
    answers = []
    for r in records:
        for epoch in range(repeats):
            answers.append(replace(r, epoch=epoch))
    try:
        name, summarizer = build_summarizer(entry, f"task {task.name!r}")
    except Exception as error:
        raise explained(error, file) from error
    context = SummaryContext(
        task.name,
        MODEL,
        task.protocol,
        scoring.name,
        len(records),
        0,
        scoring.higher_is_better,
        scoring.bounds,
        {"reducer": task.reducer},
        scoring.scale if scoring.scale.names else None,
    )
    is_own = isinstance(summarizer, Adapted)
    try:
        results = list(summarizer(answers, context))
    except Exception as error:
        if is_own:
            raise explained(error, file) from error
        yield printable(f"note: summarizer {name} on {scoring.name}: {error}")
        return
    for result in results:
        value = format_value(result.value)
        line = f"summarizer {name} on {scoring.name}: {result.metric} {value} for the targets"
        yield printable(line)
    if is_own:
        yield from _try_failure(name, summarizer, answers, context)


def _try_failure(
    name: str,
    summarizer: Any,
    answers: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[str]:
    """Yield a note if a summarizer fails when a sample has no answer, as in a run that loses some."""
    lost = replace(
        answers[-1],
        id="lost",
        values={},
        outcome=Outcome.MODEL_ERROR.value,
        answer=None,
        details=EMPTY,
    )
    try:
        list(summarizer([*answers, lost], context))
    except Exception as error:  # noqa: BLE001 - the user's own code: what it raises is said
        advice = "leave out records whose outcome is model_error"
        yield printable(
            f"note: summarizer {name} fails where a sample has no answer: {error}; {advice}"
        )
