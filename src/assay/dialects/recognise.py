"""Recognising guests: which dialect a file or folder is written in, from what it imports or looks like.

Nothing of the file is run to find out. Each dialect answers two questions, in a module light enough to ask every time:
`claims(path, imports)` gives a reason in words or `None`; `tasks(path, run)` gives the tasks. `@upstream` behind a file
or folder asks for the tasks as the original system measures them, which the dialect's `as_upstream(path, run)` gives.
"""

import ast
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import registry
from ..code.sources import names_imported, parsed
from ..code.userfiles import split_reference
from ..core import Model, Task, UnknownName, UsageError, nearest
from .guest import forced

DIALECTS = ("testbed", "vlmeval", "pipeline", "televal", "ulmeval")
UPSTREAM = "@upstream"


def recognise(reference: str, run: Any) -> Sequence[Task] | None:
    """The tasks of a guest file or folder; `None` if no dialect claims it."""
    if _is_chosen_from_a_folder(reference, run):
        return ()
    choice = getattr(run, "dialect", None)
    bare = reference.removesuffix(UPSTREAM)
    found = (
        dialect_of(reference, choice) if bare == reference else dialect_of(bare, choice)
    )
    if found is None:
        return None
    if bare != reference and is_whole(bare):
        tasks: Sequence[Task] = _as_upstream(found[0])(bare, run)
    else:
        tasks = _module(found[0]).tasks(reference, run)
    return [task.but(foreign=True) for task in tasks]


def is_whole(reference: str) -> bool:
    """Whether a reference is a file or folder, or one name in it: `file.py:dataset/evaluator` says more than that."""
    path, attribute = split_reference(reference)
    return Path(path).expanduser().exists() and "/" not in (attribute or "")


def _as_upstream(dialect: str) -> Any:
    tasks_of = getattr(_module(dialect), "as_upstream", None)
    if tasks_of is None:
        raise UsageError(
            f"the {dialect} dialect has no protocol {UPSTREAM}", fix="leave it out"
        )
    return tasks_of


def _is_chosen_from_a_folder(reference: str, run: Any) -> bool:
    """Whether a bare name stands for a task of a folder that is named beside it: that folder gives its tasks itself."""
    if Path(reference).suffix or Path(reference).exists():
        return False
    names: list[str] = []
    for other in getattr(run, "tasks", ()):
        if isinstance(other, str) and other != reference and _folder(other).is_dir():
            claimed = dialect_of(
                other.removesuffix(UPSTREAM), getattr(run, "dialect", None)
            )
            names_in = (
                getattr(_module(claimed[0]), "names_in", None) if claimed else None
            )
            names += (
                names_in(other.removesuffix(UPSTREAM)) if names_in is not None else ()
            )
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
    reference: str, args: Mapping[str, Any], choice: str | None = None
) -> Model | None:
    """The model a guest file defines; `None` if no dialect claims the file.

    The dialect that was asked for wins where the file looks like several, or like none; a file that is plainly written
    for another one stays that, since a task and its model may come from different systems.
    """
    dialect = _dialect_of_model(reference, choice)
    if dialect is None:
        return None
    with forced(dialect if dialect == choice else None):
        model: Model | None = _module(dialect).model(reference, args)
    return model


def _dialect_of_model(reference: str, choice: str | None) -> str | None:
    if choice is not None:
        dialect_of(reference, choice)  # a name that no dialect has is said
        path = Path(split_reference(reference)[0]).expanduser()
        imports = imported_names(path) if path.suffix == ".py" else frozenset()
        if path.exists() and _claims(choice, path, imports) is not None:
            return choice
    found = dialect_of(reference)
    return found[0] if found is not None else choice


def listing_of(folder: str) -> Any:
    """The module that lists what a guest's folder defines; `None` where no dialect claims it, or it lists nothing."""
    found = dialect_of(folder) if Path(folder).expanduser().is_dir() else None
    if (
        found is None
        or importlib.util.find_spec(f"{__package__}.{found[0]}.listing") is None
    ):
        return None
    return importlib.import_module(f".{found[0]}.listing", __package__)


def dialect_of(reference: str, choice: str | None = None) -> tuple[str, str] | None:
    """The dialect of a reference, and why; the one that was asked for wins."""
    present = [
        name
        for name in DIALECTS
        if (Path(__file__).parent / name / "claims.py").exists()
    ]
    if choice is not None:
        if choice not in present:
            close = nearest(choice, present)
            raise UsageError(
                f"unknown dialect {choice!r}",
                fix=f"did you mean {close!r}?" if close else ", ".join(present),
            )
        return choice, "asked for by --dialect"
    path = Path(split_reference(reference)[0]).expanduser()
    if not path.exists():
        return None
    imports = imported_names(path) if path.suffix == ".py" else frozenset()
    for name in present:
        reason = _claims(name, path, imports)
        if reason is not None:
            return name, reason
    return None


def _claims(dialect: str, path: Path, imports: frozenset[str]) -> str | None:
    reason: str | None = importlib.import_module(
        f".{dialect}.claims", __package__
    ).claims(path, imports)
    return reason


def imported_names(path: Path) -> frozenset[str]:
    """The dotted names a Python file imports, relative ones with their dots; empty for a file that is not Python."""
    tree = parsed(path)
    return (
        frozenset(name for node in ast.walk(tree) for name in names_imported(node))
        if tree
        else frozenset()
    )


def _module(name: str) -> Any:
    return importlib.import_module(f".{name}", __package__)
