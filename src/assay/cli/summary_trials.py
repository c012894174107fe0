"""Summarizers of one's own, tried on the verdicts of a trial: what they raise is known before a run is paid for."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import Sample, Score, ScoreRecord, SummaryContext, Task
from ..core.score import named_values
from ..report import format_value, printable
from .explain import explained

MODEL = "scripted"


def trial_record(score: Score, sample: Sample, scorer: str, number: int) -> ScoreRecord:
    """A verdict as a summarizer is handed it."""
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
    )


def try_summarizers(
    task: Task, judged: Mapping[str, Sequence[ScoreRecord]], file: Path
) -> Iterator[str]:
    """What the summarizers of the file itself make of the scripted right answers; those that ship are left out."""
    for entry in task.summarizers:
        for scorer, records in judged.items():
            if records:
                yield from _try(entry, task, scorer, records, file)


def _try(
    entry: Any, task: Task, scorer: str, records: Sequence[ScoreRecord], file: Path
) -> Iterator[str]:
    from ..runner.tasks.components import build_summarizer
    from ..summarizers.adapt import Adapted

    try:
        name, summarizer = build_summarizer(entry, f"task {task.name!r}")
        if not isinstance(summarizer, Adapted):
            return
        options = {"reducer": task.reducer}
        context = SummaryContext(
            task.name, MODEL, task.protocol, scorer, len(records), 0, options=options
        )
        results = list(summarizer(records, context))
    except Exception as error:
        raise explained(error, file) from error
    for result in results:
        line = f"summarizer {name} on {scorer}: {result.metric} {format_value(result.value)} for the targets"
        yield printable(line)
