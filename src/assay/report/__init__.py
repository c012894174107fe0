"""Reports: tables and progress for people."""

from .progress import LineProgress, LiveProgress
from .table import (
    format_interval,
    format_value,
    group_rows,
    html_table,
    markdown_table,
    markdown_text,
    plain_table,
    printable,
    result_names,
    show_table,
)

__all__ = [
    "LineProgress",
    "LiveProgress",
    "format_interval",
    "format_value",
    "group_rows",
    "html_table",
    "markdown_table",
    "markdown_text",
    "plain_table",
    "printable",
    "result_names",
    "show_table",
]
