"""`assay ls`: list registered names with one line each, without importing anything heavy."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import UnknownName, UsageError
from ..registry import ALL
from ..report.grid import write_lines
from .arguments import Parser

UNKNOWN = "depends on its options"


def command(arguments: Sequence[str]) -> int:
    """Print the registered names of one kind, such as scorers.

    Without a kind, print how many names each kind has, and all tasks.
    """
    p = Parser(
        prog="assay ls",
        description="List the registered names of a kind, with one line for each.",
    )
    p.add_argument(
        "kind",
        nargs="?",
        default=None,
        help=f"{', '.join(ALL)}, lm_eval or lmms_eval",
    )
    p.add_argument(
        "--json",
        action="store_true",
        help="exactly one JSON document on stdout",
    )
    options = p.parse(arguments)
    if options.kind is not None and _is_elsewhere(options.kind):
        return _list_folder(options.kind, options.json)
    kind = _kind(options.kind)
    rows = entries(kind or "tasks")
    if options.json:
        counts = {name: len(registry) for name, registry in ALL.items()}
        document: dict[str, Any] = (
            {kind: rows} if kind else {"counts": counts, "tasks": rows}
        )
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        return 0
    if kind is None:
        totals = (f"{len(registry)} {name}" for name, registry in ALL.items())
        write_lines([", ".join(totals), ""], sys.stdout)
    write_lines(_lines(rows), sys.stdout)
    if not rows:
        print(f"no {kind or 'tasks'} are registered: name a file instead")
    return 0


def _is_elsewhere(kind: str) -> bool:
    """Return True if `kind` is not a kind of registered names, but a folder or a library to list names from."""
    from ..dialects.recognise import named_dialect

    is_path = "/" in kind or Path(kind).is_dir()
    return is_path or named_dialect(kind) is not None


def _list_folder(folder: str, is_json: bool) -> int:
    """Print every name that a folder or a library defines, by kind."""
    from ..dialects.recognise import listing_of

    guest = listing_of(folder)
    if guest is None and not Path(folder).exists():
        raise UsageError("no such file or folder", where=folder, fix="check the path")
    if guest is None:
        raise UsageError(
            "the folder has no tasks or models of a toolkit",
            where=folder,
            fix="`assay leaderboard FOLDER` and `assay view FOLDER` show runs; "
            f"`assay ls KIND` lists {', '.join(ALL)}",
        )
    if is_json:
        sys.stdout.write(json.dumps(guest.listing(folder), ensure_ascii=False) + "\n")
        return 0
    write_lines(guest.lines(folder), sys.stdout)
    return 0


def _kind(name: str | None) -> str | None:
    if name is None:
        return None
    folded = name.lower()
    for kind in ALL:
        if folded in (kind, kind.removesuffix("s")):
            return kind
    raise UnknownName("kind", name, ALL, hint=f"kinds: {', '.join(ALL)}")


def entries(kind: str) -> list[dict[str, Any]]:
    """Return the names of a kind with their descriptions. For models, also return their inputs and outputs."""
    registry = ALL[kind]
    rows: list[dict[str, Any]] = [
        {"name": name, "summary": registry.summary(name)} for name in registry
    ]
    if kind == "models":
        for row in rows:
            row.update(_about_model(row["name"]))
    return rows


def _about_model(name: str) -> dict[str, Any]:
    from ..models.declared import declared

    abilities = declared(name)
    if abilities.missing:
        return {
            "accepts": None,
            "produces": None,
            "installed": False,
            "install": abilities.missing,
        }
    return {
        "accepts": None if abilities.accepts is None else sorted(abilities.accepts),
        "produces": None if abilities.produces is None else sorted(abilities.produces),
        "installed": True,
    }


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines with each name and its description. Below a model are its inputs and outputs."""
    width = max((len(row["name"]) for row in rows), default=0)
    indent = " " * (width + 2)
    lines = []
    for row in rows:
        name = row["name"].ljust(width)
        line = f"{name}  {row['summary']}"
        lines.append(line.rstrip())
        if "accepts" in row:
            lines.append(indent + _model_line(row))
    return lines


def _model_line(row: Mapping[str, Any]) -> str:
    if row.get("installed") is False:
        return f"not installed: {row['install']}"
    if row["accepts"] is None:
        return UNKNOWN
    return f"{', '.join(row['accepts'])} → {', '.join(row['produces'])}"
