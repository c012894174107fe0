"""`assay check`: try a user's file with three samples and a scripted model, and explain its first fault."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from .. import registry
from ..code.userfiles import load_attribute, load_file, split_reference
from ..core import AssayError, Suite, Task, UsageError
from ..datasets.files import why_no_data
from ..datasets.hub import refuse_url
from ..dialects.recognise import UPSTREAM
from ..report.grid import write_lines
from ..runner.options import RunOptions
from .arguments import Parser
from .explain import Fault, explained
from .run_flags import add_some, settings_of
from .trials import check_parameters, try_model, try_scorer, try_task, try_template

OPTIONS = ("columns", "model_args", "measure", "judges", "judge_args")
"""Options of `assay run` that `assay check` also accepts."""
KINDS = ("benchmark", "model", "scorer", "template")
EXAMPLE_ROW = {"question": "What is 2 + 2?", "answer": "4"}
_VARIABLE = re.compile(r"\{\{-?\s*(?:sample\.)?([A-Za-z_][A-Za-z0-9_]*)")


def command(arguments: Sequence[str]) -> int:
    """Try the parts of a user's file, print the results, and return 0 if all work."""
    p = Parser(
        prog="assay check",
        description="Try a file with three samples and explain its first fault.",
    )
    p.add_argument(
        "file",
        help="a benchmark (.py, .yaml), data file, model (file.py:fn), scorer or template",
    )
    p.add_argument(
        "--as",
        dest="kind",
        choices=KINDS,
        default=None,
        help="the kind of the file, if it is unclear",
    )
    p.add_argument(
        "--data",
        default=None,
        help="rows to try a benchmark or a template with",
    )
    add_some(p, *OPTIONS)
    options = p.parse(arguments)
    run = RunOptions(
        data=options.data,
        **settings_of(options, *OPTIONS),
    )
    for line in check(options.file, options.kind, run):
        write_lines([line], sys.stdout)
    sys.stdout.write("no fault found\n")
    return 0


def check(
    reference: str,
    kind: str | None,
    run: RunOptions,
) -> Iterator[str]:
    """Try all parts of a file, or one object in it. Yield lines to print, and raise at the first fault."""
    refuse_url(reference)
    path, attribute = split_reference(reference.removesuffix(UPSTREAM))
    file = Path(path).expanduser()
    if not file.exists():
        reason, fix = why_no_data(file)
        raise UsageError(reason, where=path, fix=fix)
    if file.suffix in (".jinja", ".j2") or (
        kind == "template" and file.suffix not in (".py", ".yaml", ".yml")
    ):
        text = file.read_text(encoding="utf-8")
        row = {**dict.fromkeys(_VARIABLE.findall(text), "…"), **EXAMPLE_ROW}
        yield from try_template(text, file.name, file, run.data, row)
        return
    if file.suffix != ".py":
        for task in _tasks(reference, file):
            yield from try_task(task, file, run)
        return
    if kind in (None, "benchmark"):
        guests = _guest_tasks(reference, file)
    else:
        guests = ()
    for task in guests:
        yield from try_task(task, file, run)
    if guests:
        return
    try:
        module = load_file(file)
        if attribute is None:
            thing = module
        else:
            thing = load_attribute(reference)
    except AssayError as error:
        raise explained(error, file) from error
    kind = kind or kind_of(thing)
    if kind is None:
        names = [n for n in vars(module) if not n.startswith("_")]
        raise Fault(
            f"defines no benchmark, model, scorer or template (it has {', '.join(names[:8]) or 'nothing'})",
            where=str(file),
            fix="define `dataset`, `generate(messages)`, `score(sample, output)` or `prompt(sample)`, "
            "or name one: file.py:NAME",
        )
    yield from _try(kind, thing, reference, file, run)


def _try(
    kind: str,
    thing: object,
    reference: str,
    file: Path,
    run: RunOptions,
) -> Iterator[str]:
    """Try one component, such as a scorer, on example rows. Yield lines that describe the results."""
    name = split_reference(reference)[1]
    if kind == "benchmark":
        _check_conventions(thing, file)
        for task in _tasks(reference, file):
            yield from try_task(task, file, run)
        return
    part = _part(
        thing,
        {"model": "generate", "scorer": "score", "template": "prompt"}[kind],
        file,
    )
    if kind == "model":
        yield from try_model(reference, file, run.model_args)
    elif kind == "scorer":
        yield from try_scorer(part, name or "score", file, run)
    else:
        yield from try_template(part, name or "prompt", file, run.data, EXAMPLE_ROW)


def _part(
    thing: object,
    name: str,
    file: Path,
) -> object:
    """Return the component to try. From a module, take the function named after the kind, such as `score`."""
    if not isinstance(thing, ModuleType):
        return thing
    if not hasattr(thing, name):
        raise Fault(
            f"defines no `{name}`",
            where=str(file),
            fix=f"define `{name}`, or name another: {file.name}:NAME",
        )
    return getattr(thing, name)


def _tasks(reference: str, file: Path) -> list[Task]:
    """Return the tasks of a file. If it cannot be loaded, raise an error with the faulty line."""
    from ..runner.tasks.resolve import resolve_tasks

    try:
        return resolve_tasks(reference, RunOptions())
    except Exception as error:
        raise explained(error, file) from error


def _guest_tasks(reference: str, file: Path) -> Sequence[Task]:
    """Return the tasks of a file written for another toolkit, which cannot be loaded as a Python module."""
    try:
        for recognise in registry.recognisers():
            tasks: Sequence[Task] | None = recognise(reference, RunOptions())
            if tasks is not None:
                return tasks
    except Exception as error:
        raise explained(error, file) from error
    return ()


def kind_of(thing: object) -> str | None:
    """Return the kind of component (`benchmark`, `scorer`, …) that an object is or a
    module defines.

    Return None if the kind cannot be determined.
    """
    if isinstance(thing, (Task, Suite)) or getattr(thing, "is_assay_task", False):
        return "benchmark"
    if isinstance(thing, ModuleType):
        values = vars(thing).values()
        if hasattr(thing, "dataset") or any(
            isinstance(v, (Task, Suite)) for v in values
        ):
            return "benchmark"
        if any(getattr(v, "is_assay_task", False) for v in values):
            return "benchmark"
        for name, kind in (
            ("generate", "model"),
            ("score", "scorer"),
            ("prompt", "template"),
        ):
            if hasattr(thing, name):
                return kind
        return None
    if hasattr(thing, "generate"):
        return "model"
    return _kind_by_parameters(thing) if callable(thing) else None


def _kind_by_parameters(thing: Callable[..., object]) -> str:
    """Return the likely kind of a function, judged by its parameters: a scorer, template, model or benchmark."""
    if inspect.isclass(thing) and "__call__" in vars(thing):
        target = thing.__call__
    else:
        target = thing
    parameters = inspect.signature(target).parameters
    names = [name for name in parameters if name != "self"]
    if names[:1] == ["sample"]:
        if len(names) > 1 and names[1] != "solved":
            return "scorer"
        return "template"
    return "model" if names else "benchmark"


def _check_conventions(thing: object, file: Path) -> None:
    """Raise if a run could not call the file's `prompt` or `score` because of the wrong number of parameters."""
    if not isinstance(thing, ModuleType):
        return
    for name, parameters, form in (
        ("score", 2, "def score(sample, output)"),
        ("prompt", 1, "def prompt(sample)"),
    ):
        part = getattr(thing, name, None)
        if (
            inspect.isfunction(part)
            and "solved" not in inspect.signature(part).parameters
        ):
            check_parameters(
                part,
                parameters,
                form,
                file,
                inspect.getsourcelines(part)[1],
            )
