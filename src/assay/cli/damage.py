"""What every reader of a run says of damage to it, in one line each."""

import sys

from ..report import printable
from ..store import RunReader

DAMAGED = 3
"""The exit code of a reader that met damage: part of what it shows is missing."""


def say_damage(reader: RunReader) -> int:
    """Says it on stderr; returns the exit code."""
    for line in reader.damage_lines():
        print(printable(f"assay: {line}"), file=sys.stderr)
    return DAMAGED if reader.damage else 0
