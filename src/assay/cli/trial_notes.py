"""Notes of `assay check` about suspicious rows, and about summarizers that fail on some verdicts."""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import (
    EMPTY,
    UNRESOLVED,
    Outcome,
    Prompt,
    Sample,
    Score,
    ScoreRecord,
    SummaryContext,
    Task,
)
from ..core.protocols import Summarizer, Template
from ..core.score import named_values
from ..datasets.choice_order import shows_order
from ..report import format_value, printable
from ..runner.counts.remarks import SameTargets
from ..runner.plan.measure_notes import scorer_notes
from ..runner.scoring.scoring import Scoring
from ..runner.tasks.components import build_summarizer
from ..summarizers.adapt import Adapted
from ..summarizers.formula import UnknownCount
from ..summarizers.units import OUTSIDE
from ..templates import rounds
from ..templates.dialogue import has_rounds
from .explain import explained

if TYPE_CHECKING:
    from ..datasets.samples import Samples

LEAST_SHOWN = 3
"""The minimum length of values that are searched for in a prompt. Shorter ones may occur there by coincidence."""
COPIES = 100
"""The number of copies of each record for a summarizer that fails on few records."""
ANSWER = "(the model's answer)"
MOST_ROUNDS = 20
"""Maximum number of rounds to try. A template may never end its dialogue."""


def dialogue_prompts(
    task: Task,
    sample: Sample,
    prompt: Prompt,
    template: object,
) -> list[Prompt]:
    """Return the prompt of each round of a dialogue, with a placeholder for each answer of the model."""
    if not has_rounds(sample, template):
        return [prompt]
    if task.history == "reference":
        history = task.history
    else:
        history = "model"
    dialogue = rounds(
        sample,
        prompt,
        template=template,
        history=history,
    )
    prompts = [prompt]
    while len(prompts) < MOST_ROUNDS:
        following = dialogue.next(prompts[-1].messages, ANSWER)
        if following is None:
            break
        prompts.append(following)
    return prompts


def remarks_on(
    task: Task,
    samples: "Samples",
    rows: Sequence[Sample],
    prompts: Sequence[Prompt],
    scorers: Sequence[tuple[str, Any]],
    template: Template,
) -> Iterator[str]:
    """Yield notes about possible mistakes in a task and its rows."""
    targets = SameTargets(lambda row: shows_order(template, row), template)
    for row in rows:
        targets.count(row)
    yield from targets.lines("note")
    for note in scorer_notes(rows, scorers):
        yield f"note: {printable(note)}"
    unused = unused_columns(
        task,
        samples,
        rows[: len(prompts)],
        prompts,
        [scorer for _, scorer in scorers],
        template,
    )
    if unused:
        names = ", ".join(map(printable, unused))
        yield f"note: columns that nothing uses: {names}; a template shows one as {{{{ {printable(unused[0])} }}}}"


def unused_columns(
    task: Task,
    samples: "Samples",
    rows: Sequence[Sample],
    prompts: Sequence[Prompt],
    scorers: Sequence[Any],
    template: Template,
) -> list[str]:
    """Return the columns that seem unused: no role, not mentioned in the task's code, and not part of a prompt."""
    columns = samples.head.columns
    if columns is None or not rows:
        return []
    parts = {
        columns.id,
        columns.input,
        columns.target,
        columns.choices,
        columns.messages,
        columns.turns,
    }
    parts |= {columns.group, columns.cluster, columns.weight, columns.tools}
    if columns.tools:
        parts |= {"tool_choice", "parallel_tool_calls"}
    parts |= {*columns.option_cells, *columns.tags}
    parts |= {name for name, _ in columns.media}
    parts |= {
        "split",
        *(other for others in columns.instead.values() for other in others),
    }
    code = "\n".join(
        [
            str(getattr(template, "source", "")),
            *map(_source, (task.template, task.to_sample, *scorers)),
        ]
    )
    words = set(re.findall(r"\w+", code))
    prompt_text = "\n".join(
        message.text for prompt in prompts for message in prompt.messages
    )
    idle = [name for name in columns.names if name not in parts and name not in words]
    return [
        name
        for name in idle
        if not any(_is_shown(row.fields.get(name), prompt_text) for row in rows)
    ]


def _is_shown(value: object, prompt_text: str) -> bool:
    text = value if isinstance(value, str) else str(value)
    return len(text) >= LEAST_SHOWN and text in prompt_text


def _source(thing: object) -> str:
    """Return the source code of a template, a scorer or a function, together with its options."""
    if thing is None or isinstance(thing, (str, list, tuple, dict)):
        return repr(thing)
    if inspect.isroutine(thing) or inspect.isclass(thing):
        kind = thing
    else:
        kind = type(thing)
    try:
        return f"{thing!r}\n{inspect.getsource(sys.modules[kind.__module__])}"
    except (KeyError, OSError, TypeError):
        return repr(thing)


def why_unscored(score: Score) -> str | None:
    """Return the reason why a scorer gave no verdict on a right answer; None if it gave one."""
    if score.outcome not in UNRESOLVED:
        return None
    return str(
        score.details.get("reason") or score.details.get("error") or score.outcome
    )


MODEL = "scripted"


def trial_record(
    score: Score,
    sample: Sample,
    scorer: str,
    number: int,
) -> ScoreRecord:
    """Convert a verdict to the record that summarizers read."""
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
    """The verdicts that one scorer gave in `assay check`, used to try summarizers."""

    name: str
    scorer: Any
    records: Sequence[ScoreRecord]
    answers: str
    """Which scripted answers were scored, in words such as `for the targets`."""


def try_summarizers(
    task: Task,
    tried: Sequence[Tried],
    file: Path,
) -> Iterator[str]:
    """Yield the results of summarizers on scripted answers. Raise if a user's own
    summarizer fails.

    Some summarizers need more answers than a trial has. If a user's summarizer fails,
    it is tried again with many copies of each answer. If a shipped summarizer fails,
    only a note is printed, unless it uses a name that no scorer gives.
    """
    beside = {each.name: _repeat(each.records, task) for each in tried}
    metrics: list[str] = []
    for each in tried:
        for record in each.records:
            metrics += record.values
        if not each.records:
            continue
        for entry in task.summarizers or getattr(each.scorer, "summarizers", ("mean",)):
            if entry != "mean":
                yield from _try(entry, task, each, beside, file, metrics)
    if _has_scored(beside):
        yield from _headline_note(task, metrics)


def _headline_note(task: Task, metrics: Sequence[str]) -> Iterator[str]:
    """Yield a note if no metric of the trial has the name of the task's headline."""
    name = task.headline
    if name and not any(f".{metric}".endswith(f".{name}") for metric in metrics):
        names = ", ".join(dict.fromkeys(metrics))
        yield printable(
            f"note: headline: no metric is called {name!r}; there are {names}"
        )


def _repeat(
    records: Sequence[ScoreRecord],
    task: Task,
) -> list[ScoreRecord]:
    """Repeat each record as often as a run would repeat the sample."""
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
    metrics: list[str],
) -> Iterator[str]:
    """Yield the results of one summarizer, and add the names of its metrics to `metrics`."""
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
        tried.name,
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
        if isinstance(error, UnknownCount) and _has_scored(beside):
            raise explained(error, file) from error
        reason = str(error)
        results = []
        if isinstance(error, UnknownCount):
            reason += "; no scripted answer could be scored"
        elif is_own:
            reason += "; it needs more samples than a trial or a small --limit has"
            answers = [
                replace(record, id=f"{record.id}.{number}")
                for number in range(COPIES)
                for record in answers
            ]
            try:
                results = list(summarizer(answers, context))
            except Exception as second:
                raise explained(second, file) from second
        yield printable(f"note: summarizer {name} on {tried.name}: {reason}")
        if not results:
            return
    for result in results:
        metrics.append(result.metric)
        line = f"summarizer {name} on {tried.name}: {result.metric} {format_value(result.value)} {tried.answers}"
        outside = [flag for flag in result.flags if flag.startswith(OUTSIDE)]
        line += "".join(f" ⚑ {flag}" for flag in outside)
        yield printable(line)
    if is_own:
        yield from _try_failure(name, summarizer, answers, context)


def _has_scored(beside: Mapping[str, Sequence[ScoreRecord]]) -> bool:
    """Return True if every scorer scored at least one answer, so that all metric names are known."""
    return all(
        any(record.outcome == Outcome.SCORED.value for record in records)
        for records in beside.values()
    )


def _try_failure(
    name: str,
    summarizer: Summarizer,
    answers: Sequence[ScoreRecord],
    context: SummaryContext,
) -> Iterator[str]:
    """Yield a note if a summarizer fails when a sample has no answer, as may happen in a run."""
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
