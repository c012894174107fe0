"""Reports: tables, charts and progress displays."""

from importlib import import_module
from typing import TYPE_CHECKING

from .grid import html_grid, markdown_grid, markdown_text, printable, text_grid

if TYPE_CHECKING:
    from .progress import LineProgress, LiveProgress
    from .table import (
        format_interval,
        format_value,
        group_lines,
        group_tables,
        html_table,
        markdown_table,
        plain_table,
        result_names,
        show_table,
    )

_MODULES = {
    "LineProgress": "progress",
    "LiveProgress": "progress",
    "format_interval": "table",
    "format_value": "table",
    "group_lines": "table",
    "group_tables": "table",
    "html_table": "table",
    "markdown_table": "table",
    "plain_table": "table",
    "result_names": "table",
    "show_table": "table",
}
"""The modules of names that are imported on first use. This keeps `assay --help` fast, which needs none of them."""

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


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
