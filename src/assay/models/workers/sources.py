"""Read a worker's class and imports from its file without running the file, whose libraries may be missing here."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...code.userfiles import is_reference, split_reference
from ...core import UnknownName, UsageError, trust
from ..calling import check_settings

SHIPPED = Path(__file__).parent / "shipped"
LOOK_SECONDS = 60.0
_LOOK = (
    "import importlib.util, json, sys\n"
    "print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]))"
)


@dataclass(frozen=True, slots=True)
class WorkerSource:
    """A class with a method `answer`, and its file."""

    file: Path
    kind: str
    options: frozenset[str] | None = None
    """The options that the class accepts; None if it accepts any."""
    required: tuple[str, ...] = ()
    accepts: frozenset[str] = frozenset({"text", "image"})
    produces: frozenset[str] = frozenset({"json"})

    def check(
        self,
        options: dict[str, Any],
        name: str,
    ) -> None:
        """Raise for unknown options and for missing required ones."""
        check_settings(options, self.options, f"worker {name!r}")
        for option in self.required:
            if option not in options:
                raise UsageError(
                    f"worker {name!r} needs the option {option!r}",
                    fix=f"--judge_args {option}=…",
                )


def shipped_names() -> list[str]:
    """Return the names of the shipped workers."""
    return sorted(
        path.stem for path in SHIPPED.glob("*.py") if not path.stem.startswith("_")
    )


def find_worker(name: str) -> WorkerSource:
    """Find a worker's class by name: `detector`, `file.py:Class`, or `file.py` if only one class has `answer`."""
    if not is_reference(name):
        if name not in shipped_names():
            hint = f"shipped: {', '.join(shipped_names())}; your own is worker/FILE.py:Class"
            raise UnknownName("worker", name, shipped_names(), hint=hint)
        return read_source(SHIPPED / f"{name}.py", None)
    path, kind = split_reference(name)
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UsageError("no such file", where=path, fix="check the path of the worker")
    trust.check(file)
    return read_source(file, kind)


def read_source(
    file: Path,
    kind: str | None,
) -> WorkerSource:
    """Read the class `kind` of a file, or the only class with a method `answer` if `kind` is None."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"not valid Python: {error}", where=str(file)) from error
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    answering = [
        name for name, node in classes.items() if _method(node, "answer") is not None
    ]
    if kind is None:
        if len(answering) != 1:
            listed = ", ".join(answering) or "none"
            raise UsageError(
                f"{len(answering)} classes with `answer`: {listed}",
                where=str(file),
                fix="FILE.py:Class",
            )
        kind = answering[0]
    if kind not in classes:
        raise UsageError(
            f"no class {kind!r}",
            where=str(file),
            fix=f"one of {', '.join(answering) or 'none'}",
        )
    node = classes[kind]
    if kind not in answering and not node.bases:
        raise UsageError(
            f"class {kind!r} has no `answer`",
            where=str(file),
            fix="def answer(self, request): …",
        )
    options, required = _options(node)
    kinds = {}
    for name in ("accepts", "produces"):
        value = _literal(node, name)
        if value and isinstance(value, Iterable):
            kinds[name] = frozenset(map(str, value))
    return WorkerSource(file, kind, options, required, **kinds)


def _method(
    node: ast.ClassDef,
    name: str,
) -> ast.FunctionDef | None:
    return next(
        (
            statement
            for statement in node.body
            if isinstance(statement, ast.FunctionDef) and statement.name == name
        ),
        None,
    )


def _options(node: ast.ClassDef) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """Return the names of a class's options (None: any), and which of them have no default.

    They are read from the constructor or the dataclass fields.
    """
    constructor = _method(node, "__init__")
    if constructor is not None:
        if constructor.args.kwarg is not None:
            return None, ()
        named = constructor.args.args[1:]
        defaulted = len(constructor.args.defaults)
        without = [item.arg for item in named[: len(named) - defaulted]]
        keywords = zip(
            constructor.args.kwonlyargs,
            constructor.args.kw_defaults,
            strict=True,
        )
        without += [item.arg for item, default in keywords if default is None]
        return frozenset(
            item.arg for item in (*named, *constructor.args.kwonlyargs)
        ), tuple(without)
    if node.bases:
        return None, ()
    fields = [
        item
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    fields = [item for item in fields if "ClassVar" not in ast.unparse(item.annotation)]
    names = [item.target.id for item in fields if isinstance(item.target, ast.Name)]
    return frozenset(names), tuple(
        name for name, item in zip(names, fields, strict=True) if item.value is None
    )


def _literal(
    node: ast.ClassDef,
    name: str,
) -> object:
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            targets: list[ast.expr] = statement.targets
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        else:
            continue
        if any(
            isinstance(target, ast.Name) and target.id == name for target in targets
        ):
            try:
                return ast.literal_eval(statement.value or ast.Constant(None))
            except ValueError:
                return None
    return None


def missing_modules(
    file: Path,
    python: str,
    env: Mapping[str, str],
) -> list[str]:
    """Return the libraries that a file imports and its interpreter lacks.

    The list is empty if the interpreter cannot be run.
    """
    libraries = imported(file.read_text(encoding="utf-8"))
    if libraries:
        return list(
            _missing(
                tuple(libraries),
                python or sys.executable,
                tuple(sorted(env.items())),
            )
        )
    return []


def imported(source: str) -> list[str]:
    """Return the libraries outside the standard library that a file imports without handling their absence."""
    names = dict.fromkeys(name for name in _names(ast.parse(source)))
    return [name for name in names if name not in sys.stdlib_module_names]


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Try) and node.handlers:
        return  # the file handles a failed import
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


@lru_cache(maxsize=64)
def _missing(
    names: tuple[str, ...],
    python: str,
    env: tuple[tuple[str, str], ...],
) -> tuple[str, ...]:
    try:
        done = subprocess.run(
            [python, "-c", _LOOK, *names],
            capture_output=True,
            timeout=LOOK_SECONDS,
            env=dict(env),
            check=True,
        )
        return tuple(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()  # the error is reported in full when the worker starts
