"""Try summarizers on the verdicts of a trial, to find their errors before a run costs anything."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import EMPTY, Outcome, Sample, Score, ScoreRecord, SummaryContext, Task
from ..core.score import named_values
from ..report import format_value, printable
from ..runner.scoring.scoring import Scoring
from ..runner.tasks.components import build_summarizer
from ..summarizers.adapt import Adapted
from ..summarizers.formula import UnknownCount
from ..summarizers.units import OUTSIDE
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


@dataclass(frozen=True, slots=True)
class Tried:
    """The verdicts of one scorer in a trial."""

    name: str
    scorer: Any
    records: Sequence[ScoreRecord]
    answers: str
    """Which answers they are about: `for the targets`."""


def try_summarizers(task: Task, tried: Sequence[Tried], file: Path) -> Iterator[str]:
    """Yield the results of summarizers on scripted answers. Raise if a user's own summarizer fails.

    A shipped summarizer may need more answers than a trial has, so its failure is only a note, unless it uses a name
    that no scorer gives.
    """
    beside = {each.name: _repeated(each.records, task) for each in tried}
    for each in tried:
        if not each.records:
            continue
        for entry in task.summarizers or getattr(each.scorer, "summarizers", ("mean",)):
            if entry != "mean":
                yield from _try(entry, task, each, beside, file)


def _repeated(records: Sequence[ScoreRecord], task: Task) -> list[ScoreRecord]:
    """Return each record once for every answer that a run would ask of its sample."""
    repeats = max(1, task.epochs * (task.options.n or 1))
    answers = []
    for record in records:
        for epoch in range(repeats):
            answers.append(replace(record, epoch=epoch))
    return answers


def _try(
    entry: object,
    task: Task,
    tried: Tried,
    beside: Mapping[str, Sequence[ScoreRecord]],
    file: Path,
) -> Iterator[str]:
    scoring = Scoring.of(tried.name, tried.scorer, task.name, MODEL)
    answers = beside[tried.name]
    try:
        name, summarizer = build_summarizer(entry, f"task {task.name!r}")
    except Exception as error:
        raise explained(error, file) from error
    context = SummaryContext(
        task.name,
        MODEL,
        task.protocol,
        scoring.name,
        len(tried.records),
        0,
        scoring.higher_is_better,
        scoring.bounds,
        {"reducer": task.reducer},
        scoring.scale if scoring.scale.names else None,
        beside,
    )
    is_own = isinstance(summarizer, Adapted)
    try:
        results = list(summarizer(answers, context))
    except Exception as error:
        if is_own or (isinstance(error, UnknownCount) and _has_scored(beside)):
            raise explained(error, file) from error
        reason = str(error)
        if isinstance(error, UnknownCount):
            reason += "; no scripted answer could be scored"
        yield printable(f"note: summarizer {name} on {scoring.name}: {reason}")
        return
    for result in results:
        value = format_value(result.value)
        line = f"summarizer {name} on {scoring.name}: {result.metric} {value} {tried.answers}"
        outside = [flag for flag in result.flags if flag.startswith(OUTSIDE)]
        line += "".join(f" ⚑ {flag}" for flag in outside)
        yield printable(line)
    if is_own:
        yield from _try_failure(name, summarizer, answers, context)


def _has_scored(beside: Mapping[str, Sequence[ScoreRecord]]) -> bool:
    """Return True if every scorer could read an answer, so that its names are known."""
    return all(
        any(record.outcome == Outcome.SCORED.value for record in records)
        for records in beside.values()
    )


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
