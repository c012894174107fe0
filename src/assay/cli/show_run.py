"""A run on the terminal: its table, then sample by sample what was asked, answered and judged."""

import io
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..core import OutputRecord, Result, ScoreRecord, StoreError, UsageError, nearest, shorten
from ..report import printable, show_table
from ..store import Answered, CellIndex, RunReader
from ..store.export import places_of
from .samples import answer_lines, continuation_lines, message_lines, text_lines

LINES_IN_A_LIST = 12
READ_AT_MOST = 200
"""Characters of what a scorer read in an answer: the answer itself stands above."""
WHY = ("rule", "reason", "reply", "replies", "error")
"""What a verdict's details say for people."""
REPLIES = ("reply", "replies")
"""Shown with the question, where the journal has the call."""
Place = tuple[str, int]


def run_lines(reader: RunReader, ids: Sequence[str], failures: bool, limit: int) -> Iterator[str]:
    """The table, then the samples that were asked for."""
    if not ids:
        yield from summary_lines(reader)
    shown = 0
    found: set[tuple[str, str, Place]] = set()
    for (task, model), cell in reader.index.cells.items():
        places = places_of(cell)
        if not cell.scores and "#" in task:
            continue  # what a judge was asked
        for place in places:
            if ids and place[0] not in ids:
                continue
            is_past = not ids and shown >= limit
            verdicts = [] if is_past and not failures else _verdicts(reader, cell, place)
            if failures and not _is_failure(verdicts, cell.answers.get(place, ()), is_driven=not _is_scored(cell)):
                continue
            found.add((task, model, place))
            if is_past:
                continue
            shown += 1
            yield ""
            yield from _sample_lines(reader, task, model, place, verdicts, None if ids else LINES_IN_A_LIST)
    if ids:
        _refuse_unknown(reader, [id for id in ids if id not in {place[0] for _, _, place in found}])
    elif failures and not found:
        yield "no failures: every sample was scored"
    elif len(found) > shown:
        yield f"\n… {len(found) - shown} more samples: --limit {len(found)}, or --sample ID for one of them"


def summary_lines(reader: RunReader) -> Iterator[str]:
    """The table as it was last computed."""
    from rich.console import Console

    summary = reader.summary
    results = [_result(row) for row in summary.get("results", ())]
    buffer = io.StringIO()
    if results:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 150
        show_table(results, Console(file=buffer, width=width, no_color=True, highlight=False))
    yield from (line.rstrip() for line in buffer.getvalue().rstrip().split("\n") if results)
    for note in summary.get("notes", ()):
        yield printable(f"note: {note}")
    if not summary and reader.layout.summary.exists():
        yield "no numbers: summary.json is not what this run ended with"
    manifest = reader.manifest if reader.layout.manifest.exists() else {}
    yield printable(f"{manifest.get('status', 'unknown')}: {reader.layout.folder}")


def _result(row: Mapping[str, Any]) -> Result:
    known = {f.name for f in fields(Result)} - {"groups"}
    given = {name: value for name, value in row.items() if name in known}
    for name in ("ci", "bounds", "flags"):
        if given.get(name) is not None:
            given[name] = tuple(given[name])
    return Result(**given)


def _verdicts(reader: RunReader, cell: CellIndex, place: Place) -> list[ScoreRecord]:
    return [reader.index.score(scored[place][0]) for scored in cell.scores.values() if place in scored]


def _is_scored(cell: CellIndex) -> bool:
    """Whether a scorer speaks of each sample; a driver judges by itself and leaves no verdict on what was answered."""
    return any(place in cell.answers for scored in cell.scores.values() for place in scored)


def _is_failure(verdicts: Sequence[ScoreRecord], answers: Sequence[Answered | None], *, is_driven: bool) -> bool:
    if not verdicts and is_driven:
        return any(answer is None or answer.failed for answer in answers)
    return not verdicts or any(verdict.outcome != "scored" for verdict in verdicts)


def _sample_lines(
    reader: RunReader, task: str, model: str, place: Place, verdicts: Sequence[ScoreRecord], most: int | None
) -> Iterator[str]:
    id, epoch = place
    head = f"{task} · {model} · sample {id}" + (f" · epoch {epoch}" if epoch else "")
    yield printable(head)
    rounds = reader.rounds(task, model, place)
    for number, record in enumerate(rounds):
        if len(rounds) > 1:
            yield f"  round {number + 1}"
        yield from _round_lines(record, rounds[number - 1] if number else None, most)
        yield from _media_lines(reader, record)
    target = next((record.target for record in rounds if record.target is not None), None)
    if target is not None:
        yield f"  target: {printable(str(target))}"
    for verdict in verdicts:
        yield from verdict_lines(verdict, most)
        yield from _helper_lines(reader, verdict, most)


def _round_lines(record: OutputRecord, before: OutputRecord | None, most: int | None) -> Iterator[str]:
    """What was asked and answered; of a later round only what came after the earlier prompt and its answer."""
    said = [turn for turn in before.prompt if turn.get("content") is not None] if before else []
    goes_on = before is not None and list(record.prompt[: len(said)]) == said and len(record.prompt) > len(said)
    yield from message_lines(record.prompt[len(said) + 1 :] if goes_on else record.prompt, most)
    yield from continuation_lines(record.continuations)
    yield from answer_lines(record.output, most)


def _media_lines(reader: RunReader, record: OutputRecord) -> Iterator[str]:
    """The files of what the model made; media of a prompt lie in the dataset."""
    parts = [part for candidate in record.output.get("candidates", ()) for part in candidate.get("parts", ())]
    for part in parts:
        if "sha256" not in part:
            continue
        try:
            place = str(reader.blobs[part["sha256"]].source)
        except StoreError:
            place = "no longer in the run folder"
        yield printable(f"    {part.get('type')} {str(part['sha256'])[:12]}: {place}")


def verdict_lines(verdict: ScoreRecord, most: int | None = LINES_IN_A_LIST) -> Iterator[str]:
    """What one scorer said, and why."""
    values = ", ".join(f"{name} {value}" for name, value in verdict.values.items()) or "no value"
    read = "" if verdict.answer is None else f", read {shorten(verdict.answer, READ_AT_MOST)}"
    yield printable(f"  {verdict.scorer}: {verdict.outcome}, {values}{read}")
    for name in WHY:
        said = None if name in REPLIES and verdict.details.get("asked") else verdict.details.get(name)
        for text in said if isinstance(said, (list, tuple)) else [said]:
            if text is not None:
                yield from text_lines(f"{name}: {text}", most=most)


def _helper_lines(reader: RunReader, verdict: ScoreRecord, most: int | None) -> Iterator[str]:
    """What judges and other helpers were asked for a verdict, and replied."""
    for role, key in verdict.details.get("asked", ()):
        answer = reader.index.by_key(f"{verdict.task}#{role}").get(key)
        if answer is None:
            continue  # it failed, or its line is damaged; the verdict says why there is no value
        record = reader.index.output(answer)
        yield printable(f"  for {verdict.scorer}, the {role} ({record.model}) was asked")
        yield from (f"  {line}" for line in message_lines(record.prompt, most))
        yield from (f"  {line}" for line in answer_lines(record.output, most))


def _refuse_unknown(reader: RunReader, missing: Sequence[str]) -> None:
    if missing:
        known = [place[0] for cell in reader.index.cells.values() for place in places_of(cell)]
        close = nearest(missing[0], known)
        fix = f"did you mean {close!r}?" if close else f"ids look like {', '.join(map(repr, known[:3]))}"
        raise UsageError(f"the run has no sample {missing[0]!r}", where=str(reader.layout.folder), fix=fix)
