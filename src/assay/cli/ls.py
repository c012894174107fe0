"""`assay ls`: what ships, by name, with its one line; nothing heavy is imported to say it."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import UnknownName, UsageError
from ..registry import ALL
from .arguments import Parser

UNKNOWN = "depends on what it is given"


def command(arguments: Sequence[str]) -> int:
    """Prints the names of one kind, or how many there are of each, and the tasks."""
    p = Parser(prog="assay ls", description="What ships, by name, with its one line.")
    p.add_argument("kind", nargs="?", default=None, help=", ".join(ALL))
    p.add_argument(
        "--json", action="store_true", help="exactly one JSON document on stdout"
    )
    options = p.parse(arguments)
    if options.kind is not None and (
        "/" in options.kind or Path(options.kind).is_dir()
    ):
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
        print(", ".join(f"{len(registry)} {name}" for name, registry in ALL.items()))
        print()
    for line in _lines(rows):
        print(line)
    if not rows:
        print(f"no {kind or 'tasks'} are registered: name a file instead")
    return 0


def _list_folder(folder: str, is_json: bool) -> int:
    """Every kind and name a guest's folder defines."""
    from ..dialects.recognise import listing_of

    guest = listing_of(folder)
    if guest is None:
        raise UsageError(
            "no registry that assay knows",
            where=folder,
            fix=f"name a kind: {', '.join(ALL)}",
        )
    if is_json:
        sys.stdout.write(json.dumps(guest.listing(folder), ensure_ascii=False) + "\n")
        return 0
    for line in guest.lines(folder):
        print(line)
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
    """Each name of a kind with its line; a model also with what it takes and makes."""
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
    width = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for row in rows:
        lines.append(f"{row['name']:<{width}}  {row['summary']}".rstrip())
        if "accepts" in row:
            lines.append(f"{'':<{width}}  {_model_line(row)}")
    return lines


def _model_line(row: Mapping[str, Any]) -> str:
    if row.get("installed") is False:
        return f"not installed: {row['install']}"
    if row["accepts"] is None:
        return UNKNOWN
    return f"{', '.join(row['accepts'])} → {', '.join(row['produces'])}"
