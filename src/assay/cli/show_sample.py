"""One sample on the terminal: prompt, answer, extracted answer, verdicts, and the judge's prompt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core import StoreError, shorten
from ..report import printable
from ..scorers.spans import word_offset
from ..store.blobs import Blobs
from ..store.export import candidate_text
from ..view.records import Record
from .samples import answer_lines, continuation_lines, message_lines, text_lines

LINES_IN_A_LIST = 12
READ_AT_MOST = 200
"""Most characters to show of the text that a scorer extracted. The answer itself is printed above it."""
WHY = ("rule", "reason", "reply", "replies", "error")
"""Words for reasons in the details of a verdict."""
REPLIES = ("reply", "replies")
"""Replies, shown with their question if the journal has the call."""


@dataclass(frozen=True, slots=True)
class Marking:
    """How to mark the span that a scorer read in an answer."""

    start: str = "⟦"
    end: str = "⟧"


COLOURED = Marking("\x1b[7m", "\x1b[27m")
"""Reversed colours on a terminal."""


def sample_lines(
    record: Record,
    blobs: Blobs,
    most: int | None,
    marking: Marking,
) -> Iterator[str]:
    """Return a sample with its rounds and verdicts; at most `most` lines of each text."""
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
        first, *others = text_lines(str(target), indent="", most=most)
        yield f"  target: {first}"
        yield from (f"    {other}" for other in others)
    for verdict in record.verdicts:
        yield from verdict_lines(verdict, most)
        yield from _helper_lines(verdict, record, most)


def _agent_lines(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield how an agent program ended, and the names of its files; nothing for answers of a model."""
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
    """Return the span that was read in each candidate: the scorer's own, or else its last occurrence as a word."""
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
        if place < len(each):
            details = each[place]
        else:
            details = {}
        if place < len(answers):
            answer = answers[place]
        else:
            answer = None
    span = details.get("span") if isinstance(details, Mapping) else None
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
    """Return prompt and answer of a round; for a later round, only the messages after the earlier prompt and answer."""
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
        prompt = prompt[1:]  # the answer of the round before, which is shown there
    yield from message_lines(prompt, most)
    yield from continuation_lines(line.get("continuations"))
    yield from answer_lines(
        line.get("output", {}),
        most,
        spans,
        (marking.start, marking.end),
    )


def _media_lines(blobs: Blobs, line: Mapping[str, Any]) -> Iterator[str]:
    """Return the files that the model made. Media of a prompt are in the dataset."""
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
    """Return the verdict of one scorer, and its reasons."""
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
    """Return the questions to judges and other helper models for a verdict, and their replies."""
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
