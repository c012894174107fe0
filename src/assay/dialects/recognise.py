"""Recognise the toolkit for which a file or folder is written, by its imports or its layout.

The file is not run for this. Each toolkit has a module that is quick to import, with
`claims(path, imports)`, which returns the reason in words, or `None`. Its package has
`tasks(path, run)`, which returns the tasks. A path that ends in `@upstream` selects the
toolkit's own rules; its tasks come from `as_upstream(path, run)`.
"""

import ast
import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import registry
from ..code.sources import names_imported, parsed
from ..code.userfiles import split_reference
from ..core import Model, Task, UnknownName, UsageError, nearest
from .guest import forced
from .shapes import Fields, Function

DIALECTS = (
    "testbed",
    "vlmeval",
    "pipeline",
    "televal",
    "ulmeval",
    # Before lm_eval: its files also match the rules for files of lm-eval.
    "lmms_eval",
    "lm_eval",
    "harbor",
    "inspect_ai",
)
UPSTREAM = "@upstream"


def recognise(reference: str, run: object) -> Sequence[Task] | None:
    """Return the tasks of a toolkit's file or folder, or `None` if it is not written for a known toolkit."""
    if _is_chosen_from_a_folder(reference, run):
        return ()
    choice = getattr(run, "dialect", None)
    bare = reference.removesuffix(UPSTREAM)
    if bare == reference:
        claim = dialect_of(reference, choice)
    else:
        claim = dialect_of(bare, choice)
    if claim is None:
        return None
    if bare != reference and is_whole(bare):
        tasks: Sequence[Task] = _as_upstream(claim[0])(bare, run)
    else:
        tasks = _module(claim[0]).tasks(reference, run)
    return [task.but(foreign=True) for task in tasks]


def is_whole(reference: str) -> bool:
    """Return True if a task reference is a file, a folder, or one name in a file (`file.py:name`).

    `file.py:dataset/evaluator` has further parts, so the result is False.
    """
    path, attribute = split_reference(reference)
    return Path(path).expanduser().exists() and "/" not in (attribute or "")


def _as_upstream(dialect: str) -> Any:
    tasks_of = getattr(_module(dialect), "as_upstream", None)
    if tasks_of is None:
        raise UsageError(
            f"the {dialect} dialect has no protocol {UPSTREAM}", fix="leave it out"
        )
    return tasks_of


def _is_chosen_from_a_folder(reference: str, run: object) -> bool:
    """Return True if a bare name selects a task from a folder that the run also lists.

    Such a name adds no tasks, because the folder already returns the selected ones.
    """
    if Path(reference).suffix or Path(reference).exists():
        return False
    names: list[str] = []
    for other in getattr(run, "tasks", ()):
        if isinstance(other, str) and other != reference and _folder(other).is_dir():
            claimed = dialect_of(
                other.removesuffix(UPSTREAM), getattr(run, "dialect", None)
            )
            names_in = claimed and getattr(_module(claimed[0]), "names_in", None)
            if names_in:
                names += names_in(other.removesuffix(UPSTREAM))
    if reference in names or not names:
        return bool(names)
    if registry.tasks.resolve(reference.rpartition("|")[0] or reference) is None:
        raise UnknownName(
            "task",
            reference,
            names,
            hint=f"the folder has {len(names)}, `assay ls` prints them",
        )
    return False


def _folder(reference: str) -> Path:
    return Path(reference.removesuffix(UPSTREAM)).expanduser()


def recognise_model(
    reference: str,
    args: Fields,
    choice: str | None = None,
) -> Model | None:
    """Return the model that a toolkit's file defines; `None` if the file is not written for a known toolkit.

    `choice`, the toolkit that the user requested, is used if the file fits several toolkits, or none. A file that
    clearly belongs to another toolkit keeps it, because a task and its model may come from different systems.
    """
    dialect = _dialect_of_model(reference, choice)
    if dialect is None:
        return None
    with forced(dialect if dialect == choice else None):
        model: Model | None = _module(dialect).model(reference, args)
    return model


def _dialect_of_model(
    reference: str,
    choice: str | None,
) -> str | None:
    """Return the toolkit for which a model's file is written. `choice` wins if the file fits it, or fits none."""
    if choice is not None:
        dialect_of(reference, choice)  # This raises for an unknown dialect name.
        path = Path(split_reference(reference)[0]).expanduser()
        if path.exists() and _claims(choice, path, _imports_of(path)) is not None:
            return choice
    claim = dialect_of(reference)
    if claim is None:
        return choice
    return claim[0]


def listing_of(folder: str) -> Any:
    """Return the module that lists the tasks of a folder or a library. None if the toolkit cannot list tasks."""
    if not Path(folder).expanduser().is_dir() and not named_dialect(folder):
        return None
    claim = dialect_of(folder)
    if claim is None:
        return None
    if importlib.util.find_spec(f"{__package__}.{claim[0]}.listing") is None:
        return None
    return importlib.import_module(f".{claim[0]}.listing", __package__)


def dialect_of(
    reference: str,
    choice: str | None = None,
) -> tuple[str, str] | None:
    """Return the toolkit that a task reference belongs to, and the reason.

    `choice`, the requested toolkit, takes precedence.
    """
    present = present_dialects()
    if choice is not None:
        if choice not in present:
            close = nearest(choice, present)
            raise UsageError(
                f"unknown dialect {choice!r}",
                fix=f"did you mean {close!r}?" if close else ", ".join(present),
            )
        return choice, "asked for by --dialect"
    named = named_dialect(reference)
    if named is not None:
        return named
    path = Path(split_reference(reference)[0]).expanduser()
    if not path.exists():
        return None
    imports = _imports_of(path)
    for name in present:
        reason = _claims(name, path, imports)
        if reason is not None:
            return name, reason
    return None


def present_dialects() -> list[str]:
    """Return the names of the supported toolkits, in the order in which they are tried."""
    folder = Path(__file__).parent
    return [name for name in DIALECTS if (folder / name / "claims.py").exists()]


def named_dialect(reference: str) -> tuple[str, str] | None:
    """Return the toolkit that a name such as `lm_eval/gsm8k` belongs to, and the reason. None for other names."""
    for dialect, claims_name in _functions("claims_name"):
        reason = claims_name(reference)
        if reason is not None:
            return dialect, reason
    return None


def files_named(name: str, folder: Path) -> list[str]:
    """Return the files in a folder that define a task of this name for another system, such as lm-eval."""
    for _, find_files in _functions("files_named"):
        files: list[str] = find_files(name, folder)
        if files:
            return files
    return []


def library_name(name: str) -> tuple[str, str] | None:
    """Return the toolkit and full task reference of a task given without its library's prefix; None if unknown."""
    for dialect, knows in _functions("knows"):
        reference = knows(name)
        if reference is not None:
            return dialect, reference
    return None


def _functions(name: str) -> Iterator[tuple[str, Function]]:
    """Yield each toolkit whose module `claims` defines the function `name`, and that function."""
    for dialect in present_dialects():
        claims = importlib.import_module(f".{dialect}.claims", __package__)
        function = getattr(claims, name, None)
        if function is not None:
            yield dialect, function


def _claims(
    dialect: str,
    path: Path,
    imports: frozenset[str],
) -> str | None:
    reason: str | None = importlib.import_module(
        f".{dialect}.claims", __package__
    ).claims(path, imports)
    return reason


def _imports_of(path: Path) -> frozenset[str]:
    """Return the dotted names that a file imports. A file that is not Python, such as a large table, is not read."""
    if path.suffix == ".py":
        return imported_names(path)
    return frozenset()


def imported_names(path: Path) -> frozenset[str]:
    """Return the dotted names that a Python file imports, relative ones with their dots; empty for other files."""
    tree = parsed(path)
    if tree is None:
        return frozenset()
    return frozenset(name for node in ast.walk(tree) for name in names_imported(node))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f".{name}", __package__)
