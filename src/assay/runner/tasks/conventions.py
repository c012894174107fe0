"""Define a benchmark as a plain Python file: module-level names that are fields of a `Task` set these fields.

`prompt`, `score` and `summarize` are short for template, scorers and summarizers. If a
name is never used and nearly equals a field, it is reported as a misspelling. All other
names are ignored.
"""

import ast
import difflib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

from ...code.sources import parsed
from ...code.userfiles import is_reference, keyword_fix, split_reference
from ...core import AssayError, Task, UsageError, shorten
from ...core.errors import raise_all
from ...core.request import OPTION_NAMES
from .task_yaml import ALIASES, KINDS, OF_THE_RUN

SHORT = {**ALIASES, "score": "scorers", "summarize": "summarizers"}
"""Task fields by the shorter names that a task file may use for them, such as `score -> scorers`."""
CALLABLE = frozenset(
    {
        "dataset",
        "to_sample",
        "template",
        "scorers",
        "summarizers",
        "driver",
        "tools",
        "state",
    }
)
"""Fields that may be set to a function or class. If another field's name is a function, it is taken for a helper."""
MAPPINGS = frozenset({"models", "hints"})
COMMON_NAMES = frozenset({"tools", "mcp", "limits", "user"})
"""Fields whose names are also common in other code. A function or module with such a name is taken for a helper."""
FIELDS = tuple(f.name for f in fields(Task) if f.name not in OF_THE_RUN)
SYNONYMS = {
    "metric": "scorers", "metrics": "scorers", "evaluator": "scorers", "num_fewshot": "fewshot", "shots": "fewshot",
    "num_shots": "fewshot", "repeats": "epochs", "system_prompt": "system", "system_message": "system",
    "generation": "options", "generation_kwargs": "options", "gen_kwargs": "options",
}  # fmt: skip
"""Task fields by the names that other systems use for them, such as `num_shots -> fewshot`."""
ALIKE = 0.8
EVERYDAY = frozenset(
    {
        "name",
        "data",
        "models",
        "needs",
        "roles",
        "hints",
        "tools",
        "mcp",
        "user",
        "state",
        "limits",
    }
)
"""Fields with everyday names. Names similar to these are not reported as misspellings."""
FUNCTIONS = ("prompt", "score", "summarize", "template", "to_sample")
PARAMETERS = frozenset({"sample", "row", "records"})
"""Names of a first parameter that mark a function as written for assay."""


def from_conventions(
    module: ModuleType,
    path: Path,
) -> Task:
    """Build the task of a Python file. Raise `PlanError` with all errors in its names."""
    values: dict[str, Any] = {}
    faults: list[AssayError] = [*_misspelled_names(module, path)]
    for name in (*FIELDS, *SHORT):
        field = SHORT.get(name, name)
        value = getattr(module, name, None)
        if value is None or _is_helper(field, value):
            continue
        if field in values:
            problem = f"`{name}` gives the {field} a second time"
            faults.append(
                UsageError(
                    problem,
                    where=str(path),
                    fix=f"keep one of `{field}` and its short names",
                )
            )
            continue
        fault = _wrong_kind(name, field, value, path)
        if fault is None:
            values[field] = _with_resolved_paths(field, value, path)
        else:
            faults.append(fault)
    if "dataset" not in values and not faults:
        names = [n for n in vars(module) if not n.startswith("_")]
        raise UsageError(
            "defines no benchmark",
            where=str(path),
            fix="define `dataset` (and `prompt`, `score`), or a Task; "
            + (f"it has {', '.join(names[:8])}" if names else "it is empty"),
        )
    raise_all(faults)
    values.setdefault("name", path.stem)
    description, _, _ = (module.__doc__ or "").strip().partition("\n")
    values.setdefault("description", description)
    try:
        return Task(**values)
    except UsageError as error:
        raise UsageError(
            error.what,
            where=str(path),
            fix=error.fix,
        ) from error
    except TypeError as error:
        raise UsageError(
            str(error),
            where=str(path),
            fix=keyword_fix(error),
        ) from error


def _is_helper(
    field: str,
    value: object,
) -> bool:
    """Return True if a value that is named like a task field is only a helper function or module of the file."""
    if field in MAPPINGS:
        return not isinstance(value, Mapping)
    if field in ("driver", "state"):
        return not callable(value)
    if field == "tools" and getattr(value, "__name__", "tools") != "tools":
        return inspect.ismodule(value)
    if field in COMMON_NAMES and not isinstance(value, (Mapping, list, tuple, str)):
        return callable(value) or inspect.ismodule(value)
    is_code = (
        inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)
    )
    return is_code and (field not in CALLABLE or inspect.ismodule(value))


def _wrong_kind(
    name: str,
    field: str,
    value: object,
    path: Path,
) -> UsageError | None:
    """Return an error if the value of a field has the wrong type, or else None."""
    kinds, expected = KINDS.get(field, ((object,), ""))
    is_code = callable(value) and field in CALLABLE
    is_built = type(value).__module__.startswith("assay.") or field in (
        "tools",
        "dataset",
        "template",
        "scorers",
        "summarizers",
    )
    is_plain = isinstance(value, kinds) and not (
        isinstance(value, bool) and bool not in kinds and object not in kinds
    )
    if (
        is_plain
        or is_code
        or is_built
        or (list in kinds and isinstance(value, (tuple, set, frozenset)))
    ):
        return None
    return UsageError(
        f"`{name}` is {shorten(value)}",
        where=str(path),
        fix=f"write {expected}",
    )


def _with_resolved_paths(
    field: str,
    value: object,
    path: Path,
) -> object:
    """Resolve relative paths in a value against the file's folder. Paths that do not exist there are unchanged."""
    if field == "dataset":
        return _beside(value, path)
    if field == "fewshot" and isinstance(value, Mapping) and "source" in value:
        return {**value, "source": _beside(value["source"], path)}
    if field in ("template", "scorers", "summarizers", "tools") and isinstance(
        value, (str, list, tuple)
    ):
        listed = [value] if isinstance(value, str) else value
        placed = [
            _reference(entry, path) if isinstance(entry, str) else entry
            for entry in listed
        ]
        if isinstance(value, str):
            return placed[0]
        return placed
    return value


def _reference(
    entry: str,
    path: Path,
) -> str:
    """Return a reference with its path in the file's folder, if such a file exists; otherwise unchanged."""
    is_here = (
        is_reference(entry) and (path.parent / split_reference(entry)[0]).is_file()
    )
    if is_here:
        return str(path.parent / entry)
    return entry


def _beside(
    source: object,
    path: Path,
) -> object:
    """Return the path of a data file in the task file's folder, if it exists; otherwise the path unchanged."""
    if (
        isinstance(source, str)
        and not Path(source).is_absolute()
        and (path.parent / source).exists()
    ):
        return path.parent / source
    return source


def _misspelled_names(
    module: ModuleType,
    path: Path,
) -> Iterator[UsageError]:
    """Yield an error for each unknown name that is probably a misspelled field."""
    names = {*FIELDS, *SHORT}
    for name, line in _unread(path):
        value = getattr(module, name, None)
        if (
            name in names
            or name.startswith("_")
            or name != name.lower()
            or value is None
        ):
            continue
        likely_name = _probable_field(name, value)
        if likely_name is not None and not _has(module, likely_name):
            fix = f"did you mean {likely_name!r}? Call it _{name} if it is your own"
            if name in OPTION_NAMES:
                fix = f'write options = {{"{name}": …}}'
            yield UsageError(
                f"a benchmark has no `{name}`",
                where=f"{path}:{line}",
                fix=fix,
            )


def _probable_field(
    name: str,
    value: object,
) -> str | None:
    """Return the field that a name probably misspells; None if it is unrelated."""
    if inspect.ismodule(value) or inspect.isclass(value):
        return None
    if inspect.isroutine(value):
        if inspect.isfunction(value):
            first = next(iter(inspect.signature(value).parameters), "")
        else:
            first = ""
        if first in PARAMETERS:
            return _nearest(name, FUNCTIONS)
        return None
    if name in OPTION_NAMES:
        return "options"
    return SYNONYMS.get(name) or _nearest(
        name, [field for field in (*FIELDS, *SHORT) if field not in EVERYDAY]
    )


def _nearest(
    name: str,
    names: Sequence[str],
) -> str | None:
    """Return the known name that a misspelled one probably means; None if no name is similar enough.

    Both must have the same first letter, as in most misspellings.
    """
    alike = []
    for candidate in names:
        is_similar_length = abs(len(candidate) - len(name)) <= 2
        if candidate[0] == name[0] and is_similar_length:
            alike.append(candidate)
    matches = difflib.get_close_matches(
        name,
        alike,
        n=1,
        cutoff=ALIKE,
    )
    if not matches:
        return None
    return matches[0]


def _has(
    module: ModuleType,
    meant: str,
) -> bool:
    """Return True if the file already sets the field. A similar name is then not a misspelling of it."""
    if meant == "options":
        return False
    field = SHORT.get(meant, meant)
    short_names = [short for short in SHORT if SHORT[short] == field]
    return any(hasattr(module, name) for name in (field, *short_names))


def _unread(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and line of each top-level name that a file defines but never uses."""
    tree = parsed(path.expanduser())
    if tree is None:
        return
    read = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            read.add(node.id)
    for statement in tree.body:
        targets: list[ast.expr] = []
        if (
            isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
            and not statement.decorator_list
        ):
            if statement.name not in read:
                yield statement.name, statement.lineno
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for t in targets:
            if isinstance(t, ast.Name) and t.id not in read:
                yield (t.id, statement.lineno)
