"""`assay ls`: what ships, by name, with its one line; nothing heavy is imported to say it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..core import Abilities, UnknownName, UsageError
from ..registry import ALL
from .arguments import Parser

UNKNOWN = "depends on what it is given"


def command(arguments: Sequence[str]) -> int:
    """Prints the names of one kind, or how many there are of each, and the tasks."""
    p = Parser(prog="assay ls", description="What ships, by name, with its one line.")
    p.add_argument("kind", nargs="?", default=None, help=", ".join(ALL))
    p.add_argument("--json", action="store_true", help="exactly one JSON document on stdout")
    p.add_argument("--debug", action="store_true")
    given = p.parse(arguments)
    if given.kind is not None and ("/" in given.kind or Path(given.kind).is_dir()):
        return _list_folder(given.kind, given.json)
    kind = _kind(given.kind)
    rows = entries(kind or "tasks")
    if given.json:
        counts = {name: len(registry) for name, registry in ALL.items()}
        document: dict[str, Any] = {kind: rows} if kind else {"counts": counts, "tasks": rows}
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
        raise UsageError("no registry that assay knows", where=folder, fix=f"name a kind: {', '.join(ALL)}")
    if is_json:
        sys.stdout.write(json.dumps(guest.listing(folder), ensure_ascii=False) + "\n")
        return 0
    for line in guest.lines(folder):
        print(line)
    return 0


def _kind(given: str | None) -> str | None:
    if given is None:
        return None
    folded = given.lower()
    for kind in ALL:
        if folded in (kind, kind.removesuffix("s")):
            return kind
    raise UnknownName("kind", given, ALL, hint=f"kinds: {', '.join(ALL)}")


def entries(kind: str) -> list[dict[str, Any]]:
    """Each name of a kind with its line; a model also with what it takes and makes."""
    registry = ALL[kind]
    rows: list[dict[str, Any]] = [{"name": name, "summary": registry.summary(name)} for name in registry]
    if kind == "models":
        for row in rows:
            row.update(_about_model(row["name"]))
    return rows


def _about_model(name: str) -> dict[str, Any]:
    from ..models import embedded

    entry = embedded.CATALOGUE.get(name)
    if entry is None:
        return _declared(ALL["models"].get(name))
    if entry.missing:
        return {"accepts": None, "produces": None, "installed": False, "pip": entry.install}
    abilities = embedded.build(name).abilities
    return {"accepts": sorted(abilities.accepts), "produces": sorted(abilities.produces), "installed": True}


def _declared(thing: Any) -> dict[str, Any]:
    """What a class of models takes and makes, where it can be told without building one."""
    own = {f.name: f for f in fields(thing)} if is_dataclass(thing) else {}
    declared: dict[str, Any] = {"accepts": None, "produces": None}
    for part in declared:
        default: Any = own[part].default if part in own else MISSING
        if default is not MISSING:
            declared[part] = sorted(default)
    if declared["accepts"] is None and isinstance(vars(thing).get("abilities"), property):
        try:
            # An instance without its options: abilities that need them are not the same for all.
            abilities = thing.__new__(thing).abilities
        except AttributeError:
            return declared
        if isinstance(abilities, Abilities):
            return {"accepts": sorted(abilities.accepts), "produces": sorted(abilities.produces)}
    return declared


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
        return f"not installed: {row['pip']}"
    if row["accepts"] is None:
        return UNKNOWN
    return f"{', '.join(row['accepts'])} → {', '.join(row['produces'])}"
