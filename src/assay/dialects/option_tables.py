"""The options of a toolkit's command line, read from the `options.toml` next to the module of its command."""

import argparse
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .shapes import Record

TRUE = frozenset({"true", "1", "yes", "on"})
FALSE = frozenset({"false", "0", "no", "off"})


def truth(text: str) -> bool:
    """Parse `True` or `False` in any usual spelling. Raise for anything else."""
    if text.lower() in TRUE | FALSE:
        return text.lower() in TRUE
    raise argparse.ArgumentTypeError(f"expected True or False, got {text!r}")


TYPES: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "truth": truth,
}
NOTES = ("idle", "refused")
"""Keys of an option's row that are not arguments of argparse. `noted_options` returns the options that have one."""


def option_rows(dialect: str) -> dict[str, dict[str, Record]]:
    """Return the rows of a toolkit's `options.toml`: for each option group, the settings of each option."""
    table = Path(__file__).with_name(dialect) / "options.toml"
    return tomllib.loads(table.read_text(encoding="utf-8"))


def add_options(
    parser: argparse.ArgumentParser,
    dialect: str,
) -> None:
    """Add the options of a toolkit to a parser, in the groups of its table."""
    for title, rows in option_rows(dialect).items():
        if title == "options":
            add_argument = parser.add_argument
        else:
            add_argument = parser.add_argument_group(title).add_argument
        for names, row in rows.items():
            add_argument(*names.split(), **_settings(row))


def _settings(row: Record) -> Record:
    """Return the keyword arguments of `add_argument` for one row of `options.toml`."""
    settings = {key: value for key, value in row.items() if key not in NOTES}
    if settings.pop("hidden", False):
        settings["help"] = argparse.SUPPRESS
    if "type" in settings:
        settings["type"] = TYPES[settings["type"]]
    return settings


def noted_options(dialect: str, note: str) -> Record:
    """Return the options whose row has the key `note`, such as `refused`, each with that key's value."""
    return {
        names: row[note]
        for rows in option_rows(dialect).values()
        for names, row in rows.items()
        if note in row
    }
