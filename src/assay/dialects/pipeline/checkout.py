"""A checkout of rwkv-benchmark at hand: where it lies, and what its own files say that ours do not.

Only as upstream, and only its texts: descriptions and default sizes are read from its registrations without running
them, and `mmlu_pro` asks in its words, by its own task file. The era is whatever its files are: the earliest measured
no speeds after a run.
"""

import ast
import os
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..protocol import is_upstream

CODE = "local_batch_benchmark"
_PARTS = ("tasks/dataset_registry.py", "evaluators/evaluator_registry.py")
_OURS = Path(__file__).parent / "facade"
_near: list[Path] = []
"""Folders of the guests' files of this process, the latest last."""


def notice(file: Path) -> None:
    """A file of the user's was loaded: its checkout, where it lies in one, is the one that is meant."""
    found = next(
        (folder for folder in file.resolve().parents if _is_code(folder)), None
    )
    if found is not None:
        _near.append(found)


def at_hand() -> Path | None:
    """The checkout's code, as upstream: around loaded files, the working folder, or on the module path."""
    if not is_upstream("pipeline"):
        return None
    return next(_found(), None)


def _found() -> Iterator[Path]:
    yield from reversed(_near)
    here = Path.cwd()
    for folder in (
        here,
        *here.parents,
        *map(Path, [*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
    ):
        yield from (place for place in (folder, folder / CODE) if _is_code(place))


def _is_code(folder: Path) -> bool:
    return folder != _OURS and all((folder / part).is_file() for part in _PARTS)


@lru_cache(maxsize=8)
def _registered(file: Path, changed: int) -> Mapping[str, Mapping[str, Any]]:
    """The literal keywords of each registration in a file, by the name it registers."""
    registrations: dict[str, dict[str, Any]] = {}
    for node in ast.walk(ast.parse(file.read_bytes())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "register"
        ):
            words = {
                word.arg: ast.literal_eval(word.value)
                for word in node.keywords
                if _is_literal(word.value)
            }
            if isinstance(words.get("name"), str):
                registrations[words.pop("name")] = {
                    key: value for key, value in words.items() if key is not None
                }
    return registrations


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _of(part: str, name: str) -> Mapping[str, Any]:
    code = at_hand()
    if code is None:
        return {}
    for file in (
        code / f"{part}_registry.py",
        code / part.partition("/")[0] / f"register_{name}.py",
    ):
        if file.is_file() and (
            words := _registered(file, file.stat().st_mtime_ns).get(name)
        ):
            return words
    return {}


def words_of_dataset(name: str) -> Mapping[str, Any]:
    """The description and default sizes a checkout at hand registers a dataset with; empty without one."""
    names = ("description", "default_batch_size", "default_max_length")
    return {
        key: value for key, value in _of("tasks/dataset", name).items() if key in names
    }


def words_of_evaluator(name: str) -> Mapping[str, Any]:
    """The description a checkout at hand registers an evaluator with; empty without one."""
    return {
        key: value
        for key, value in _of("evaluators/evaluator", name).items()
        if key == "description"
    }


def task_file(name: str) -> Path | None:
    """The file of a checkout at hand that registers a dataset; `None` without one."""
    code = at_hand()
    file = code / "tasks" / f"register_{name}.py" if code is not None else None
    return file if file is not None and file.is_file() else None


def measures_speed() -> bool:
    """Whether results carry the four speeds: those of the earliest eras do not."""
    code = at_hand()
    file = code / "pipeline.py" if code is not None else None
    return (
        file is None
        or not file.is_file()
        or b"measure_decode_speed" in file.read_bytes()
    )
