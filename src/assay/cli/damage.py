"""What every reader of a run says of damage to it, in one line each."""

import sys

from ..report import printable
from ..store import RunReader

DAMAGED = 3
"""The exit code of a reader that met damage: part of what it shows is missing."""


def damage_lines(reader: RunReader) -> list[str]:
    """What is not as the run left it; and that it cannot be told, of a run of the first version."""
    again = "`assay run` the same command again" if reader.damage else ""
    lines = [f"damaged: {line}; fix: {again}" for line in reader.damage]
    if reader.is_unverified:
        lines.append("unverified: the run was written by the first version, which noted no digests")
    return lines


def say_damage(reader: RunReader) -> int:
    """Says it on stderr; returns the exit code."""
    for line in damage_lines(reader):
        print(printable(f"assay: {line}"), file=sys.stderr)
    return DAMAGED if reader.damage else 0
