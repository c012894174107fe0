"""One sample on the terminal: what was asked, answered, read in the answer and judged, and what a judge was asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import StoreError, shorten
from ..report import printable
from ..scorers.spans import own_place
from ..store.blobs import Blobs
from ..store.export import candidate_text
from ..view.records import Record
from .samples import answer_lines, continuation_lines, message_lines, text_lines

LINES_IN_A_LIST = 12
READ_AT_MOST = 200
"""Characters of what a scorer read in an answer: the answer itself stands above."""
WHY = ("rule", "reason", "reply", "replies", "error")
"""What a verdict's details say for people."""
REPLIES = ("reply", "replies")
"""Shown with the question, where the journal has the call."""


@dataclass(frozen=True, slots=True)
class Marking:
    """How what was read is marked within an answer."""

    start: str = "⟦"
    end: str = "⟧"


COLOURED = Marking("\x1b[7m", "\x1b[27m")
"""Reversed, on a terminal."""


def sample_lines(
    record: Record, blobs: Blobs, most: int | None, marking: Marking
) -> Iterator[str]:
    """A sample with its rounds and verdicts; at most `most` lines of each text."""
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
            line, record.rounds[number - 1] if number else None, most, spans, marking
        )
        yield from _media_lines(blobs, line)
    target = next(
        (line["target"] for line in record.rounds if line.get("target") is not None),
        None,
    )
    if target is not None:
        yield f"  target: {printable(str(target))}"
    for verdict in record.verdicts:
        yield from verdict_lines(verdict, most)
        yield from _helper_lines(verdict, record, most)


def _spans(
    line: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]]
) -> list[tuple[int, int] | None]:
    """Where each candidate's answer was read: as the scorer said, else the last place where it stands as a word."""
    candidates = line.get("output", {}).get("candidates", ())
    found: list[tuple[int, int] | None] = []
    for place, candidate in enumerate(candidates):
        text = candidate_text(candidate)
        found.append(
            next(
                (
                    span
                    for v in verdicts
                    if (span := _span(v, text, place, len(candidates)))
                ),
                None,
            )
        )
    return found


def _span(
    verdict: Mapping[str, Any], text: str, place: int, count: int
) -> tuple[int, int] | None:
    details = verdict.get("details") or {}
    answer = verdict.get("answer")
    if count > 1:
        each, answers = details.get("candidates") or (), details.get("answers") or ()
        details = each[place] if place < len(each) else {}
        answer = answers[place] if place < len(answers) else None
    span = details.get("span") if isinstance(details, Mapping) else None
    if (
        isinstance(span, list)
        and len(span) == 2
        and all(type(end) is int for end in span)
    ):
        start, end = span
        return (
            (start, end)
            if 0 <= start < end <= len(text) and end - start < len(text)
            else None
        )
    if not isinstance(answer, str) or not answer or len(answer) >= len(text):
        return None
    start = own_place(text, answer)
    return None if start < 0 else (start, start + len(answer))


def _round_lines(
    line: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    most: int | None,
    spans: Sequence[tuple[int, int] | None],
    marking: Marking,
) -> Iterator[str]:
    """What was asked and answered; of a later round only what came after the earlier prompt and its answer."""
    prompt = line.get("prompt", ())
    earlier = (
        [turn for turn in before.get("prompt", ()) if turn.get("content") is not None]
        if before
        else []
    )
    goes_on = (
        before is not None
        and list(prompt[: len(earlier)]) == earlier
        and len(prompt) > len(earlier)
    )
    yield from message_lines(prompt[len(earlier) + 1 :] if goes_on else prompt, most)
    yield from continuation_lines(line.get("continuations"))
    yield from answer_lines(
        line.get("output", {}), most, spans, (marking.start, marking.end)
    )


def _media_lines(blobs: Blobs, line: Mapping[str, Any]) -> Iterator[str]:
    """The files of what the model made; media of a prompt lie in the dataset."""
    candidates = line.get("output", {}).get("candidates", ())
    for part in [
        part for candidate in candidates for part in candidate.get("parts", ())
    ]:
        if "sha256" not in part:
            continue
        try:
            place = str(blobs[part["sha256"]].source)
        except StoreError:
            place = "no longer in the run folder"
        yield printable(f"    {part.get('type')} {str(part['sha256'])[:12]}: {place}")


def verdict_lines(
    verdict: Mapping[str, Any], most: int | None = LINES_IN_A_LIST
) -> Iterator[str]:
    """What one scorer said, and why."""
    details = verdict.get("details") or {}
    values = (
        ", ".join(f"{name} {value}" for name, value in verdict["values"].items())
        or "no value"
    )
    answer = verdict.get("answer")
    read = "" if answer is None else f", read {shorten(answer, READ_AT_MOST)}"
    yield printable(f"  {verdict['scorer']}: {verdict['outcome']}, {values}{read}")
    for name in WHY:
        reason = None if name in REPLIES and details.get("asked") else details.get(name)
        for text in reason if isinstance(reason, (list, tuple)) else [reason]:
            if text is not None:
                yield from text_lines(f"{name}: {text}", most=most)


def _helper_lines(
    verdict: Mapping[str, Any], record: Record, most: int | None
) -> Iterator[str]:
    """What judges and other helpers were asked for a verdict, and replied."""
    questions = (verdict.get("details") or {}).get("asked") or ()
    keys = {
        str(call[1])
        for call in questions
        if isinstance(call, (list, tuple)) and len(call) == 2
    }
    for call in record.calls:
        if call.get("key") not in keys:
            continue  # of another verdict; one that failed, or whose line is damaged, is not there
        role = str(call.get("task", "")).rpartition("#")[2]
        yield printable(
            f"  for {verdict['scorer']}, the {role} ({call.get('model')}) was asked"
        )
        yield from (f"  {line}" for line in message_lines(call.get("prompt", ()), most))
        yield from (f"  {line}" for line in answer_lines(call.get("output", {}), most))
