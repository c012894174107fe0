"""Read tasks from TOML files with one row for each task.

A row has the fields of `Task`, and those of its `DataSource`: `hub`, `config`, `split`,
`local`, `package`, `mini`, `read`. Three notations keep rows short:

- `like = "NAME"` inherits from another row, or from a `[shape.NAME]`, which is not a task itself.
- `{name}` and `{file}` in a text are replaced by these fields of the row.
- `"python:NAME"` is an object of the module that reads the file, `"python:templates:Question"` one of another module
  of assay. `{ python = "NAME", … }` is the result of calling it with the other keys; `arguments` are positional.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core import DataSource, Task

Row = dict[str, Any]
_DATA = Path(__file__).parent / "data" / "tasks"
_SOURCE_FIELDS = frozenset(field.name for field in fields(DataSource))
_REFERENCE = "python:"
_FILLED = ("name", "file")


def read_tasks(file: str, module: str) -> dict[str, Task]:
    """Return the tasks of a file in `data/tasks/`.

    Rows may name Python objects. A name without a module is looked up in `module`.
    """
    rows = read_task_rows(file)
    return {name: build_task(row, module) for name, row in rows.items()}


def read_task_rows(file: str) -> dict[str, Row]:
    """Return the rows of a TOML file by task name, in the order of the file, with inherited fields filled in."""
    with (_DATA / file).open("rb") as opened:
        table = tomllib.load(opened)
    shapes = table.pop("shape", {})
    return {name: _complete(name, table, shapes) for name in table}


def build_task(row: Row, module: str) -> Task:
    """Build a task from a row. The inherited fields must already be filled in."""
    source: Row = {}
    settings: Row = {}
    for key, value in row.items():
        resolved = _resolve(value, module)
        if key in _SOURCE_FIELDS:
            source[key] = resolved
        elif key != "file":
            settings[key] = resolved
    return Task(
        dataset=DataSource(**source),
        **settings,
    )


def _complete(
    name: str,
    rows: Mapping[str, Row],
    shapes: Mapping[str, Row],
) -> Row:
    """Return a row with its inherited fields, and with `{name}` and `{file}` replaced."""
    row = _inherit(rows[name], rows, shapes)
    row["name"] = name
    values = {key: row[key] for key in _FILLED if key in row}
    return {key: _fill(value, values) for key, value in row.items()}


def _inherit(
    row: Row,
    rows: Mapping[str, Row],
    shapes: Mapping[str, Row],
) -> Row:
    """Return a row merged with the rows and shapes named in its `like`."""
    settings = dict(row)
    other = settings.pop("like", None)
    if other is None:
        return settings
    base = shapes[other] if other in shapes else rows[other]
    return {**_inherit(base, rows, shapes), **settings}


def _fill(
    value: object,
    values: Mapping[str, str],
) -> object:
    if isinstance(value, str):
        for key, text in values.items():
            value = value.replace("{" + key + "}", text)
        return value
    if isinstance(value, list):
        return [_fill(entry, values) for entry in value]
    if isinstance(value, dict):
        return {key: _fill(entry, values) for key, entry in value.items()}
    return value


def _resolve(value: object, module: str) -> Any:
    """Replace references in a value with the Python objects they name, and replace lists with tuples."""
    if isinstance(value, str) and value.startswith(_REFERENCE):
        return _load(value.removeprefix(_REFERENCE), module)
    if isinstance(value, list):
        return tuple(_resolve(entry, module) for entry in value)
    if not isinstance(value, dict):
        return value
    resolved = {key: _resolve(entry, module) for key, entry in value.items()}
    if "python" not in value:
        return resolved
    function = _load(resolved.pop("python"), module)
    return function(*resolved.pop("arguments", ()), **resolved)


def _load(reference: str, module: str) -> Any:
    """Return the object for `NAME` in the given module, or for `MODULE:NAME` in another module of assay."""
    other, colon, name = reference.rpartition(":")
    source = f"assay.{other}" if colon else module
    return getattr(import_module(source), name)
