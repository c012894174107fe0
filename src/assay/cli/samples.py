"""Prompts and answers on the terminal: what models and data say is shown, never obeyed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core import Prompt
from ..core.record import prompt_to_plain
from ..report import printable
from ..store.export import candidate_text, content_text

MOST_LINES = 40
LONGEST_LINE = 2000
"""Characters of a line that are shown where not everything is."""
_START, _END = "\x02", "\x03"
"""Stand for marks while a text is cut into lines; what a model wrote has none of them any more."""
_NO_MARKS = dict.fromkeys(map(ord, (_START, _END)), "�")


def text_lines(
    text: str, indent: str = "    ", most: int | None = MOST_LINES
) -> Iterator[str]:
    """The lines of a text, control characters replaced; at most `most` of them, long ones cut, or all of it."""
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    for line in lines[:most]:
        cut = len(line) - LONGEST_LINE if most is not None else 0
        yield indent + (
            printable(line)
            if cut <= 0
            else f"{printable(line[:LONGEST_LINE])} … {cut} more characters"
        )
    if most is not None and len(lines) > most:
        yield f"{indent}… {len(lines) - most} more lines"


def marked_lines(
    text: str, span: tuple[int, int], marks: tuple[str, str], most: int | None
) -> Iterator[str]:
    """The lines of a text with a place marked in it; of a long text those around the place."""
    start, end = span
    plain = text.translate(_NO_MARKS)
    whole = "".join((plain[:start], _START, plain[start:end], _END, plain[end:]))
    lines = whole.replace("\r\n", "\n").expandtabs(4).split("\n")
    first = 0
    if most is not None and len(lines) > most:
        place = next(number for number, line in enumerate(lines) if _START in line)
        first = max(0, min(place - most // 2, len(lines) - most))
    if first:
        yield f"    … {first} lines before"
    part = lines[first:] if most is None else lines[first : first + most]
    for line in part:
        yield "    " + _with_marks(line if most is None else _around(line), marks)
    if first + len(part) < len(lines):
        yield f"    … {len(lines) - first - len(part)} more lines"


def _around(line: str) -> str:
    """A long line cut to what stands around the mark in it."""
    if len(line) <= LONGEST_LINE:
        return line
    begin = max(0, min(line.find(_START) - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    cut = line[begin : begin + LONGEST_LINE]
    more = len(line) - begin - len(cut)
    unclosed = _END if _START in cut and _END not in cut else ""
    return (
        ("… " if begin else "")
        + cut
        + unclosed
        + (f" … {more} more characters" if more else "")
    )


def _with_marks(line: str, marks: tuple[str, str]) -> str:
    signs = {_START: marks[0], _END: marks[1]}
    pieces = re.split(f"([{_START}{_END}])", line)
    return "".join(
        signs[piece] if piece in signs else printable(piece) for piece in pieces
    )


def message_lines(
    messages: Sequence[Mapping[str, Any]], most: int | None = MOST_LINES
) -> Iterator[str]:
    """Each message under its role; a message without content is where the model writes."""
    for turn in messages:
        role = printable(str(turn.get("role", ""))) or "text"
        if turn.get("content") is None:
            yield f"  {role}: (the model writes here)"
            continue
        yield f"  {role}:"
        yield from text_lines(content_text(turn["content"]), most=most)


def prompt_lines(prompt: Prompt, most: int | None = MOST_LINES) -> Iterator[str]:
    """A prompt as it will be sent: its messages, and the continuations that are weighed."""
    yield from message_lines(prompt_to_plain(prompt), most)
    if prompt.rolling:
        yield "  (the text itself is weighed)"
    yield from continuation_lines(prompt.continuations)


def continuation_lines(continuations: Sequence[str] | None) -> Iterator[str]:
    """What is weighed after the prompt."""
    for number, text in enumerate(continuations or (), start=1):
        yield f"  continuation {number}: {printable(repr(text))}"


def answer_lines(
    output: Mapping[str, Any],
    most: int | None = MOST_LINES,
    spans: Sequence[tuple[int, int] | None] = (),
    marks: tuple[str, str] = ("", ""),
) -> Iterator[str]:
    """What a model answered: its candidates, its likelihoods, or why there is nothing; places in it marked."""
    if output.get("error"):
        error = output["error"]
        yield f"  no answer: {printable(str(error.get('kind')))}: {printable(str(error.get('message')))}"
    candidates = output.get("candidates", ())
    for number, candidate in enumerate(candidates, start=1):
        reason = candidate.get("stop_reason")
        note = f" ({printable(str(reason))})" if reason not in (None, "stop") else ""
        yield f"  answer{f' {number}' if len(candidates) > 1 else ''}{note}:"
        thought = "".join(
            p.get("text", "")
            for p in candidate.get("parts", ())
            if p.get("type") == "reasoning"
        )
        if thought:
            yield from text_lines(f"(thought) {thought}", most=most)
        span = spans[number - 1] if number <= len(spans) else None
        text = candidate_text(candidate)
        yield from (
            text_lines(text, most=most)
            if span is None
            else marked_lines(text, span, marks, most)
        )
    for number, entry in enumerate(output.get("likelihoods", ()), start=1):
        yield f"  continuation {number}: log-probability {entry[0]:.4f}{', greedy' if entry[1] else ''}"
