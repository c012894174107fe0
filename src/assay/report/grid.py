"""Rows and columns of text: aligned for a terminal, as Markdown, or as HTML. Cells are never interpreted."""

import os
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import TextIO

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#!|~$])")
_FIRST_COLUMN = re.compile(r"\s*\S+(?: \S+)?\s{2,}(?=\S)")
"""Matches the first column of a line: a name that is followed by at least two spaces."""
_WORD = re.compile(r"\s*\S+")
Rows = Sequence[Sequence[str]]


class Markup(str):
    """Text that is already HTML or SVG, such as a drawing, and must not be escaped again."""

    __slots__ = ()


def text_grid(
    headings: Sequence[str],
    rows: Rows,
    right: Collection[int] = (),
    indent: str = "",
) -> list[str]:
    """Return lines with aligned columns; those in `right` are right-aligned, like numbers."""
    from rich.cells import cell_len

    table = [[printable(cell) for cell in row] for row in (headings, *rows)]
    widths = [
        max(cell_len(row[column]) for row in table) for column in range(len(headings))
    ]
    lines = []
    for row in table:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(cell))
            cells.append(blanks + cell if column in right else cell + blanks)
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


TEXT_WIDTH = 80
"""The width of text that is written to a file or a pipe."""
FILE_WIDTH = 150
"""The width of a run's table in a file or a pipe."""


def output_width(stream: TextIO) -> int:
    """Return the width for text: that of the terminal, or 80 columns for a file or a pipe."""
    if not stream.isatty():
        return TEXT_WIDTH
    return shutil.get_terminal_size((TEXT_WIDTH, 24)).columns


def fixed_width(stream: TextIO) -> int | None:
    """Return the width at which lines are folded: that of the terminal, or `COLUMNS`; None for a file or a pipe."""
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return None
    return shutil.get_terminal_size((TEXT_WIDTH, 24)).columns


def write_lines(
    lines: Iterable[str],
    stream: TextIO,
) -> None:
    """Write lines of text, folded between words if the stream has a width."""
    width = fixed_width(stream)
    for line in lines:
        if width is None:
            folded = [line]
        else:
            folded = fold_line(line, width)
        for part in folded:
            stream.write(f"{part}\n")


def fold_line(line: str, width: int) -> list[str]:
    """Break a line between words. Continuation lines are aligned with the text after the first column.

    Example: `wer word error rate of a transcript` continues under "word"; a plain sentence continues four columns to
    the right.
    """
    if _columns(line) <= width:
        return [line]
    column = _FIRST_COLUMN.match(line)
    if column:
        indent = _columns(column[0])
    else:
        indent = len(line) - len(line.lstrip()) + 4
    if indent > width // 2:
        indent = 4
    blanks = " " * indent
    words = _WORD.findall(line)
    parts: list[str] = []
    current = ""
    for word in words:
        is_first = not current.strip()
        if not is_first and _columns(current + word.rstrip()) > width:
            parts.append(current.rstrip())
            current = blanks + word.lstrip()
        else:
            current += word
    parts.append(current.rstrip())
    return parts


def _columns(text: str) -> int:
    """Return the number of terminal columns that a text takes. rich is not imported, so that listing names is fast."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    narrow = sum(unicodedata.combining(character) == 0 for character in text)
    return narrow + wide


def fits(
    lines: Sequence[str],
    width: int,
) -> bool:
    """Return True if no line is wider than `width`."""
    from rich.cells import cell_len

    return all(cell_len(line) <= width for line in lines)


def wrap_line(
    line: str,
    width: int,
    indent: str = "    ",
) -> list[str]:
    """Break a line between words; continuation lines are indented."""
    return textwrap.wrap(
        printable(line),
        max(20, width),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [""]


def markdown_grid(
    headings: Sequence[str],
    rows: Rows,
) -> str:
    """Return a Markdown table. Cells are text and never markup."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for row in rows:
        lines.append("| " + " | ".join(map(markdown_text, row)) + " |")
    return "\n".join(lines)


def html_grid(
    headings: Sequence[str],
    rows: Rows,
) -> str:
    """Return a table for a notebook. Everything except drawings is escaped."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: str) -> str:
    if isinstance(cell, Markup):
        return cell
    return escape(cell)


def markdown_text(text: str) -> str:
    """Return a text with Markdown's special characters escaped."""
    return _MARKUP.sub(r"\\\1", printable(text))


def printable(text: str) -> str:
    """Return text without control characters, terminal escapes and direction overrides."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        c
        if c.isprintable()
        and not "\u202a" <= c <= "\u202e"
        and not "\u2066" <= c <= "\u2069"
        else "�"
        for c in text
    )
