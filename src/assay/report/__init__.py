"""Reports: tables and progress for people."""

from .grid import html_grid, markdown_grid, markdown_text, printable, text_grid
from .groups import group_lines, group_tables
from .progress import LineProgress, LiveProgress
from .table import (
    format_interval,
    format_value,
    html_table,
    markdown_table,
    plain_table,
    result_names,
    show_table,
)

__all__ = [
    "LineProgress",
    "LiveProgress",
    "format_interval",
    "format_value",
    "group_lines",
    "group_tables",
    "html_grid",
    "html_table",
    "markdown_grid",
    "markdown_table",
    "markdown_text",
    "plain_table",
    "printable",
    "result_names",
    "show_table",
    "text_grid",
]
