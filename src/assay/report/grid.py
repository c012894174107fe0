"""Rows and columns of text: aligned for a terminal, as Markdown, or as HTML. Cells are shown, never interpreted."""

import re
from collections.abc import Collection, Sequence
from html import escape

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#!|~$])")
Rows = Sequence[Sequence[str]]


class Markup(str):
    """Text that is markup already, as a drawing, and must not be escaped again."""

    __slots__ = ()


def text_grid(
    headings: Sequence[str], rows: Rows, right: Collection[int] = (), indent: str = ""
) -> list[str]:
    """Lines whose columns are aligned; those in `right` at their right end, as numbers are."""
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


def markdown_grid(headings: Sequence[str], rows: Rows) -> str:
    """A Markdown table; cells are text in it, never markup."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    lines += ["| " + " | ".join(map(markdown_text, row)) + " |" for row in rows]
    return "\n".join(lines)


def html_grid(headings: Sequence[str], rows: Rows) -> str:
    """A table for a notebook; everything escaped but drawings."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: str) -> str:
    return cell if isinstance(cell, Markup) else escape(cell)


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", printable(text))


def printable(text: str) -> str:
    """Text without control characters, terminal escapes or direction overrides."""
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
