"""What a worker's file imports, held against what its interpreter has, before anything is loaded or asked."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

SECONDS = 60.0
_LOOK = (
    "import importlib.util, json, sys\n"
    "print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]))"
)


def missing_modules(file: Path, python: str, env: Mapping[str, str]) -> list[str]:
    """The libraries a file imports and its interpreter does not have; none where the interpreter cannot be asked."""
    wanted = imported(file.read_text(encoding="utf-8"))
    return list(_missing(tuple(wanted), python or sys.executable, tuple(sorted(env.items())))) if wanted else []


def imported(source: str) -> list[str]:
    """Libraries that some line imports without being prepared for their lack; those of Python itself aside."""
    names = dict.fromkeys(name for name in _names(ast.parse(source)))
    return [name for name in names if name not in sys.stdlib_module_names]


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Try) and node.handlers:
        return  # it has another way
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


@lru_cache(maxsize=64)
def _missing(names: tuple[str, ...], python: str, env: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    try:
        done = subprocess.run(
            [python, "-c", _LOOK, *names], capture_output=True, timeout=SECONDS, env=dict(env), check=True
        )
        return tuple(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()  # said in full when it is started
