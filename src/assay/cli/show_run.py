"""Print a run on the terminal: its table, its breakdowns, and individual samples."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import StoreError, UsageError, nearest, shorten
from ..core.errors import note_line, plural
from ..report import group_lines, plain_table, printable
from ..report.grid import FILE_WIDTH, fixed_width
from ..scorers.spans import word_offset
from ..store import RunReader
from ..store.blobs import Blobs
from ..store.export import candidate_text
from ..view.records import Record
from ..view.run_view import RunView, json_bytes
from ..view.selection import Wanted, select
from .samples import answer_lines, continuation_lines, message_lines, text_lines

LINES_IN_A_LIST = 12
READ_AT_MOST = 200
"""Maximum number of characters shown of the text that a scorer extracted as the answer."""
WHY = ("rule", "reason", "reply", "replies", "error")
"""Keys in the details of a score that explain the score."""
REPLIES = ("reply", "replies")
"""Keys in the details of a score that contain replies of helper models.

If the journal has the helper's call, show the call's question and reply instead.
"""


@dataclass(frozen=True, slots=True)
class Marking:
    """The characters printed before and after the part of an answer that a scorer read: `the answer is ⟦B⟧`."""

    start: str = "⟦"
    end: str = "⟧"


COLOURED = Marking("\x1b[7m", "\x1b[27m")
"""Marks the part on a terminal by swapping text and background colour."""


def sample_lines(
    record: Record,
    blobs: Blobs,
    most: int | None,
    marking: Marking,
) -> Iterator[str]:
    """Yield the lines of a sample with its rounds and verdicts. At most `most` lines of each text are shown."""
    head = f"{record.task} · {record.model} · sample {record.id}" + (
        f" · epoch {record.epoch}" if record.epoch else ""
    )
    yield printable(head)
    if record.damage:
        yield f"  {record.damage}"
    for number, line in enumerate(record.rounds):
        if len(record.rounds) > 1:
            yield f"  round {number + 1}"
        is_last = number == len(record.rounds) - 1
        spans = _spans(line, record.verdicts) if is_last else ()
        yield from _round_lines(
            line,
            record.rounds[number - 1] if number else None,
            most,
            spans,
            marking,
        )
        yield from _media_lines(blobs, line)
        yield from _agent_lines(line.get("output", {}).get("details") or {})
    results = record.last_results()
    if results:
        yield from message_lines([{"role": "tool", "content": results}], most)
    target = next(
        (line["target"] for line in record.rounds if line.get("target") is not None),
        None,
    )
    if target is not None:
        first, *others = text_lines(
            str(target),
            indent="",
            most=most,
        )
        yield f"  target: {first}"
        yield from (f"    {other}" for other in others)
    for verdict in record.verdicts:
        yield from verdict_lines(verdict, most)
        yield from _helper_lines(verdict, record, most)


def _agent_lines(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about how an agent program ended and the files it wrote; none for answers of a model."""
    if "exit_code" not in details:
        return
    facts = [
        f"{details.get('turns', 0)} exchanges",
        f"exit code {details['exit_code']}",
    ]
    if details.get("tokens"):
        facts.insert(1, f"{details['tokens']} tokens")
    if details.get("limit"):
        facts.append(str(details["limit"]))
    yield printable(f"  agent: {', '.join(facts)}")
    if details.get("files"):
        names = ", ".join(details["files"])
        yield printable(f"  files: {names[:READ_AT_MOST]}")
    if details.get("stderr"):
        errors = str(details["stderr"]).strip()
        yield printable(f"  errors: {errors[-READ_AT_MOST:]}")


def _spans(
    line: Mapping[str, Any],
    verdicts: Sequence[Mapping[str, Any]],
) -> list[tuple[int, int] | None]:
    """Return, for each candidate, the span of the text that the scorer extracted.

    If the scorer recorded no span, use the last occurrence of the extracted answer.
    """
    candidates = line.get("output", {}).get("candidates", ())
    spans: list[tuple[int, int] | None] = []
    for index, candidate in enumerate(candidates):
        text = candidate_text(candidate)
        spans.append(
            next(
                (
                    span
                    for v in verdicts
                    if (span := _span(v, text, index, len(candidates)))
                ),
                None,
            )
        )
    return spans


def _span(
    verdict: Mapping[str, Any],
    text: str,
    place: int,
    count: int,
) -> tuple[int, int] | None:
    details = verdict.get("details") or {}
    answer = verdict.get("answer")
    if count > 1:
        each = details.get("candidates") or ()
        answers = details.get("answers") or ()
        details = each[place] if place < len(each) else {}
        if place < len(answers):
            answer = answers[place]
        else:
            answer = None
    if isinstance(details, Mapping):
        span = details.get("span")
    else:
        span = None
    if (
        isinstance(span, list)
        and len(span) == 2
        and all(type(end) is int for end in span)
    ):
        start, end = span
        if 0 <= start < end <= len(text) and end - start < len(text):
            return (start, end)
        return None
    if not isinstance(answer, str) or not answer or len(answer) >= len(text):
        return None
    start = word_offset(text, answer)
    if start < 0:
        return None
    return (start, start + len(answer))


def _round_lines(
    line: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    most: int | None,
    spans: Sequence[tuple[int, int] | None],
    marking: Marking,
) -> Iterator[str]:
    """Yield the lines of a round's prompt and answer.

    After the first round, only the new messages of the prompt are shown.
    """
    prompt = line.get("prompt", ())
    if before:
        earlier = [
            turn for turn in before.get("prompt", ()) if turn.get("content") is not None
        ]
    else:
        earlier = []
    goes_on = (
        before is not None
        and list(prompt[: len(earlier)]) == earlier
        and len(prompt) > len(earlier)
    )
    if goes_on:
        prompt = prompt[len(earlier) + 1 :]
    elif line.get("follows") and before is not None:
        prompt = prompt[
            1:
        ]  # skip the answer of the previous round, which was shown there
    yield from message_lines(prompt, most)
    yield from continuation_lines(line.get("continuations"))
    yield from answer_lines(
        line.get("output", {}),
        most,
        spans,
        (marking.start, marking.end),
    )


def _media_lines(
    blobs: Blobs,
    line: Mapping[str, Any],
) -> Iterator[str]:
    """Yield the paths of the media files that the model generated. The media of a prompt are in the dataset."""
    candidates = line.get("output", {}).get("candidates", ())
    parts = [part for candidate in candidates for part in candidate.get("parts", ())]
    for part in parts:
        if "sha256" not in part:
            continue
        try:
            path = str(blobs[part["sha256"]].source)
        except StoreError:
            path = "no longer in the run folder"
        yield printable(f"    {part.get('type')} {str(part['sha256'])[:12]}: {path}")


def verdict_lines(
    verdict: Mapping[str, Any],
    most: int | None = LINES_IN_A_LIST,
) -> Iterator[str]:
    """Yield the lines of one scorer's verdict and its reasons."""
    details = verdict.get("details") or {}
    values = (
        ", ".join(f"{name} {value}" for name, value in verdict["values"].items())
        or "no value"
    )
    answer = verdict.get("answer")
    if answer is None:
        read = ""
    else:
        read = f", read {shorten(answer, READ_AT_MOST)}"
    yield printable(f"  {verdict['scorer']}: {verdict['outcome']}, {values}{read}")
    for name in WHY:
        if name in REPLIES and details.get("asked"):
            reason = None
        else:
            reason = details.get(name)
        if isinstance(reason, (list, tuple)):
            texts = reason
        else:
            texts = [reason]
        for text in texts:
            if text is not None:
                yield from text_lines(f"{name}: {text}", most=most)


def _helper_lines(
    verdict: Mapping[str, Any],
    record: Record,
    most: int | None,
) -> Iterator[str]:
    """Yield lines with the requests to judges and other helper models for a verdict, and their replies."""
    questions = (verdict.get("details") or {}).get("asked") or ()
    keys = {
        str(call[1])
        for call in questions
        if isinstance(call, (list, tuple)) and len(call) == 2
    }
    for call in record.calls:
        if call.get("key") not in keys:
            continue  # the call of another verdict; failed and damaged calls are not recorded
        role = str(call.get("task", "")).rpartition("#")[2]
        yield printable(
            f"  for {verdict['scorer']}, the {role} ({call.get('model')}) was asked"
        )
        yield from (f"  {line}" for line in message_lines(call.get("prompt", ()), most))
        yield from (f"  {line}" for line in answer_lines(call.get("output", {}), most))


SHOWN = 5
"""The number of samples to show, unless the user requests more or a pager is used."""
MOST_GROUP_LINES = 60


class ShownRun:
    """Prints a run folder through the viewer's index, so that a run of 100,000 samples opens quickly."""

    def __init__(self, folder: Path) -> None:
        self.reader = RunReader(folder)
        self.view = RunView(folder, "run", folder.name)

    def lines(
        self,
        wanted: Wanted,
        limit: int | None,
        marking: Marking,
    ) -> Iterator[str]:
        """Yield the lines of the table and of the samples. If samples were selected by id, leave out the table."""
        rows = self.rows(wanted)
        if not wanted.ids:
            yield from self.summary_lines()
        if wanted.is_choice and not wanted.ids:
            yield from ("", _found(wanted, len(rows), len(self.view.rows())))
        if wanted.ids or limit is None:
            page = rows
        else:
            page = rows[:limit]
        most = None if wanted.ids else LINES_IN_A_LIST
        for row in page:
            yield ""
            yield from sample_lines(
                self.view.record(row),
                self.reader.blobs,
                most,
                marking,
            )
        if len(page) < len(rows):
            more = len(rows) - len(page)
            noun = "samples" if more > 1 else "sample"
            yield f"\n… {more} more {noun}: --limit {len(rows)}, or --sample ID for one of them"

    def rows(self, wanted: Wanted) -> list[int]:
        """Return the rows of the selected samples. Raise for an unknown id."""
        rows = select(self.view, wanted)
        if wanted.ids:
            index = self.view.index
            ids = {index.ids[row] for row in rows}
            self._refuse_unknown([id for id in wanted.ids if id not in ids])
        return rows

    def ids(
        self,
        wanted: Wanted,
        limit: int | None,
    ) -> Iterator[str]:
        """Yield the ids of the selected samples, one per line."""
        index = self.view.index
        return (printable(index.ids[row]) for row in self.rows(wanted)[:limit])

    def document(
        self,
        wanted: Wanted,
        limit: int | None,
        *,
        only_ids: bool,
    ) -> Iterator[str]:
        """Yield the JSON document of a run in pieces, so that only one sample is in memory at a time."""
        rows = self.rows(wanted)
        results = self.reader.summary.get("results", [])
        head = {
            "run": str(self.view.layout.folder),
            "found": len(rows),
            "results": results,
        }
        yield json_bytes(head).decode()[:-1] + ', "samples": ['
        index = self.view.index
        for number, row in enumerate(rows[:limit]):
            sample: str | dict[str, Any] = index.ids[row]
            if not only_ids:
                sample = self.view.record(row).to_plain(whole=True)
            yield (", " if number else "") + json_bytes(sample).decode()
        yield "]}\n"

    def summary_lines(self) -> Iterator[str]:
        """Yield the lines of the stored results table and of its breakdowns."""
        summary = self.reader.summary
        results = self.reader.results
        width = fixed_width(sys.stdout) or FILE_WIDTH
        for line in plain_table(results, width).split("\n"):
            if results:
                yield line.rstrip()
        groups = group_lines(results)
        yield from (["", *groups] if groups and len(groups) <= MOST_GROUP_LINES else [])
        if len(groups) > MOST_GROUP_LINES:
            yield f"\n{len(groups)} groups: `assay report` has them, and summary.json"
        for note in summary.get("notes", ()):
            yield printable(note_line(note))
        if not summary and self.reader.layout.summary.exists():
            yield "no numbers: summary.json does not match this run"
        yield printable(
            f"{self.reader.manifest_if_any.get('status', 'unknown')}: {self.reader.source}"
        )

    def _refuse_unknown(self, missing: Sequence[str]) -> None:
        if missing:
            ids = self.view.index.ids
            close = nearest(missing[0], ids)
            if close:
                fix = f"did you mean {close!r}?"
            else:
                fix = f"ids look like {', '.join(map(repr, ids[:3]))}"
            where = str(self.view.layout.folder)
            raise UsageError(
                f"the run has no sample {missing[0]!r}",
                where=where,
                fix=fix,
            )


def _found(
    wanted: Wanted,
    found: int,
    of: int,
) -> str:
    if found:
        return f"{found:,} of {plural(of, 'sample')}:"
    if wanted.failures and not (
        wanted.wrong or wanted.outcomes or wanted.tags or wanted.where or wanted.words
    ):
        return "no failures: every sample was scored"
    return f"none of the {plural(of, 'sample')} fits"
