"""Advice for task names and files that belong to other tools and that assay does not run."""

import tomllib
from functools import cache
from pathlib import Path

from ..core import UsageError
from .harness.library import top_level_keys
from .recognise import library_name
from .shapes import Fields, Record


@cache
def _tables() -> Record:
    """Return the tables of `signposts.toml`."""
    table = Path(__file__).with_name("signposts.toml")
    return tomllib.loads(table.read_text(encoding="utf-8"))


def signpost(name: str) -> UsageError | None:
    """Return an error with advice for a task name of another tool; None for an unknown name."""
    folded = name.lower().replace("-", "_")
    if folded.endswith((".yaml", ".yml")):
        return _file_of_another_tool(Path(name).expanduser())
    tables = _tables()
    for prefix, row in tables["prefixes"].items():
        if folded.startswith(prefix):
            return _answer(name, {"name": name[len(prefix) :], **row})
    if folded in tables["names"]:
        return _answer(name, {"name": folded, **tables["names"][folded]})
    return _in_library(name)


def _file_of_another_tool(path: Path) -> UsageError | None:
    """Return an error with advice for a YAML file of another tool; None for any other file."""
    if not path.is_file():
        return None
    keys = top_level_keys(path.read_text(encoding="utf-8", errors="replace"))
    for row in _tables()["files"]:
        if keys.issuperset(row["keys"]):
            fix = row["fix"].format(name=path)
            return UsageError(
                f"is {row['title']}",
                where=str(path),
                fix=fix,
            )
    return None


def _answer(name: str, row: Fields) -> UsageError:
    problem = f"{name!r} is {row['title']}, which is not part of assay"
    fix = _tables()["fixes"][row["fix"]]
    return UsageError(problem, fix=fix.format(name=row["name"]))


def _in_library(name: str) -> UsageError | None:
    """Return an error that suggests the full task reference if a library's prefix is missing, otherwise None."""
    entry = library_name(name)
    if entry is None:
        return None
    dialect, reference = entry
    return UsageError(f"{name!r} is a task of {dialect}", fix=f"write {reference}")
