"""Print prompts and answers on the terminal.

Texts of models and data are printed without interpreting control characters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..core import Prompt
from ..core.record import prompt_to_plain
from ..report import printable
from ..store.export import candidate_text, content_text

MOST_LINES = 40
LONGEST_LINE = 2000
"""Maximum number of characters shown of a line. Some options show the whole text."""
_START, _END = "\x02", "\x03"
"""Control characters that mark the start and end of a span while a text is split into
lines.

They are replaced in model answers, so they cannot occur in the text.
"""
_NO_MARKS = dict.fromkeys(map(ord, (_START, _END)), "�")


def text_lines(
    text: str,
    indent: str = "    ",
    most: int | None = MOST_LINES,
) -> Iterator[str]:
    """Yield the lines of a text without control characters.

    At most `most` lines are yielded, and long ones are cut. With None, all lines are
    yielded in full.
    """
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    for line in lines[:most]:
        if most is not None:
            cut = len(line) - LONGEST_LINE
        else:
            cut = 0
        yield indent + (
            printable(line)
            if cut <= 0
            else f"{printable(line[:LONGEST_LINE])} … {cut} more characters"
        )
    if most is not None and len(lines) > most:
        yield f"{indent}… {len(lines) - most} more lines"


def marked_lines(
    text: str,
    span: tuple[int, int],
    marks: tuple[str, str],
    most: int | None,
) -> Iterator[str]:
    """Yield the lines of a text with one span marked. If the text is long, yield only the lines around the span."""
    lines = _lines_with_mark(text, span)
    first = 0
    end = len(lines)
    if most is not None:
        first, end = _lines_around_mark(lines, most)
        lines = [_around(line) for line in lines]
    if first:
        yield f"    … {first} lines before"
    for line in lines[first:end]:
        yield "    " + _with_marks(line, marks)
    more = len(lines) - end
    if more:
        yield f"    … {more} more lines"


def _lines_with_mark(
    text: str,
    span: tuple[int, int],
) -> list[str]:
    """Return the lines of a text in which `_START` and `_END` enclose the span."""
    start, end = span
    plain = text.translate(_NO_MARKS)
    marked = "".join((plain[:start], _START, plain[start:end], _END, plain[end:]))
    return marked.replace("\r\n", "\n").expandtabs(4).split("\n")


def _lines_around_mark(
    lines: Sequence[str],
    most: int,
) -> tuple[int, int]:
    """Return the range of lines to show: at most `most`, with the marked line in the middle."""
    if len(lines) <= most:
        return 0, len(lines)
    is_marked = [_START in line for line in lines]
    middle = is_marked.index(True)
    last_start = len(lines) - most
    first = min(middle - most // 2, last_start)
    first = max(0, first)
    return first, first + most


def _around(line: str) -> str:
    """Shorten a long line to the characters around the marked span."""
    if len(line) <= LONGEST_LINE:
        return line
    begin = max(0, min(line.find(_START) - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    cut = line[begin : begin + LONGEST_LINE]
    more = len(line) - begin - len(cut)
    if _START in cut and _END not in cut:
        unclosed = _END
    else:
        unclosed = ""
    return (
        ("… " if begin else "")
        + cut
        + unclosed
        + (f" … {more} more characters" if more else "")
    )


def _with_marks(
    line: str,
    marks: tuple[str, str],
) -> str:
    signs = {_START: marks[0], _END: marks[1]}
    pieces = re.split(f"([{_START}{_END}])", line)
    return "".join(
        signs[piece] if piece in signs else printable(piece) for piece in pieces
    )


def message_lines(
    messages: Sequence[Mapping[str, Any]],
    most: int | None = MOST_LINES,
) -> Iterator[str]:
    """Yield the lines of each message after its role.

    A message without content shows where the model's answer begins.
    """
    for turn in messages:
        role = printable(str(turn.get("role", ""))) or "text"
        if turn.get("content") is None:
            yield f"  {role}: (the model writes here)"
            continue
        yield f"  {role}:"
        yield from text_lines(content_text(turn["content"]), most=most)


def prompt_lines(
    prompt: Prompt,
    most: int | None = MOST_LINES,
) -> Iterator[str]:
    """Yield the lines of a prompt as the model gets it: its messages, and the continuations to score."""
    yield from message_lines(prompt_to_plain(prompt), most)
    if prompt.rolling:
        yield "  (the text itself is weighed)"
    yield from continuation_lines(prompt.continuations)


def continuation_lines(continuations: Sequence[str] | None) -> Iterator[str]:
    """Yield a line for each continuation that is scored after the prompt."""
    for number, text in enumerate(continuations or (), start=1):
        yield f"  continuation {number}: {printable(repr(text))}"


def answer_lines(
    output: Mapping[str, Any],
    most: int | None = MOST_LINES,
    spans: Sequence[tuple[int, int] | None] = (),
    marks: tuple[str, str] = ("", ""),
) -> Iterator[str]:
    """Yield the lines of a model's answer: candidates with marked spans, likelihoods, or the error."""
    if output.get("error"):
        error = output["error"]
        yield f"  no answer: {printable(str(error.get('kind')))}: {printable(str(error.get('message')))}"
    candidates = output.get("candidates", ())
    for number, candidate in enumerate(candidates, start=1):
        reason = candidate.get("stop_reason")
        if reason not in (None, "stop"):
            note = f" ({printable(str(reason))})"
        else:
            note = ""
        yield f"  answer{f' {number}' if len(candidates) > 1 else ''}{note}:"
        thought = "".join(
            p.get("text", "")
            for p in candidate.get("parts", ())
            if p.get("type") == "reasoning"
        )
        if thought:
            yield from text_lines(f"(thought) {thought}", most=most)
        if number <= len(spans):
            span = spans[number - 1]
        else:
            span = None
        text = candidate_text(candidate)
        yield from (
            text_lines(text, most=most)
            if span is None
            else marked_lines(text, span, marks, most)
        )
    for number, entry in enumerate(output.get("likelihoods", ()), start=1):
        yield f"  continuation {number}: log-probability {entry[0]:.4f}{', greedy' if entry[1] else ''}"
