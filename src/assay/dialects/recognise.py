"""Recognising guests: which dialect a file or folder is written in, from what it imports or looks like.

Nothing of the file is run to find out. Each dialect answers two questions, in a module light enough to ask every time:
`claims(path, imports)` gives a reason in words or `None`; `tasks(path, run)` gives the tasks.
"""

import ast
import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core import Model, Task, UnknownName, UsageError, nearest
from ..userfiles import split_reference

DIALECTS = ("testbed", "vlmeval", "pipeline", "televal", "ulmeval")


def recognise(reference: str, run: Any) -> Sequence[Task] | None:
    """The tasks of a guest file or folder; `None` if no dialect claims it."""
    if _is_chosen_from_a_folder(reference, run):
        return ()
    found = dialect_of(reference, getattr(run, "dialect", None))
    if found is None:
        return None
    tasks: Sequence[Task] = _module(found[0]).tasks(reference, run)
    return tasks


def _is_chosen_from_a_folder(reference: str, run: Any) -> bool:
    """Whether a bare name stands for a task of a folder that is named beside it: that folder gives its tasks itself."""
    if Path(reference).suffix or Path(reference).exists():
        return False
    known: list[str] = []
    for other in getattr(run, "tasks", ()):
        if isinstance(other, str) and other != reference and Path(other).expanduser().is_dir():
            claimed = dialect_of(other, getattr(run, "dialect", None))
            known += getattr(_module(claimed[0]), "names_in", lambda _: ())(other) if claimed else ()
    if known and reference not in known:
        raise UnknownName("task", reference, known, hint=f"the folder has {len(known)}, `assay ls` prints them")
    return bool(known)


def recognise_model(reference: str, args: Mapping[str, Any]) -> Model | None:
    """The model a guest file defines; `None` if no dialect claims the file."""
    found = dialect_of(reference)
    if found is None:
        return None
    model: Model | None = _module(found[0]).model(reference, args)
    return model


def listing_of(folder: str) -> Any:
    """The module that lists what a guest's folder defines; `None` where no dialect claims it, or it lists nothing."""
    found = dialect_of(folder) if Path(folder).expanduser().is_dir() else None
    if found is None or importlib.util.find_spec(f"{__package__}.{found[0]}.listing") is None:
        return None
    return importlib.import_module(f".{found[0]}.listing", __package__)


def dialect_of(reference: str, asked: str | None = None) -> tuple[str, str] | None:
    """The dialect of a reference, and why; the one that was asked for wins."""
    present = [name for name in DIALECTS if (Path(__file__).parent / name / "claims.py").exists()]
    if asked is not None:
        if asked not in present:
            close = nearest(asked, present)
            raise UsageError(
                f"unknown dialect {asked!r}", fix=f"did you mean {close!r}?" if close else ", ".join(present)
            )
        return asked, "asked for by --dialect"
    path = Path(split_reference(reference)[0]).expanduser()
    if not path.exists():
        return None
    imports = imported_names(path) if path.suffix == ".py" else frozenset()
    for name in present:
        reason = importlib.import_module(f".{name}.claims", __package__).claims(path, imports)
        if reason is not None:
            return name, str(reason)
    return None


def imported_names(path: Path) -> frozenset[str]:
    """The dotted names a Python file imports, read without running it; empty for a file that is not Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _module(name: str) -> Any:
    return importlib.import_module(f".{name}", __package__)
