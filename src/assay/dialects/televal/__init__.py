"""TELEVAL: evaluates speech language models, with a registry of YAML files and classes below `src/`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...code.userfiles import split_reference
from ...core import Model, Task, UsageError
from ..shapes import Fields

if TYPE_CHECKING:
    from ...runner.options import RunOptions


def tasks(
    reference: str,
    run: "RunOptions",
) -> Sequence[Task]:
    """Return one task for each dataset of the infer_tasks that the run selects, by default of all infer_tasks."""
    if "#" in reference:
        from .televal_command import tasks_of

        return tasks_of(reference, run)
    return _tasks(reference, run)


def as_upstream(
    reference: str,
    run: "RunOptions",
) -> Sequence[Task]:
    """Return the tasks of a registry under TELEVAL's own rules, such as integer judge scores."""
    return _tasks(reference, run, is_upstream=True)


def _tasks(
    reference: str,
    run: "RunOptions",
    *,
    is_upstream: bool = False,
) -> Sequence[Task]:
    from .task_builder import TaskBuilder
    from .tree import read_tree

    path = Path(reference).expanduser()
    if not path.exists():
        raise UsageError(
            "no such registry",
            where=reference,
            fix="name the folder with infer_task/, dataset/, …",
        )
    if path.suffix == ".py":
        raise UsageError(
            "a class of TELEVAL cannot be a task by itself",
            where=reference,
            fix="run the registry that names it: assay run registry/",
        )
    tree = read_tree(path)
    names = tree.names("infer_task")
    if path.is_file():
        entries = tree.entries["infer_task"].values()
        names = [entry.name for entry in entries if entry.file == path.resolve()]
    names = [name for name in names if name in run.tasks] or names
    if not names:
        raise UsageError(
            "the registry has no infer_task",
            where=str(tree.folder),
            fix="add infer_task/mine.yaml",
        )
    builder = TaskBuilder(tree, roles=frozenset(run.judges), is_upstream=is_upstream)
    builder.check(names)
    return [task for name in names for task in builder.tasks(name)]


def names_in(reference: str) -> Sequence[str]:
    """Return the names of a registry's infer_tasks, which `assay run registry/ --tasks NAME` accepts."""
    from .tree import read_tree

    path = Path(reference).expanduser()
    if path.is_dir():
        return read_tree(path).names("infer_task")
    return ()


def model(
    reference: str,
    args: Fields,
) -> Model | None:
    """Build the model class of a user's file, such as `src/models/mine.py:Mine`.

    Return None if the file has none.
    """
    from ..protocol import is_upstream
    from .eras import Rule, era_of
    from .guest_model import GuestModel
    from .televal_classes import Classes
    from .tree import Entry

    path, attribute = split_reference(reference)
    file = Path(path).expanduser().resolve()
    root = file.parent
    for folder in file.parents:
        if folder.name == "src":
            root = folder.parent
            break
    classes = Classes(root)
    module = classes.guest.load(file)
    names = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and hasattr(value, "generate_once")
        and attribute in (None, name)
    ]
    if len(names) != 1:
        return None
    parts = file.relative_to(root).with_suffix("").parts
    dotted = ".".join([*parts, *names])
    entry = Entry("model", names[0], dotted, dict(args), file, 1)
    rule = Rule(era_of(root), is_upstream("televal"))
    return GuestModel(entry, classes, rule)
