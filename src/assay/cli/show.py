"""`assay show`: describe a name, a file or a run."""

import argparse
import ast
import importlib.util
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogue import BENCHMARKS
from ..code.userfiles import load_attribute
from ..core import (
    AssayError,
    BadSample,
    DataSource,
    Spec,
    Suite,
    Task,
    UnknownName,
    UsageError,
)
from ..dialects.recognise import UPSTREAM, dialect_of, listing_of, named_dialect
from ..registry import ALL, place_of
from ..report import printable
from ..runner.tasks.resolve import find_subset
from ..store import RunReader
from ..store.imported import holds_results, imported_folder, is_run_folder
from ..store.layout import list_runs
from .arguments import Parser
from .display import find_pager, print_folded, print_lines
from .samples import prompt_lines

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def described(reference: str) -> Iterator[str]:
    """Yield lines that describe `file.py:name`, or everything defined in a file."""
    thing = load_attribute(reference)
    if inspect.ismodule(thing):
        yield f"{reference}: {(inspect.getdoc(thing) or 'a Python file').partition(chr(10))[0]}"
        names = []
        for n, v in vars(thing).items():
            if getattr(v, "__module__", None) == thing.__name__:
                names.append(n)
        yield f"  defines {', '.join(names) or 'nothing'}; `assay show {reference}:NAME` says more"
        return
    yield f"{reference}: {(inspect.getdoc(thing) or '').partition(chr(10))[0]}".rstrip(
        ": "
    )
    # `place_of` would read a text as a location, and the text may be a secret.
    yield f"  defined at {'unknown' if isinstance(thing, str) else place_of(thing)}"
    yield from field_lines(thing)


def shipped_at(target: str) -> str:
    """Return `file:line` of the definition of `module:attribute`, found by searching the source."""
    module, _, attribute = target.partition(":")
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return target
    for number, line in enumerate(
        Path(spec.origin).read_text(encoding="utf-8").splitlines(), start=1
    ):
        if re.match(rf"(?:def |class )?{re.escape(attribute)}\b", line):
            return f"{spec.origin}:{number}"
    return spec.origin


def field_lines(thing: object) -> Iterator[str]:
    """Yield a line for each field of a class: name, type, default and documentation."""
    if inspect.isclass(thing) and is_dataclass(thing):
        docs = field_docs(thing)
        options = [f for f in fields(thing) if f.init]
        if options:
            yield "  options:"
        for f in options:
            yield _line(f.name, f.type, _default(f), docs.get(f.name, ""))
        return
    if not callable(thing):
        return
    parameters = list(inspect.signature(thing).parameters.values())
    yield f"  takes ({', '.join(str(p) for p in parameters)})"


def _line(
    name: str,
    kind: object,
    default: str,
    doc: str,
) -> str:
    kind_name = kind
    if not isinstance(kind, str):
        kind_name = getattr(kind, "__name__", None)
    if not kind_name or "[" in str(kind):
        kind_name = re.sub(r"\b(typing|collections\.abc)\.", "", str(kind))
    return f"    {name}: {kind_name}{default}  {doc}".rstrip()


def _default(f: "Field[Any]") -> str:
    if f.default is not MISSING:
        return f" = {f.default!r}"
    if f.default_factory is not MISSING:
        value = f.default_factory()
        return f" = {dict(value) if hasattr(value, 'items') else value!r}"
    return " (must be given)"


def field_docs(thing: type) -> dict[str, str]:
    """Return the docstring of each field of a class, on one line. Fields of base classes are included."""
    docs: dict[str, str] = {}
    for kind in reversed(thing.__mro__):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        except (TypeError, OSError, SyntaxError):
            continue
        if tree.body and isinstance(tree.body[0], ast.ClassDef):
            body = tree.body[0].body
        else:
            body = []
        for statement, following in pairwise(body):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(
                statement.target, ast.Name
            ):
                continue
            if isinstance(following, ast.Expr) and isinstance(
                following.value, ast.Constant
            ):
                docs[statement.target.id] = " ".join(str(following.value.value).split())
    return docs


HUB = "hub:"
SHOWN_PARTS = (
    "protocol",
    "template",
    "scorers",
    "summarizers",
    "headline",
    "system",
    "epochs",
    "reducer",
    "tags",
    "cluster",
    "needs",
    "produces",
    "licence",
    "citation",
)


def command(arguments: Sequence[str]) -> int:
    """Print a description of a name, a file or a run."""
    p = Parser(
        prog="assay show",
        description="Show a registered name: where it is defined, its options, and an example of a\n"
        "task. For a run folder: its table, then its samples.",
    )
    p.add_argument("what", help="a name, a file, or a run folder")
    p.add_argument("--data", default=None, help="where the data of a task is")
    p.add_argument(
        "--no_pager",
        action="store_true",
        help="print directly instead of opening $PAGER",
    )
    _add_choices(p.add_argument_group("of a run: which samples, and how"))
    options = p.parse(_join_sort(arguments))
    folder = Path(options.what).expanduser()
    if is_run_folder(folder):
        return _show_run(folder, options)
    if folder.exists() and holds_results(folder):
        return _show_run(imported_folder(folder), options)
    if list_runs(folder.parent) and not folder.exists() and "/" in options.what:
        RunReader(folder)  # raises, and names the nearest run
    used = [f"--{name}" for name in (*CHOICES, "ids", "json") if getattr(options, name)]
    if used:
        raise UsageError(
            f"{used[0]} is for runs, and {options.what!r} is not a run folder",
            fix="name a run folder",
        )
    print_folded(
        thing_lines(options.what, options.data),
        None if options.no_pager else find_pager(),
    )
    return 0


CHOICES = ("sample", "wrong", "failures", "outcome", "tag", "where", "grep", "sort")


def _join_sort(arguments: Sequence[str]) -> list[str]:
    """Join `--sort -score` to one argument, because argparse would read `-score` as an option."""
    words: list[str] = []
    for argument in arguments:
        if (
            words
            and words[-1] == "--sort"
            and argument.startswith("-")
            and not argument.startswith("--")
        ):
            words[-1] += f"={argument}"
        else:
            words.append(argument)
    return words


def _add_choices(p: argparse._ActionsContainer) -> None:
    p.add_argument(
        "--sample",
        "--sample_id",
        action="append",
        default=None,
        metavar="ID",
        help="this sample with all its details",
    )
    p.add_argument(
        "--wrong",
        action="store_true",
        help="scored with less than the best value",
    )
    p.add_argument(
        "--failures",
        action="store_true",
        help="not scored: unread answers, errors",
    )
    p.add_argument(
        "--outcome",
        action="append",
        default=None,
        metavar="NAME",
        help="unparsed, refused, truncated, …",
    )
    p.add_argument(
        "--tag",
        action="append",
        default=None,
        metavar="NAME=VALUE",
        help="with this value of a tag",
    )
    p.add_argument(
        "--where",
        default="",
        metavar="EXPRESSION",
        help="as in 'score<0.5 and tag.subject==\"law\"'",
    )
    p.add_argument(
        "--grep",
        default="",
        metavar="WORDS",
        help="with these words in the question, answer, target or reason",
    )
    p.add_argument(
        "--sort",
        default="",
        metavar="NAME",
        help="by score, seconds, tokens_out, …; -NAME: highest first",
    )
    p.add_argument(
        "-L",
        "--limit",
        type=int,
        help="how many (default 5; with a pager, --ids, --json: all)",
    )
    p.add_argument(
        "--ids",
        action="store_true",
        help="print only their ids, one on a line",
    )
    p.add_argument(
        "--json",
        action="store_true",
        help="print them as one JSON document",
    )


def _show_run(
    folder: Path,
    options: argparse.Namespace,
) -> int:
    from ..view.selection import Wanted
    from .display import say_damage
    from .show_run import COLOURED, SHOWN, Marking, ShownRun

    if options.limit is not None and options.limit < 0:
        raise UsageError(
            f"--limit {options.limit} is not a number of samples", fix="0 or more"
        )
    outcomes = tuple(
        name
        for entry in options.outcome or ()
        for name in entry.replace("-", "_").split(",")
        if name
    )
    selection = Wanted(
        tuple(options.sample or ()),
        options.wrong,
        options.failures,
        outcomes,
        tuple(options.tag or ()),
        options.where,
        options.grep,
        options.sort,
    )
    run = ShownRun(folder)
    if options.no_pager or options.json:
        pager = None
    else:
        pager = find_pager()
    if options.json:
        for piece in run.document(selection, options.limit, only_ids=options.ids):
            sys.stdout.write(piece)
    elif options.ids:
        print_lines(run.ids(selection, options.limit), pager)
    else:
        if options.limit is None and pager is None:
            limit = SHOWN
        else:
            limit = options.limit
        is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        print_lines(
            run.lines(selection, limit, COLOURED if is_coloured else Marking()), pager
        )
    return say_damage(run.reader)


def thing_lines(
    what: str,
    data: str | None,
) -> Iterator[str]:
    """Yield lines about all registered objects called `what`.

    If there are none, read `what` as a file or `file.py:name`, and describe the objects
    in it.
    """
    homes = [(kind, registry) for kind, registry in ALL.items() if what in registry]
    for kind, registry in homes:
        name = registry.resolve(what) or what
        thing = registry.get(name)
        yield f"{registry.kind} {name}: {registry.summary(name)}"
        ships = kind == "tasks" and name in BENCHMARKS
        yield f"  defined at {shipped_at(BENCHMARKS[name][0]) if ships else registry.where(name)}"
        if kind == "tasks":
            for task in _tasks(name):
                if task.name != name:
                    yield f"task {printable(task.name)}: {printable(task.description)}".rstrip(
                        ": "
                    )
                yield from task_lines(task, data)
        else:
            yield from field_lines(thing)
    if homes:
        return
    bare = what.removesuffix(UPSTREAM)
    path = Path(bare.rpartition(":")[0] if ".py:" in bare else bare).expanduser()
    if not path.exists() and (part := find_subset(what)) is not None:
        yield f"task {part.name}: {printable(part.description)}"
        yield from task_lines(part, data)
        return
    if named_dialect(what) is not None:
        yield from listing_of(what).about(what)
        return
    if not path.exists():
        names = [name for registry in ALL.values() for name in registry]
        raise UnknownName(
            "name",
            what,
            names,
            hint="`assay ls` prints the names; a file or a run folder will do too",
        )
    guest = dialect_of(bare)
    if guest is not None:
        yield f"dialect {guest[0]}: {printable(guest[1])}"
    try:
        tasks = _tasks(what, data)
    except AssayError:
        if not what.partition(":")[0].endswith(".py"):
            raise
        yield from described(what)
        return
    for task in tasks:
        yield f"task {printable(task.name)}: {printable(task.description)}"
        yield f"  defined at {what}"
        yield from task_lines(task, data)


def _tasks(
    reference: str,
    data: str | None = None,
) -> list[Task]:
    from ..runner.options import RunOptions
    from ..runner.tasks.resolve import resolve_tasks

    return resolve_tasks(reference, RunOptions(data=data))


def task_lines(
    task: Task,
    data: str | None,
) -> Iterator[str]:
    """Yield lines about the parts of a task and its first prompt. If the data are missing, describe how to get them."""
    defaults = Task(task.name)
    for name in SHOWN_PARTS:
        value = getattr(task, name)
        if value != getattr(defaults, name):
            yield f"  {name}: {printable(_short(value))}"
    options = task.options.given()
    if options:
        yield f"  options: {', '.join(f'{k}={v!r}' for k, v in options.items())}"
    if task.fewshot.num:
        yield f"  fewshot: {task.fewshot.num} shots, picked {task.fewshot.pick}"
    if task.measures:
        task = yield from _measure_lines(task)
    try:
        yield from list(_example(task, data))
    except AssayError as error:
        yield f"  no example: {printable(str(error))}"
        if task.data_hint:
            yield f"  data: {printable(task.data_hint)}"


def _measure_lines(task: Task) -> Generator[str, None, Task]:
    """Yield lines about the measures of a task. Return the task with the measure for the default model."""
    from ..models import build_model
    from ..runner.options import DEFAULT_MODEL
    from ..runner.tasks.measure import measured

    names = [way if isinstance(way, str) else way.name for way in task.measures]
    yield f"  measures: {', '.join(names)}; the first that a model can serve, or --measure NAME"
    try:
        choice = measured(task, build_model(DEFAULT_MODEL, {}).abilities)
    except AssayError as error:
        yield f"  by which of them {DEFAULT_MODEL} is asked cannot be told: {printable(str(error))}"
        return task
    yield f"  {DEFAULT_MODEL}, the default model, is asked by {choice.measure}: {choice.task.protocol}"
    named = []
    for scorer in choice.task.scorers:
        named.append(
            str(Spec.of(scorer))
            if isinstance(scorer, (str, Mapping))
            else _short(scorer)
        )
    yield f"  scored then by: {printable(', '.join(named))}"
    return choice.task


def _is_here(
    task: Task,
    data: str | None,
) -> bool:
    """Return True if the data of a task are on this machine. If `data` is given, look there."""
    from ..runner.tasks.locate import find_data

    try:
        return not str(find_data(task, data)).startswith(HUB)
    except UsageError:
        if data is not None:
            raise
        return False


def _example(
    task: Task,
    data: str | None,
) -> Iterator[str]:
    from ..runner.options import RunOptions
    from ..runner.plan.planning import prepare
    from ..runner.tasks.locate import MINI

    source = task.dataset
    if isinstance(source, DataSource) and not _is_here(task, data):
        hint = task.data_hint or ", ".join(source.local) or "a data file"
        if source.hub:
            origin = f"{source.hub} on the hub; here"
        else:
            origin = "here"
        yield f"  data: {origin} with --data PATH or $ASSAY_DATA ({printable(hint)})"
        if not source.mini:
            return
        yield "  of the mini-set (--data mini):"
        data = MINI
    prepared = prepare(task, RunOptions(data=data), [])
    item = next(
        (s for s in islice(prepared.samples, 100) if not isinstance(s, BadSample)), None
    )
    if item is None:
        yield "  no example: none of the first 100 rows can be used"
        return
    yield f"  example row ({printable(item.id)}):"
    for name, value in item.fields.items():
        yield f"    {printable(str(name))}: {printable(_short(value))}"
    if item.target is not None:
        yield f"  target: {printable(_short(item.target))}"
    yield "  prompt:"
    for line in prompt_lines(prepared.template(item)):
        yield f"  {line}"


def _describe_changes(value: "DataclassInstance") -> str:
    """Return a dataclass instance as text: its class name, and the fields that differ from their defaults."""
    options = []
    for f in fields(value):
        if (
            f.init
            and f.repr
            and (f.default is MISSING or getattr(value, f.name) != f.default)
        ):
            options.append(f"{f.name}={getattr(value, f.name)!r}")
    return f"{type(value).__name__}({', '.join(options)})"


def _short(
    value: object,
    most: int = 300,
) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return f"{value.__name__}()"
    if isinstance(value, (tuple, list, frozenset)):
        return ", ".join(
            _short(part)
            for part in (sorted(value) if isinstance(value, frozenset) else value)
        )
    if isinstance(value, Suite):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return _describe_changes(value)
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"
